"""Aggregates, continuously maintained: one specification and one accumulator a file."""

from windrow.aggregates.aggregate import Accumulator, Aggregate
from windrow.aggregates.average import DecimalAverage, FloatAverage, IntegerAverage
from windrow.aggregates.count import Count, CountOfPartials
from windrow.aggregates.deviation_sums import DeviationSum
from windrow.aggregates.distinct_values import OverDistinct
from windrow.aggregates.extreme_by import ExtremeBy
from windrow.aggregates.extremum import maximum, minimum
from windrow.aggregates.first_last import AtEdgeOfTime
from windrow.aggregates.float_sum import FloatSum
from windrow.aggregates.integer_sum import IntegerSum
from windrow.aggregates.median import Median
from windrow.aggregates.percentile import Percentile
from windrow.aggregates.quantile import Quantile
from windrow.aggregates.top import Top
from windrow.aggregates.user.user_defined import UserDefined
from windrow.aggregates.value_list import ValueList
from windrow.aggregates.variance import StandardDeviation, Variance

__all__ = [
    "Accumulator",
    "Aggregate",
    "AtEdgeOfTime",
    "Count",
    "CountOfPartials",
    "DecimalAverage",
    "DeviationSum",
    "ExtremeBy",
    "FloatAverage",
    "FloatSum",
    "IntegerAverage",
    "IntegerSum",
    "Median",
    "OverDistinct",
    "Percentile",
    "Quantile",
    "StandardDeviation",
    "Top",
    "UserDefined",
    "ValueList",
    "Variance",
    "maximum",
    "minimum",
]
