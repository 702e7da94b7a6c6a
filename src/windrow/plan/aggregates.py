"""Aggregate functions: their arguments, their result type, and the class that decides how they are kept.

Classes follow thesis 2.2.1 and 8.3.3 and Arasu and Widom, section 2: distributive aggregates merge from parts,
algebraic ones from a fixed number of distributive ones, holistic ones need counters of values; subtractable ones
can also take a part away again. What is not subtractable must look at the window again when its value leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from windrow.plan.aggregate_class import AggregateClass, Traits
from windrow.plan.expressions import AggregateCall, Expression, Literal
from windrow.plan.functions import SignatureError, check_count
from windrow.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INTERVAL,
    NULL,
    DecimalType,
    Type,
    array,
    bounded_decimal,
    is_integer,
    is_numeric,
    struct,
)


@dataclass(frozen=True)
class Parameter:
    """A constant argument, such as the fraction of a quantile or an error bound."""

    name: str
    least: float
    most: float
    whole: bool = False
    is_time: bool = False


FRACTION = Parameter("fraction", 0.0, 1.0)
COUNT_OF_ITEMS = Parameter("k", 1, 1_000_000, whole=True)
ERROR = Parameter("error", 1e-6, 0.5)
HALF_LIFE = Parameter("half-life", 1, 2**62, whole=True, is_time=True)

MOST_DIGITS = 18  # of decimals that are held in one word

_VALUE = None  # a position that takes an expression
Slot = Parameter | None


@dataclass(frozen=True)
class Aggregate:
    """A built-in aggregate: `slots` are its arguments in order, constants as parameters."""

    name: str
    usage: str
    slots: tuple[Slot, ...]
    result: Callable[[Type], Type]
    kind: AggregateClass
    subtractable: bool = False
    ordered: bool = False  # the order of rows matters, not only their values
    approximate: bool = False
    duplicate_sensitive: bool = True


def traits_of(call: AggregateCall) -> Traits:
    """The class of a call: of the aggregate, or over DISTINCT, which needs counters of values whatever it is."""
    if call.user is not None:
        return Traits(call.user.kind, call.user.is_subtractable, call.user.duplicate_sensitive)
    aggregate = AGGREGATES[call.function]
    if call.distinct and aggregate.duplicate_sensitive:
        return Traits(AggregateClass.HOLISTIC, False, True)
    return Traits(aggregate.kind, aggregate.subtractable, aggregate.duplicate_sensitive)


def aggregate_call(name: str, arguments: Sequence[Expression], distinct: bool = False) -> AggregateCall:
    """A typed call of a built-in aggregate; SignatureError when the arguments do not fit."""
    aggregate = AGGREGATES[name]
    if name == "COUNT" and not arguments:
        return AggregateCall(name, (), BIGINT)
    check_count(len(arguments), len(aggregate.slots), len(aggregate.slots))
    value = NULL
    for slot, argument in zip(aggregate.slots, arguments, strict=True):
        if slot is _VALUE:
            value = argument.type
        else:
            _check_parameter(slot, argument)
    return AggregateCall(name, tuple(arguments), aggregate.result(value), distinct)


def _check_parameter(parameter: Parameter, argument: Expression) -> None:
    if not isinstance(argument, Literal) or isinstance(argument.value, str | bool | None):
        raise SignatureError(f"the {parameter.name} should be a number written out")
    if parameter.is_time != (argument.type == INTERVAL):
        should = "a length of time, such as INTERVAL 10 MINUTES" if parameter.is_time else "a number written out"
        raise SignatureError(f"the {parameter.name} should be {should}")
    number = argument.value
    whole = isinstance(number, int)
    if isinstance(number, bytes) or (parameter.whole and not whole):
        raise SignatureError(f"the {parameter.name} should be a whole number")
    if not parameter.least <= number <= parameter.most and parameter.is_time:
        raise SignatureError(f"the {parameter.name} should be longer than nothing")
    if not parameter.least <= number <= parameter.most:
        raise SignatureError(f"the {parameter.name} should be from {parameter.least:g} to {parameter.most:g}")


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


_KIND = AggregateClass
_ALL: tuple[Aggregate, ...] = (
    Aggregate("COUNT", "COUNT(*) or COUNT(x)", (_VALUE,), lambda _: BIGINT, _KIND.DISTRIBUTIVE, subtractable=True),
    Aggregate("SUM", "SUM(x)", (_VALUE,), _sum, _KIND.DISTRIBUTIVE, subtractable=True),
    Aggregate("AVG", "AVG(x)", (_VALUE,), _average, _KIND.ALGEBRAIC, subtractable=True),
    Aggregate("MIN", "MIN(x)", (_VALUE,), _same, _KIND.DISTRIBUTIVE, duplicate_sensitive=False),
    Aggregate("MAX", "MAX(x)", (_VALUE,), _same, _KIND.DISTRIBUTIVE, duplicate_sensitive=False),
    Aggregate("VAR", "VAR(x)", (_VALUE,), _double, _KIND.ALGEBRAIC, subtractable=True),
    Aggregate("STDDEV", "STDDEV(x)", (_VALUE,), _double, _KIND.ALGEBRAIC, subtractable=True),
    Aggregate("MEDIAN", "MEDIAN(x)", (_VALUE,), _double, _KIND.HOLISTIC),
    Aggregate("QUANTILE", "QUANTILE(x, fraction)", (_VALUE, FRACTION), _same, _KIND.HOLISTIC),
    Aggregate("TOP", "TOP(k, x)", (COUNT_OF_ITEMS, _VALUE), _items, _KIND.HOLISTIC),
    Aggregate("FREQUENT", "FREQUENT(x, k)", (_VALUE, COUNT_OF_ITEMS), _frequent, _KIND.HOLISTIC, approximate=True),
    Aggregate("FIRST", "FIRST(x)", (_VALUE,), _same, _KIND.DISTRIBUTIVE, ordered=True, duplicate_sensitive=False),
    Aggregate("LAST", "LAST(x)", (_VALUE,), _same, _KIND.DISTRIBUTIVE, ordered=True, duplicate_sensitive=False),
    Aggregate(
        "APPROX_COUNT",
        "APPROX_COUNT(x, error)",
        (_VALUE, ERROR),
        lambda _: BIGINT,
        _KIND.DISTRIBUTIVE,
        approximate=True,
    ),
    Aggregate("APPROX_SUM", "APPROX_SUM(x, error)", (_VALUE, ERROR), _sum, _KIND.DISTRIBUTIVE, approximate=True),
    Aggregate(
        "APPROX_COUNT_DISTINCT",
        "APPROX_COUNT_DISTINCT(x, error)",
        (_VALUE, ERROR),
        lambda _: BIGINT,
        _KIND.HOLISTIC,
        approximate=True,
        duplicate_sensitive=False,
    ),
    Aggregate("APPROX_MEDIAN", "APPROX_MEDIAN(x, error)", (_VALUE, ERROR), _double, _KIND.HOLISTIC, approximate=True),
    Aggregate(
        "APPROX_QUANTILE",
        "APPROX_QUANTILE(x, fraction, error)",
        (_VALUE, FRACTION, ERROR),
        _same,
        _KIND.HOLISTIC,
        approximate=True,
    ),
    Aggregate(
        "APPROX_TOP",
        "APPROX_TOP(k, x, error)",
        (COUNT_OF_ITEMS, _VALUE, ERROR),
        _bounded_items,
        _KIND.HOLISTIC,
        approximate=True,
    ),
)

_ALL += tuple(
    Aggregate(name, f"{name}(x, half_life)", (_VALUE, HALF_LIFE), result, _KIND.ALGEBRAIC, approximate=True)
    for name, result in (("DECAYED_SUM", _double), ("DECAYED_COUNT", lambda _: DOUBLE), ("DECAYED_AVG", _double))
)

AGGREGATES: dict[str, Aggregate] = {aggregate.name: aggregate for aggregate in _ALL}

AGGREGATE_ALIASES: dict[str, str] = {
    "VARIANCE": "VAR",
    "VAR_SAMP": "VAR",
    "STDDEV_SAMP": "STDDEV",
    "STD": "STDDEV",
    "MEAN": "AVG",
    "FIRST_VALUE": "FIRST",
    "LAST_VALUE": "LAST",
}

DISTINCT_ALLOWED = frozenset({"COUNT", "SUM", "AVG", "MIN", "MAX"})
