"""Aggregates that are expressions over others: they become those when they are bound, and are shared as those."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from windrow.plan.aggregates import aggregate_call
from windrow.plan.expressions import AggregateCall, Case, Cast, Expression, Literal
from windrow.plan.functions import SignatureError, call
from windrow.types import BOOLEAN, DOUBLE, INT, NULL, STRING, is_numeric

Column = Callable[[AggregateCall], Expression]


@dataclass(frozen=True)
class AggregateRewrite:
    """`build` makes the expression over the arguments; aggregates in it become columns by its first argument."""

    usage: str
    arguments: int
    build: Callable[..., Expression]

    @property
    def name(self) -> str:
        return self.usage.partition("(")[0]


def _double(value: Expression) -> Expression:
    return value if value.type == DOUBLE else Cast(value, DOUBLE)


def _where(condition: Expression, value: Expression) -> Expression:
    return Case(((condition, value),), Literal(None, NULL), value.type)


def _condition(argument: Expression) -> Expression:
    if argument.type not in (BOOLEAN, NULL):
        raise SignatureError(f"the argument is {argument.type}, it should be a condition")
    return argument


def _count_if(column: Column, condition: Expression) -> Expression:
    return column(aggregate_call("COUNT", [_where(_condition(condition), Literal(1, INT))]))


def _every(column: Column, condition: Expression) -> Expression:
    return column(aggregate_call("MIN", [_condition(condition)]))


def _some(column: Column, condition: Expression) -> Expression:
    return column(aggregate_call("MAX", [_condition(condition)]))


def _any_value(column: Column, value: Expression) -> Expression:
    """The smallest, so that it depends on the bag of rows alone."""
    return column(aggregate_call("MIN", [value]))


def _mode(column: Column, value: Expression) -> Expression:
    """The most frequent, of several the smallest."""
    items = column(aggregate_call("TOP", [Literal(1, INT), value]))
    return call("FIELD", call("ELEMENT", items, Literal(0, INT)), Literal("item", STRING))


def _pairs(y: Expression, x: Expression) -> tuple[Expression, Expression]:
    """Both where neither is null, else null."""
    for value in (y, x):
        if not is_numeric(value.type):
            raise SignatureError(f"the argument is {value.type}, it should be a number")
    both = call("AND", call("NOT", call("IS NULL", y)), call("NOT", call("IS NULL", x)))
    return _where(both, _double(y)), _where(both, _double(x))


def _pair_count(column: Column, y: Expression, x: Expression) -> Expression:
    return column(aggregate_call("COUNT", [_pairs(y, x)[0]]))


def _mean_of(place: int) -> Callable[..., Expression]:
    return lambda column, y, x: column(aggregate_call("AVG", [_pairs(y, x)[place]]))


def _of_variance(column: Column, value: Expression) -> tuple[Expression, Expression, Expression]:
    """The variance of the sample, the number of values, and one less."""
    count = column(aggregate_call("COUNT", [value]))
    variance = column(aggregate_call("VAR", [value]))
    return variance, count, call("-", count, Literal(1, INT))


def _population_variance(column: Column, value: Expression) -> Expression:
    """Of one value it is zero."""
    variance, count, fewer = _of_variance(column, value)
    spread = call("/", call("*", variance, _double(fewer)), _double(count))
    single = call("*", column(aggregate_call("AVG", [_double(value)])), Literal(0.0, DOUBLE))
    branches = ((call("=", count, Literal(1, INT)), single),)
    return Case(branches, spread, DOUBLE)


def _population_deviation(column: Column, value: Expression) -> Expression:
    return call("SQRT", _population_variance(column, value))


_ALL = (
    AggregateRewrite("COUNT_IF(condition)", 1, _count_if),
    *(AggregateRewrite(f"{name}(condition)", 1, _every) for name in ("BOOL_AND", "EVERY")),
    *(AggregateRewrite(f"{name}(condition)", 1, _some) for name in ("BOOL_OR", "SOME", "ANY")),
    *(AggregateRewrite(f"{name}(x)", 1, _any_value) for name in ("ANY_VALUE", "ARBITRARY")),
    AggregateRewrite("MODE(x)", 1, _mode),
    AggregateRewrite("VAR_POP(x)", 1, _population_variance),
    AggregateRewrite("STDDEV_POP(x)", 1, _population_deviation),
    AggregateRewrite("REGR_COUNT(y, x)", 2, _pair_count),
    AggregateRewrite("REGR_AVGY(y, x)", 2, _mean_of(0)),
    AggregateRewrite("REGR_AVGX(y, x)", 2, _mean_of(1)),
)
AGGREGATE_REWRITES: dict[str, AggregateRewrite] = {rewrite.name: rewrite for rewrite in _ALL}
