"""From aggregate calls to the accumulators that compute them."""

from __future__ import annotations

from fractions import Fraction

from windrow.errors import WindrowError
from windrow.operators.aggregates import (
    Aggregate,
    AtEdgeOfTime,
    Count,
    DecimalAverage,
    FloatAverage,
    FloatSum,
    IntegerAverage,
    IntegerSum,
    Median,
    OverDistinct,
    Quantile,
    StandardDeviation,
    Variance,
    maximum,
    minimum,
)
from windrow.plan.expressions import AggregateCall, Literal
from windrow.types import DecimalType, is_integer


def accumulator(call: AggregateCall, column: int | None, time: int | None) -> Aggregate:
    """The accumulator of a call; `column` is the ordinal of its argument, `time` that of the rows' own time."""
    made = _over_all(call, column, time)
    return OverDistinct(made) if call.distinct else made


def _over_all(call: AggregateCall, column: int | None, time: int | None) -> Aggregate:
    name = call.function
    if name == "COUNT":
        return Count(column)
    assert column is not None, call
    if name in ("MIN", "MAX"):
        return minimum(column) if name == "MIN" else maximum(column)
    if name == "MEDIAN":
        return Median(column)
    if name == "QUANTILE":
        return Quantile(column, _fraction(call))
    if name in ("FIRST", "LAST"):
        assert time is not None, call
        return AtEdgeOfTime(column, time, 0 if name == "FIRST" else 1)
    if name in ("VAR", "STDDEV"):
        return Variance(column) if name == "VAR" else StandardDeviation(column)
    return _numeric(call, column)


def _numeric(call: AggregateCall, column: int) -> Aggregate:
    of = call.arguments[0].type
    exact = is_integer(of) or isinstance(of, DecimalType)
    if call.function == "SUM":
        return IntegerSum(column, call.type) if exact else FloatSum(column)
    if call.function == "AVG":
        if isinstance(of, DecimalType) and isinstance(call.type, DecimalType):
            return DecimalAverage(column, of, call.type)
        return IntegerAverage(column) if exact else FloatAverage(column)
    hint = "COUNT, SUM, AVG, MIN, MAX, VAR, STDDEV, MEDIAN, QUANTILE, FIRST and LAST are"
    raise WindrowError(f"{call.function} is not computed by this version", hint)


def _fraction(call: AggregateCall) -> Fraction:
    parameter = call.arguments[1]
    assert isinstance(parameter, Literal) and not isinstance(parameter.value, str | bytes | bool | None), parameter
    return Fraction(str(parameter.value))
