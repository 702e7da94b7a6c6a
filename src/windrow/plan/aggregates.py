"""Aggregate functions, an entry each: arguments, result type, class, and how they run in slices and in lookups.

Classes follow thesis 2.2.1 and 8.3.3 and Arasu and Widom, section 2: distributive aggregates merge from parts,
algebraic ones from a fixed number of distributive ones, holistic ones need counters of values; subtractable ones
can also take a part away again. What is not subtractable must look at the window again when its value leaves.

The kernels are rows of a table with the same names, `windrow.physical.aggregates.KERNELS`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from windrow.plan.aggregate_class import AggregateClass, Approximation, IndexForm, SliceForm, SynopsisForm, Traits
from windrow.plan.expressions import AggregateCall, Cast, Expression
from windrow.plan.functions import SignatureError, check_count
from windrow.plan.functions.aggregate_parameters import Parameter, check_parameter
from windrow.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    NULL,
    DecimalType,
    Type,
    array,
    bounded_decimal,
    is_integer,
    is_numeric,
    struct,
)

FRACTION = Parameter("fraction", 0.0, 1.0)
COUNT_OF_ITEMS = Parameter("k", 1, 1_000_000, whole=True)
ERROR = Parameter("error", 1e-6, 0.5)
HALF_LIFE = Parameter("half-life", 1, 2**62, whole=True, is_time=True)

MOST_DIGITS = 18  # of decimals that are held in one word

_VALUE = None  # a position that takes an expression
Slot = Parameter | None


@dataclass(frozen=True)
class AggregateEntry:
    """A built-in aggregate: `slots` are its arguments in order, constants as parameters."""

    name: str
    usage: str
    slots: tuple[Slot, ...]
    result: Callable[[Type], Type]
    kind: AggregateClass
    subtractable: bool = False
    duplicate_sensitive: bool = True
    ordered: bool = False  # chooses by the order of rows, not only by their values
    distinct: bool = False  # may be written with DISTINCT
    counts_rows: bool = False  # may be written with *
    in_doubles: bool = False  # decimals are computed as doubles
    slices: SliceForm | None = None  # None: needs the rows
    partial: Callable[[Type], tuple[Type, ...]] | None = None  # the types of a partial result, from the argument's
    synopsis: SynopsisForm | None = None  # None: cannot be looked up
    index: IndexForm | None = None
    approximation: Approximation | None = None

    @property
    def counts(self) -> bool:
        """Over no rows it is 0, where others are NULL."""
        return self.result is _count


def traits_of(call: AggregateCall) -> Traits:
    """The class of a call: of the aggregate, or over DISTINCT, which needs counters of values whatever it is."""
    if call.user is not None:
        return Traits(call.user.kind, call.user.is_subtractable, call.user.duplicate_sensitive)
    aggregate = AGGREGATES[call.function]
    if call.distinct and aggregate.duplicate_sensitive:
        return Traits(AggregateClass.HOLISTIC, False, True)
    return Traits(aggregate.kind, aggregate.subtractable, aggregate.duplicate_sensitive)


def built_in(call: AggregateCall) -> AggregateEntry | None:
    """The entry of a call; None for an aggregate of the user's own."""
    return AGGREGATES[call.function] if call.user is None else None


def is_ordered(call: AggregateCall) -> bool:
    """Whether a built-in aggregate chooses by the order of rows."""
    aggregate = built_in(call)
    return aggregate is not None and aggregate.ordered


def approximation_of(call: AggregateCall) -> Approximation | None:
    aggregate = built_in(call)
    return None if aggregate is None else aggregate.approximation


def values_of(call: AggregateCall) -> tuple[Expression, ...]:
    """The arguments that are computed for each row: not the constants beside them."""
    if call.user is not None:
        given = zip(call.arguments, call.user.arguments, strict=True)
        return tuple(value if value.type == of else Cast(value, of) for value, of in given)
    aggregate = AGGREGATES[call.function]
    slots = zip(aggregate.slots, call.arguments, strict=False)
    values = [argument for slot, argument in slots if slot is _VALUE]
    if aggregate.in_doubles:
        return tuple(Cast(value, DOUBLE) if isinstance(value.type, DecimalType) else value for value in values)
    return tuple(values)


