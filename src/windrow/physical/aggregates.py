"""The kernels of aggregates, a row each: over rows, over what slices become of them, and in synopses.

An entry of `windrow.plan.aggregates.AGGREGATES` says in which of these ways an aggregate can run; its row here has the
kernel for each of them, and None for the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from windrow.aggregates import (
    Aggregate,
    AtEdgeOfTime,
    Count,
    CountOfPartials,
    DecimalAverage,
    DeviationSum,
    ExtremeBy,
    FloatAverage,
    FloatSum,
    IntegerAverage,
    IntegerSum,
    Median,
    OverDistinct,
    Percentile,
    Quantile,
    StandardDeviation,
    Top,
    UserDefined,
    ValueList,
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
from windrow.physical import synopsis_kernels
from windrow.physical.aggregate_calls import constant, fraction_of, is_exact
from windrow.plan.aggregate_class import SliceForm
from windrow.plan.analysis.slices import slice_form
from windrow.plan.approximation import error_of, registers_of
from windrow.plan.expressions import AggregateCall
from windrow.plan.user_aggregate import UserAggregate
from windrow.synopses import Synopsis, WordAggregate
from windrow.synopses.collective.thresholds import ThresholdIndex
from windrow.synopses.sketches.group_sketches import GroupSketch
from windrow.types import DecimalType

Columns = tuple[int, ...]  # the ordinals of what an aggregate reads
Kernel = Callable[[AggregateCall, Columns, Dictionary], Aggregate]


@dataclass(frozen=True)
class Kernels:
    """The kernels of one aggregate.

    over_rows      over the arguments of rows, and the order of rows where it chooses by it
    partial        what the rows of a slice add up to; its argument is the ordinal, or None for COUNT(*)
    over_partials  over the columns of such partials
    over_counters  over values, and how many rows each stands for
    cut            what stays of the counters of a slice
    over_summary   over the values that stay, their counts and the floors of their slices
    words          in a synopsis of words: what is merged, and in some subtracted
    ranked         in a synopsis of values in order
    sketch         in a sketch without positions
    index          in a collective index
    """

    over_rows: Kernel
    partial: Callable[[AggregateCall, int | None], Partial] | None = None
    over_partials: Kernel | None = None
    over_counters: Kernel | None = None
    cut: Callable[[AggregateCall], Cut] | None = None
    over_summary: Kernel | None = None
    words: Callable[[AggregateCall, Dictionary], WordAggregate] | None = None
    ranked: Callable[[AggregateCall], Synopsis] | None = None
    sketch: Callable[[AggregateCall], GroupSketch] | None = None
    index: Callable[[], ThresholdIndex] | None = None


def accumulator(call: AggregateCall, columns: Columns, dictionary: Dictionary) -> Aggregate:
    """The accumulator of a call over rows."""
    if call.user is not None:
        return _user_defined(call.user, columns, dictionary)
    over_rows = KERNELS[call.function].over_rows(call, columns, dictionary)
    return OverDistinct(over_rows) if call.distinct else over_rows


def partial_of(call: AggregateCall, column: int | None) -> Partial:
    """What the rows of a slice add up to for a call."""
    partial = KERNELS[call.function].partial
    assert partial is not None, call
    return partial(call, column)


def merged(call: AggregateCall, columns: Sequence[int], dictionary: Dictionary) -> Aggregate:
    """The aggregate over the columns of what slices became for it."""
    kernels = KERNELS[call.function]
    if call.distinct:
        return OverDistinct(kernels.over_rows(call, tuple(columns[:1]), dictionary), columns[1])
    form = slice_form(call)
    if form is SliceForm.PARTIAL:
        kernel = kernels.over_partials
    else:
        kernel = kernels.over_counters if form is SliceForm.COUNTERS else kernels.over_summary
    assert kernel is not None, call
    return kernel(call, tuple(columns), dictionary)


def cut_of(call: AggregateCall) -> Cut:
    """What stays of the counters of a slice."""
    cut = KERNELS[call.function].cut
    assert cut is not None, call
    return cut(call)


def _user_defined(user: UserAggregate, columns: Columns, dictionary: Dictionary) -> Aggregate:
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


def _count(call: AggregateCall, columns: Columns, dictionary: Dictionary) -> Aggregate:
    return Count(columns[0] if columns else None)


def _count_partial(call: AggregateCall, column: int | None) -> Partial:
    return CountPartial(column)


def _count_of_partials(call: AggregateCall, columns: Columns, dictionary: Dictionary) -> Aggregate:
    return CountOfPartials(columns[0])


def _sum(call: AggregateCall, columns: Columns, dictionary: Dictionary) -> Aggregate:
    """Over values, or over the columns of partial sums."""
    if not is_exact(call):
        return FloatSum(columns[0], columns[1:])
    return IntegerSum(columns[0], call.type, *columns[1:])


def _average(call: AggregateCall, columns: Columns, dictionary: Dictionary) -> Aggregate:
    """Over values, or over the columns of partial sums."""
    of = call.arguments[0].type
    if isinstance(of, DecimalType) and isinstance(call.type, DecimalType):
        return DecimalAverage(columns[0], of, call.type, *columns[1:])
    return IntegerAverage(*columns) if is_exact(call) else FloatAverage(columns[0], columns[1:])


def _sum_partial(call: AggregateCall, column: int | None) -> Partial:
    assert column is not None, call
    return IntegerPartial(column) if is_exact(call) else FloatPartial(column)


def _minimum(call: AggregateCall, columns: Columns, dictionary: Dictionary) -> Aggregate:
    return Quantile(columns[0], Fraction(0)) if _is_wide(call) else minimum(columns[0])


def _maximum(call: AggregateCall, columns: Columns, dictionary: Dictionary) -> Aggregate:
    return Quantile(columns[0], Fraction(1)) if _is_wide(call) else maximum(columns[0])


def _is_wide(call: AggregateCall) -> bool:
    return dtype_of(call.type) == WIDE  # two words: only the trees have room for them


def _extremum_partial(largest: bool) -> Callable[[AggregateCall, int | None], Partial]:
    def partial(call: AggregateCall, column: int | None) -> Partial:
        assert column is not None, call
        return ExtremumPartial(column, call.type, largest)

    return partial


def _variance(call: AggregateCall, columns: Columns, dictionary: Dictionary) -> Aggregate:
    return Variance(columns[0])


def _deviation(call: AggregateCall, columns: Columns, dictionary: Dictionary) -> Aggregate:
    return StandardDeviation(columns[0])


def _median(call: AggregateCall, columns: Columns, dictionary: Dictionary) -> Aggregate:
    """Over values, or over values and how many rows each stands for."""
    return Median(*columns[:2])


def _quantile(call: AggregateCall, columns: Columns, dictionary: Dictionary) -> Aggregate:
    """Over values, or over values and how many rows each stands for."""
    return Quantile(columns[0], fraction_of(call), *columns[1:2])


def _percentile(call: AggregateCall, columns: Columns, dictionary: Dictionary) -> Aggregate:
    """Over values, or over values and how many rows each stands for."""
    return Percentile(columns[0], fraction_of(call), *columns[1:2])


def _codeviation(*chosen: int) -> Kernel:
    """The places of the two that are multiplied."""
    first, second = chosen
    return lambda call, columns, dictionary: DeviationSum((columns[0], columns[1]), (first, second))


def _max_by(call: AggregateCall, columns: Columns, dictionary: Dictionary) -> Aggregate:
    return ExtremeBy(columns[0], columns[1], 1)


def _min_by(call: AggregateCall, columns: Columns, dictionary: Dictionary) -> Aggregate:
    return ExtremeBy(columns[0], columns[1], 0)


def _collected(call: AggregateCall, columns: Columns, dictionary: Dictionary) -> Aggregate:
    """In the order of the columns behind the value, where there are some."""
    return ValueList(columns[0], columns[1:], dictionary)


def _top(call: AggregateCall, columns: Columns, dictionary: Dictionary) -> Aggregate:
    """Over values, or over values and how many rows each stands for."""
    return Top(columns[0], constant(call.arguments[0]), dictionary, *columns[1:])


def _first(call: AggregateCall, columns: Columns, dictionary: Dictionary) -> Aggregate:
    return AtEdgeOfTime(columns[0], columns[1], 0, columns[2:])


def _last(call: AggregateCall, columns: Columns, dictionary: Dictionary) -> Aggregate:
    return AtEdgeOfTime(columns[0], columns[1], 1, columns[2:])


def _frequent(call: AggregateCall, columns: Columns, dictionary: Dictionary) -> Aggregate:
    return FrequentItems(columns, call.type, dictionary)


def _approximate_top(call: AggregateCall, columns: Columns, dictionary: Dictionary) -> Aggregate:
    """Over values, or over values with their counts and floors."""
    return FrequentItems(columns, call.type, dictionary, constant(call.arguments[0]))


def _distinct_count(call: AggregateCall, columns: Columns, dictionary: Dictionary) -> Aggregate:
    """Over values, or over values (or their codes) and how many rows each stands for."""
    precision = registers_of(call)
    if precision is None:
        return OverDistinct(Count(columns[0]), *columns[1:])
    return DistinctRegisters(columns[0], precision, *columns[1:])


def _decayed(call: AggregateCall, columns: Columns, dictionary: Dictionary) -> Aggregate:
    raise WindrowError(f"{call.function} has no changelog: it changes all the time", "add REFRESH ON LOOKUP")


KERNELS: dict[str, Kernels] = {
    "COUNT": Kernels(
        _count,
        partial=_count_partial,
        over_partials=_count_of_partials,
        words=synopsis_kernels.count_words,
        index=synopsis_kernels.row_index,
    ),
    "SUM": Kernels(
        _sum,
        partial=_sum_partial,
        over_partials=_sum,
        words=synopsis_kernels.sum_words,
        index=synopsis_kernels.weight_index,
    ),
    "AVG": Kernels(_average, partial=_sum_partial, over_partials=_average, words=synopsis_kernels.average_words),
    "MIN": Kernels(
        _minimum,
        partial=_extremum_partial(largest=False),
        over_partials=_minimum,
        words=synopsis_kernels.minimum_words,
        index=synopsis_kernels.smallest_index,
    ),
    "MAX": Kernels(
        _maximum,
        partial=_extremum_partial(largest=True),
        over_partials=_maximum,
        words=synopsis_kernels.maximum_words,
        index=synopsis_kernels.largest_index,
    ),
    "VAR": Kernels(_variance),
    "STDDEV": Kernels(_deviation),
    "MEDIAN": Kernels(_median, over_counters=_median, ranked=synopsis_kernels.ranked_median),
    "QUANTILE": Kernels(_quantile, over_counters=_quantile, ranked=synopsis_kernels.ranked_quantile),
    "TOP": Kernels(_top, over_counters=_top),
    "PERCENTILE": Kernels(_percentile, over_counters=_percentile),
    "REGR_SXY": Kernels(_codeviation(0, 1)),
    "REGR_SXX": Kernels(_codeviation(1, 1)),
    "REGR_SYY": Kernels(_codeviation(0, 0)),
    "MAX_BY": Kernels(_max_by),
    "MIN_BY": Kernels(_min_by),
    "ARRAY_AGG": Kernels(_collected),
    "SORTED_VALUES": Kernels(_collected),
    "FIRST": Kernels(_first),
    "LAST": Kernels(_last),
    # The binder refuses FREQUENT without sub-windows.
    "FREQUENT": Kernels(_frequent, cut=lambda call: TopList(constant(call.arguments[1])), over_summary=_frequent),
    # Where every change is emitted, the exact value costs no more.
    "APPROX_COUNT": Kernels(
        _count,
        partial=_count_partial,
        over_partials=_count_of_partials,
        sketch=synopsis_kernels.count_histogram,
    ),
    "APPROX_SUM": Kernels(_sum, partial=_sum_partial, over_partials=_sum, sketch=synopsis_kernels.sum_histogram),
    "APPROX_COUNT_DISTINCT": Kernels(_distinct_count, over_counters=_distinct_count),
    "APPROX_MEDIAN": Kernels(_median, cut=lambda call: RankBlocks(error_of(call)), over_summary=_median),
    "APPROX_QUANTILE": Kernels(_quantile, cut=lambda call: RankBlocks(error_of(call)), over_summary=_quantile),
    "APPROX_TOP": Kernels(_approximate_top, cut=lambda call: LargeShare(error_of(call)), over_summary=_approximate_top),
    "DECAYED_SUM": Kernels(_decayed, sketch=synopsis_kernels.decayed_sum),
    "DECAYED_COUNT": Kernels(_decayed, sketch=synopsis_kernels.decayed_count),
    "DECAYED_AVG": Kernels(_decayed, sketch=synopsis_kernels.decayed_average),
}
