"""From aggregate calls to the accumulators that compute them."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from windrow.aggregates import (
    Aggregate,
    AtEdgeOfTime,
    Count,
    CountOfPartials,
    DecimalAverage,
    FloatAverage,
    FloatSum,
    IntegerAverage,
    IntegerSum,
    Median,
    OverDistinct,
    Quantile,
    StandardDeviation,
    Top,
    UserDefined,
    Variance,
    maximum,
    minimum,
)
from windrow.aggregates.partials import CountPartial, ExtremumPartial, FloatPartial, IntegerPartial, Partial
from windrow.aggregates.sketches.distinct_registers import DistinctRegisters
from windrow.aggregates.sketches.frequent import FrequentItems, LargeShare, TopList
from windrow.aggregates.sketches.rank_blocks import RankBlocks
from windrow.aggregates.sketches.slice_counters import Cut
from windrow.batch.column import WIDE, dtype_of
from windrow.batch.dictionary import Dictionary
from windrow.errors import WindrowError
from windrow.plan.aggregates import AGGREGATES
from windrow.plan.analysis.lookups import FADED
from windrow.plan.analysis.slices import SliceForm, slice_form
from windrow.plan.approximation import error_of, registers_of
from windrow.plan.expressions import AggregateCall, Cast, Expression, Literal
from windrow.plan.user_aggregate import UserAggregate
from windrow.types import DOUBLE, DecimalType, is_integer


def accumulator(call: AggregateCall, columns: tuple[int, ...], time: int | None, dictionary: Dictionary) -> Aggregate:
    """The accumulator of a call; `columns` are the ordinals of its arguments, `time` that of the rows' own time."""
    if call.user is not None:
        return _user_defined(call.user, columns, dictionary)
    made = _over_all(call, columns[0] if columns else None, time, dictionary)
    return OverDistinct(made) if call.distinct else made


def _user_defined(user: UserAggregate, columns: tuple[int, ...], dictionary: Dictionary) -> Aggregate:
    return UserDefined(
        user.name,
        columns,
        user.functions,
        user.result,
        dictionary,
        user.failures.report,
        user.vectorized,
        user.is_subtractable,
        user.duplicate_sensitive,
    )


def partial_of(call: AggregateCall, column: int | None) -> Partial:
    """What the rows of a slice add up to for a call."""
    if is_count(call):
        return CountPartial(column)
    assert column is not None, call
    if call.function in ("MIN", "MAX"):
        return ExtremumPartial(column, call.type, call.function == "MAX")
    return IntegerPartial(column) if _is_exact(call) else FloatPartial(column)


def merged(call: AggregateCall, columns: Sequence[int], dictionary: Dictionary) -> Aggregate:
    """The aggregate over the columns of what slices became for it."""
    first = columns[0]
    if call.function in ("FREQUENT", "APPROX_TOP"):
        return _items(call, tuple(columns), dictionary)
    if slice_form(call) is not SliceForm.PARTIAL:
        return _of_counters(call, first, columns[1], dictionary)
    if is_count(call):
        return CountOfPartials(first)
    if call.function in ("MIN", "MAX"):
        return _extremum(call, first)
    if not _is_exact(call):
        rest = tuple(columns[1:])
        return FloatSum(first, rest) if is_sum(call) else FloatAverage(first, rest)
    of = call.arguments[0].type
    if is_sum(call):
        return IntegerSum(first, call.type, columns[1])
    if isinstance(of, DecimalType) and isinstance(call.type, DecimalType):
        return DecimalAverage(first, of, call.type, columns[1])
    return IntegerAverage(first, columns[1])


def _of_counters(call: AggregateCall, column: int, count: int, dictionary: Dictionary) -> Aggregate:
    """The aggregate over values, and how many rows each stands for."""
    if call.distinct:
        return OverDistinct(_over_all(call, column, None, dictionary), count)
    precision = registers_of(call)
    if precision is not None:
        return DistinctRegisters(column, precision, count)
    if call.function == "APPROX_COUNT_DISTINCT":
        return OverDistinct(Count(column), count)
    if call.function == "TOP":
        return Top(column, _parameter(call.arguments[0]), dictionary, count)
    return Median(column, count) if "MEDIAN" in call.function else Quantile(column, _fraction(call), count)


