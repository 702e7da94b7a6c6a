"""Aggregates, continuously maintained: one specification and one accumulator a file."""

from windrow.operators.aggregates.aggregate import Accumulator, Aggregate, GroupEvents
from windrow.operators.aggregates.average import DecimalAverage, FloatAverage, IntegerAverage
from windrow.operators.aggregates.count import Count, CountOfPartials
from windrow.operators.aggregates.distinct_values import OverDistinct
from windrow.operators.aggregates.float_sum import FloatSum
from windrow.operators.aggregates.integer_sum import IntegerSum
from windrow.operators.aggregates.ordered import AtEdgeOfTime, Median, Quantile, maximum, minimum
from windrow.operators.aggregates.top import Top
from windrow.operators.aggregates.user_defined import UserDefined
from windrow.operators.aggregates.variance import StandardDeviation, Variance

__all__ = [
    "Accumulator",
    "Aggregate",
    "AtEdgeOfTime",
    "Count",
    "CountOfPartials",
    "DecimalAverage",
    "FloatAverage",
    "FloatSum",
    "GroupEvents",
    "IntegerAverage",
    "IntegerSum",
    "Median",
    "OverDistinct",
    "Quantile",
    "StandardDeviation",
    "Top",
    "UserDefined",
    "Variance",
    "maximum",
    "minimum",
]