def order_of(call: AggregateCall) -> tuple[Expression, ...]:
    """What an ordered aggregate chooses by: the arguments behind its own, where `with_row_times` has put them."""
    return call.arguments[len(AGGREGATES[call.function].slots) :] if is_ordered(call) else ()


def partial_types(call: AggregateCall) -> tuple[Type, ...]:
    """The types of the partial results of a slice."""
    partial = AGGREGATES[call.function].partial
    assert partial is not None, call
    return partial(call.arguments[0].type if call.arguments else NULL)


def aggregate_call(name: str, arguments: Sequence[Expression], distinct: bool = False) -> AggregateCall:
    """A typed call of a built-in aggregate; SignatureError when the arguments do not fit."""
    aggregate = AGGREGATES[name]
    if aggregate.counts_rows and not arguments:
        return AggregateCall(name, (), BIGINT)
    check_count(len(arguments), len(aggregate.slots), len(aggregate.slots))
    values = []
    for slot, argument in zip(aggregate.slots, arguments, strict=True):
        if slot is _VALUE:
            values.append(argument.type)
        else:
            check_parameter(slot, argument)
    of, *_ = map(aggregate.result, values)
    return AggregateCall(name, tuple(arguments), of, distinct)


_NO_NUMBER = "COUNT, MIN, MAX and TOP take any type; a text that is a number is read with CAST(x AS DOUBLE)"


def _number(of: Type) -> Type:
    if not is_numeric(of):
        raise SignatureError(f"the argument is {of}, it should be a number", _NO_NUMBER)
    return of


def _sum(of: Type) -> Type:
    if isinstance(_number(of), DecimalType):
        return bounded_decimal(of.precision + 10, of.scale)  # type: ignore[attr-defined]
    return BIGINT if is_integer(of) else DOUBLE


def _average(of: Type) -> Type:
    if isinstance(_number(of), DecimalType):
        return bounded_decimal(of.precision + 4, of.scale + 4)  # type: ignore[attr-defined]
    return DOUBLE


def _double(of: Type) -> Type:
    _number(of)
    return DOUBLE


def _same(of: Type) -> Type:
    return of


def _items(of: Type) -> Type:
    return array(struct(("item", of), ("count", BIGINT)))


def _bounded_items(of: Type) -> Type:
    """Items with at least `count` rows and at most `most`."""
    if isinstance(of, DecimalType) and of.precision > MOST_DIGITS:
        raise SignatureError(f"the argument is {of}, it should have at most {MOST_DIGITS} digits")
    return array(struct(("item", of), ("count", BIGINT), ("most", BIGINT)))


def _frequent(of: Type) -> Type:
    """The items with more rows than the threshold; all of them, where the answer is complete."""
    return struct(("items", _bounded_items(of)), ("threshold", BIGINT), ("complete", BOOLEAN))


def _count(of: Type) -> Type:
    return BIGINT


def _partial_sum(of: Type) -> tuple[Type, ...]:
    """A sum and a count of values; of doubles the sum in two parts."""
    return (BIGINT, BIGINT) if is_integer(of) or isinstance(of, DecimalType) else (DOUBLE, DOUBLE, BIGINT)


def _partial_count(of: Type) -> tuple[Type, ...]:
    return (BIGINT,)


def _partial_value(of: Type) -> tuple[Type, ...]:
    return (of,)