def cut_of(call: AggregateCall) -> Cut:
    """What is kept of the counters of a slice."""
    if call.function == "FREQUENT":
        return TopList(_parameter(call.arguments[1]))
    kind = LargeShare if call.function == "APPROX_TOP" else RankBlocks
    return kind(error_of(call))


def _items(call: AggregateCall, columns: tuple[int, ...], dictionary: Dictionary) -> Aggregate:
    if call.function == "FREQUENT":
        return FrequentItems(columns, call.type, dictionary)
    return FrequentItems(columns, call.type, dictionary, _parameter(call.arguments[0]))


def is_count(call: AggregateCall) -> bool:
    """Also within an error: where every change is told, the exact value costs no more."""
    return call.function in ("COUNT", "APPROX_COUNT")


def is_sum(call: AggregateCall) -> bool:
    return call.function in ("SUM", "APPROX_SUM")


def _is_exact(call: AggregateCall) -> bool:
    of = call.arguments[0].type
    return is_integer(of) or isinstance(of, DecimalType)


def values_of(call: AggregateCall) -> tuple[Expression, ...]:
    """The arguments that are computed for each row: not the constants beside them."""
    if call.user is not None:
        given = zip(call.arguments, call.user.arguments, strict=True)
        return tuple(value if value.type == of else Cast(value, of) for value, of in given)
    slots = AGGREGATES[call.function].slots
    values = [argument for slot, argument in zip(slots, call.arguments, strict=False) if slot is None]
    if call.function in ("VAR", "STDDEV"):
        return tuple(Cast(value, DOUBLE) if isinstance(value.type, DecimalType) else value for value in values)
    return tuple(values)


def times_of(call: AggregateCall) -> tuple[Expression, ...]:
    """The time of the row that FIRST and LAST choose by: their last argument, where `with_row_times` has put it."""
    return call.arguments[1:] if call.function in ("FIRST", "LAST") else ()


def _over_all(call: AggregateCall, column: int | None, time: int | None, dictionary: Dictionary) -> Aggregate:
    name = call.function
    if is_count(call):
        return Count(column)
    assert column is not None, call
    if name in ("MIN", "MAX"):
        return _extremum(call, column)
    if name == "APPROX_COUNT_DISTINCT":
        precision = registers_of(call)
        return OverDistinct(Count(column)) if precision is None else DistinctRegisters(column, precision)
    if name == "APPROX_TOP":
        return _items(call, (column,), dictionary)
    if name == "TOP":
        return Top(column, _parameter(call.arguments[0]), dictionary)
    if name in ("MEDIAN", "APPROX_MEDIAN"):
        return Median(column)
    if name in ("QUANTILE", "APPROX_QUANTILE"):
        return Quantile(column, _fraction(call))
    if name in ("FIRST", "LAST"):
        assert time is not None, call
        return AtEdgeOfTime(column, time, 0 if name == "FIRST" else 1)
    if name in ("VAR", "STDDEV"):
        return Variance(column) if name == "VAR" else StandardDeviation(column)
    return _numeric(call, column)


def _extremum(call: AggregateCall, column: int) -> Aggregate:
    if dtype_of(call.type) == WIDE:  # two words: only the trees have room for them
        return Quantile(column, Fraction(call.function == "MAX"))
    return minimum(column) if call.function == "MIN" else maximum(column)


def _numeric(call: AggregateCall, column: int) -> Aggregate:
    of = call.arguments[0].type
    exact = is_integer(of) or isinstance(of, DecimalType)
    if is_sum(call):
        return IntegerSum(column, call.type) if exact else FloatSum(column)
    if call.function == "AVG":
        if isinstance(of, DecimalType) and isinstance(call.type, DecimalType):
            return DecimalAverage(column, of, call.type)
        return IntegerAverage(column) if exact else FloatAverage(column)
    assert call.function in FADED, call
    raise WindrowError(f"{call.function} changes all the time, and cannot be told", "add REFRESH ON LOOKUP")


def _fraction(call: AggregateCall) -> Fraction:
    return Fraction(str(_parameter(call.arguments[1])))


def _parameter(argument: Expression) -> Any:
    """The value of a constant argument."""
    assert isinstance(argument, Literal), argument
    return argument.value
