"""Aggregates that are expressions over others: they become those when they are bound, and are shared as those."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from windrow.plan.aggregates import aggregate_call
from windrow.plan.expressions import AggregateCall, Case, Cast, Expression, Literal
from windrow.plan.functions import SignatureError, call
from windrow.types import BOOLEAN, DOUBLE, INT, NULL, STRING, is_numeric

COLLECTING = "ARRAY_AGG"
JOINING = ("STRING_AGG", "LISTAGG", "GROUP_CONCAT")
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


def _codeviation(name: str) -> Callable[..., Expression]:
    return lambda column, y, x: column(aggregate_call(name, [y, x]))


_sxy, _sxx, _syy = (_codeviation(name) for name in ("REGR_SXY", "REGR_SXX", "REGR_SYY"))


def _covariance(fewer: int) -> Callable[..., Expression]:
    """What would divide by zero is null."""

    def build(column: Column, y: Expression, x: Expression) -> Expression:
        count = _double(_pair_count(column, y, x))
        below = call("-", count, Literal(1.0, DOUBLE)) if fewer else count
        return call("/", _sxy(column, y, x), below)

    return build


def _correlation(column: Column, y: Expression, x: Expression) -> Expression:
    squares = call("*", _syy(column, y, x), _sxx(column, y, x))
    return call("/", _sxy(column, y, x), call("SQRT", squares))


def _slope(column: Column, y: Expression, x: Expression) -> Expression:
    return call("/", _sxy(column, y, x), _sxx(column, y, x))


def _intercept(column: Column, y: Expression, x: Expression) -> Expression:
    means = [_mean_of(place)(column, y, x) for place in (0, 1)]
    return call("-", means[0], call("*", _slope(column, y, x), means[1]))


def _determination(column: Column, y: Expression, x: Expression) -> Expression:
    """1 where y does not vary, null where x does not."""
    syy, sxx, sxy = (build(column, y, x) for build in (_syy, _sxx, _sxy))
    zero = Literal(0.0, DOUBLE)
    branches = (
        (call("=", sxx, zero), Literal(None, NULL)),
        (call("=", syy, zero), Literal(1.0, DOUBLE)),
    )
    return Case(branches, call("/", call("*", sxy, sxy), call("*", sxx, syy)), DOUBLE)


def _set(column: Column, value: Expression) -> Expression:
    """In the order of the values."""
    return call("ARRAY_DISTINCT", column(aggregate_call("SORTED_VALUES", [value])))


def joined(column: Column, values: Expression, value: Expression, separator: Expression) -> Expression:
    """The texts of an array, one after the other; null where there are none."""
    if value.type not in (STRING, NULL):
        raise SignatureError(f"the argument is {value.type}, it should be STRING", "write STRING(x)")
    some = call(">", column(aggregate_call("COUNT", [value])), Literal(0, INT))
    return Case(((some, call("ARRAY_JOIN", values, separator)),), Literal(None, NULL), STRING)


def _joined_by_time(column: Column, value: Expression, separator: Expression) -> Expression:
    return joined(column, column(aggregate_call("ARRAY_AGG", [value])), value, separator)


def collected_in_order(column: Column, value: Expression, keys: Sequence[Expression], descending: bool) -> Expression:
    """ARRAY_AGG(x ORDER BY keys): rows of keys and value in their order, and of these the values."""
    row = call("NAMED_STRUCT", *(part for place, key in enumerate((*keys, value)) for part in _named(place, key)))
    rows = column(aggregate_call("SORTED_VALUES", [_where(call("NOT", call("IS NULL", value)), row)]))
    values = call("FIELD", rows, Literal(str(len(keys)), STRING))
    return call("REVERSE", values) if descending else values


def _named(place: int, value: Expression) -> tuple[Expression, Expression]:
    return Literal(str(place), STRING), value


_ALL = (
    AggregateRewrite("COUNT_IF(condition)", 1, _count_if),
    *(AggregateRewrite(f"{name}(condition)", 1, _every) for name in ("BOOL_AND", "EVERY")),
    *(AggregateRewrite(f"{name}(condition)", 1, _some) for name in ("BOOL_OR", "SOME", "ANY")),
    *(AggregateRewrite(f"{name}(x)", 1, _any_value) for name in ("ANY_VALUE", "ARBITRARY")),
    AggregateRewrite("MODE(x)", 1, _mode),
    AggregateRewrite("VAR_POP(x)", 1, _population_variance),
    AggregateRewrite("STDDEV_POP(x)", 1, _population_deviation),
    AggregateRewrite("COLLECT_SET(x)", 1, _set),
    *(AggregateRewrite(f"{name}(text, separator)", 2, _joined_by_time) for name in JOINING),
    AggregateRewrite("COVAR_POP(y, x)", 2, _covariance(0)),
    AggregateRewrite("COVAR_SAMP(y, x)", 2, _covariance(1)),
    AggregateRewrite("CORR(y, x)", 2, _correlation),
    AggregateRewrite("REGR_SLOPE(y, x)", 2, _slope),
    AggregateRewrite("REGR_INTERCEPT(y, x)", 2, _intercept),
    AggregateRewrite("REGR_R2(y, x)", 2, _determination),
    AggregateRewrite("REGR_COUNT(y, x)", 2, _pair_count),
    AggregateRewrite("REGR_AVGY(y, x)", 2, _mean_of(0)),
    AggregateRewrite("REGR_AVGX(y, x)", 2, _mean_of(1)),
)
AGGREGATE_REWRITES: dict[str, AggregateRewrite] = {rewrite.name: rewrite for rewrite in _ALL}