_KIND = AggregateClass
_COUNT = AggregateEntry(
    "COUNT",
    "COUNT(*) or COUNT(x)",
    (_VALUE,),
    _count,
    _KIND.DISTRIBUTIVE,
    subtractable=True,
    distinct=True,
    counts_rows=True,
    slices=SliceForm.PARTIAL,
    partial=_partial_count,
    synopsis=SynopsisForm.SUBTRACTED,
    index=IndexForm.ROWS,
)
_SUM = AggregateEntry(
    "SUM",
    "SUM(x)",
    (_VALUE,),
    _sum,
    _KIND.DISTRIBUTIVE,
    subtractable=True,
    distinct=True,
    slices=SliceForm.PARTIAL,
    partial=_partial_sum,
    synopsis=SynopsisForm.SUBTRACTED,
    index=IndexForm.WEIGHTS,
)
_AVG = AggregateEntry(
    "AVG",
    "AVG(x)",
    (_VALUE,),
    _average,
    _KIND.ALGEBRAIC,
    subtractable=True,
    distinct=True,
    slices=SliceForm.PARTIAL,
    partial=_partial_sum,
    synopsis=SynopsisForm.SUBTRACTED,
)
_MIN = AggregateEntry(
    "MIN",
    "MIN(x)",
    (_VALUE,),
    _same,
    _KIND.DISTRIBUTIVE,
    duplicate_sensitive=False,
    distinct=True,
    slices=SliceForm.PARTIAL,
    partial=_partial_value,
    synopsis=SynopsisForm.MERGED,
    index=IndexForm.SMALLEST,
)
_MAX = replace(_MIN, name="MAX", usage="MAX(x)", index=IndexForm.LARGEST)
_VAR = AggregateEntry("VAR", "VAR(x)", (_VALUE,), _double, _KIND.ALGEBRAIC, subtractable=True, in_doubles=True)
_MEDIAN = AggregateEntry(
    "MEDIAN", "MEDIAN(x)", (_VALUE,), _double, _KIND.HOLISTIC, slices=SliceForm.COUNTERS, synopsis=SynopsisForm.RANKED
)
_QUANTILE = replace(_MEDIAN, name="QUANTILE", usage="QUANTILE(x, fraction)", slots=(_VALUE, FRACTION), result=_same)
_FIRST = AggregateEntry(
    "FIRST", "FIRST(x)", (_VALUE,), _same, _KIND.DISTRIBUTIVE, ordered=True, duplicate_sensitive=False
)
_TOP = AggregateEntry("TOP", "TOP(k, x)", (COUNT_OF_ITEMS, _VALUE), _items, _KIND.HOLISTIC, slices=SliceForm.COUNTERS)

_ARRAY_AGG = AggregateEntry("ARRAY_AGG", "ARRAY_AGG(x)", (_VALUE,), array, _KIND.HOLISTIC, ordered=True)
_MAX_BY = AggregateEntry(
    "MAX_BY", "MAX_BY(x, y)", (_VALUE, _VALUE), _same, _KIND.DISTRIBUTIVE, duplicate_sensitive=False
)

_EXACT = (
    _COUNT,
    _SUM,
    _AVG,
    _MIN,
    _MAX,
    _VAR,
    replace(_VAR, name="STDDEV", usage="STDDEV(x)"),
    _MEDIAN,
    _QUANTILE,
    replace(_QUANTILE, name="PERCENTILE", usage="PERCENTILE(x, fraction)", result=_double, synopsis=None),
    _TOP,
    *(
        AggregateEntry(name, f"{name}(y, x)", (_VALUE, _VALUE), _double, _KIND.ALGEBRAIC, in_doubles=True)
        for name in ("REGR_SXY", "REGR_SXX", "REGR_SYY")
    ),
    _MAX_BY,
    replace(_MAX_BY, name="MIN_BY", usage="MIN_BY(x, y)"),
    _ARRAY_AGG,
    replace(_ARRAY_AGG, name="SORTED_VALUES", usage="SORTED_VALUES(x)", ordered=False),
    _FIRST,
    replace(_FIRST, name="LAST", usage="LAST(x)"),
)

_FREQUENT = AggregateEntry(
    "FREQUENT",
    "FREQUENT(x, k)",
    (_VALUE, COUNT_OF_ITEMS),
    _frequent,
    _KIND.HOLISTIC,
    slices=SliceForm.SUMMARY,
    approximation=Approximation.FREQUENT,
)
_APPROX_COUNT = AggregateEntry(
    "APPROX_COUNT",
    "APPROX_COUNT(x, error)",
    (_VALUE, ERROR),
    _count,
    _KIND.DISTRIBUTIVE,
    slices=SliceForm.PARTIAL,
    partial=_partial_count,
    synopsis=SynopsisForm.HISTOGRAM,
    approximation=Approximation.COUNT,
)
_APPROX_COUNT_DISTINCT = AggregateEntry(
    "APPROX_COUNT_DISTINCT",
    "APPROX_COUNT_DISTINCT(x, error)",
    (_VALUE, ERROR),
    _count,
    _KIND.HOLISTIC,
    duplicate_sensitive=False,
    slices=SliceForm.COUNTERS,
    approximation=Approximation.DISTINCT,
)
_APPROX_MEDIAN = AggregateEntry(
    "APPROX_MEDIAN",
    "APPROX_MEDIAN(x, error)",
    (_VALUE, ERROR),
    _double,
    _KIND.HOLISTIC,
    slices=SliceForm.SUMMARY,
    approximation=Approximation.RANK,
)
_DECAYED_SUM = AggregateEntry(
    "DECAYED_SUM",
    "DECAYED_SUM(x, half_life)",
    (_VALUE, HALF_LIFE),
    _double,
    _KIND.ALGEBRAIC,
    synopsis=SynopsisForm.FADED,
    approximation=Approximation.FADED,
)

_APPROXIMATE = (
    _FREQUENT,
    _APPROX_COUNT,
    replace(
        _APPROX_COUNT,
        name="APPROX_SUM",
        usage="APPROX_SUM(x, error)",
        result=_sum,
        partial=_partial_sum,
        approximation=Approximation.SUM,
    ),
    _APPROX_COUNT_DISTINCT,
    _APPROX_MEDIAN,
    replace(
        _APPROX_MEDIAN,
        name="APPROX_QUANTILE",
        usage="APPROX_QUANTILE(x, fraction, error)",
        slots=(_VALUE, FRACTION, ERROR),
        result=_same,
    ),
    replace(
        _APPROX_MEDIAN,
        name="APPROX_TOP",
        usage="APPROX_TOP(k, x, error)",
        slots=(COUNT_OF_ITEMS, _VALUE, ERROR),
        result=_bounded_items,
        approximation=Approximation.ITEMS,
    ),
    _DECAYED_SUM,
    replace(_DECAYED_SUM, name="DECAYED_COUNT", usage="DECAYED_COUNT(x, half_life)", result=lambda _: DOUBLE),
    replace(_DECAYED_SUM, name="DECAYED_AVG", usage="DECAYED_AVG(x, half_life)"),
)

AGGREGATES: dict[str, AggregateEntry] = {aggregate.name: aggregate for aggregate in (*_EXACT, *_APPROXIMATE)}

AGGREGATE_ALIASES: dict[str, str] = {
    "VARIANCE": "VAR",
    "VAR_SAMP": "VAR",
    "STDDEV_SAMP": "STDDEV",
    "STD": "STDDEV",
    "MEAN": "AVG",
    "FIRST_VALUE": "FIRST",
    "LAST_VALUE": "LAST",
    "TRY_SUM": "SUM",
    "TRY_AVG": "AVG",
    "PERCENTILE_DISC": "QUANTILE",
    "PERCENTILE_CONT": "PERCENTILE",
    "QUANTILE_CONT": "PERCENTILE",
    "ARG_MAX": "MAX_BY",
    "ARG_MIN": "MIN_BY",
    "COLLECT_LIST": "ARRAY_AGG",
    "QUANTILE_DISC": "QUANTILE",
}

DISTINCT_ALLOWED = frozenset(aggregate.name for aggregate in AGGREGATES.values() if aggregate.distinct)
