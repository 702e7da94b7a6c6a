"""Binding calls: functions over the columns of a row, and aggregates over those of a group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from windrow.cql.syntax import TypedLiteral, span_of
from windrow.errors import CqlError, CqlMeaningError, CqlNameError, CqlTypeError, close_names, did_you_mean
from windrow.plan.aggregates import AGGREGATE_ALIASES, AGGREGATES, DISTINCT_ALLOWED, aggregate_call
from windrow.plan.expressions import AggregateCall, Call, Case, ColumnReference, Expression, Literal, NamedAggregate
from windrow.plan.functions import (
    ALIASES,
    FUNCTIONS,
    REWRITES,
    TIME_PARTS,
    SignatureError,
    check_count,
    scalar_names,
)
from windrow.plan.functions.aggregate_rewrites import (
    AGGREGATE_REWRITES,
    COLLECTING,
    JOINING,
    AggregateRewrite,
    collected_in_order,
    joined,
)
from windrow.plan.functions.rewrites import Rewrite
from windrow.plan.user_aggregate import Own, UserAggregate, UserFunction
from windrow.types import INT, INTERVAL, NULL, STRING, common_type
from windrow.units import format_duration

if TYPE_CHECKING:
    from windrow.cql.binder.expressions import ExpressionBinder

_CLOCK_FUNCTIONS = frozenset({"NOW", "CURRENT_TIMESTAMP", "CURRENT_DATE", "GETDATE", "RAND", "RANDOM", "UUID"})
_AGGREGATE_HINTS = {
    "WHERE": "filter groups with HAVING, or aggregate in a sub-query in FROM",
    "ORDER BY": "select it under a name, and order by that name",
    "INSERT": "write a constant",
    "UPDATE": "write an expression over the columns of the row",
    "DELETE": "write a condition over the columns of the row",
    "an option": "write a constant",
}


class Aggregates:
    """The aggregates of one block, each once, named in the order in which they are met."""

    def __init__(self) -> None:
        self.calls: dict[AggregateCall, str] = {}

    def column(self, aggregate: AggregateCall) -> ColumnReference:
        name = self.calls.setdefault(aggregate, f"_aggregate{len(self.calls) + 1}")
        return ColumnReference(name, aggregate.type)

    @property
    def named(self) -> tuple[NamedAggregate, ...]:
        return tuple(NamedAggregate(name, aggregate) for aggregate, name in self.calls.items())


def bind_call(binder: ExpressionBinder, node: exp.Anonymous) -> Expression:
    name = node.name.upper()
    aggregate = AGGREGATE_ALIASES.get(name, name)
    if aggregate in AGGREGATES or name in AGGREGATE_REWRITES or name in binder.catalog.aggregates:
        return _aggregate(binder, aggregate, node)
    if name in binder.catalog.functions:
        return _of_users_own(binder, binder.catalog.functions[name], node)
    rewrite = REWRITES.get(name)
    name = ALIASES.get(name, name)
    if rewrite is None and (name not in FUNCTIONS or name not in scalar_names()):
        raise _unknown_function(binder, node)
    if node.args.get("filter") is not None:
        raise CqlMeaningError(f"FILTER has no meaning behind {name}", span_of(node), "it goes with aggregates")
    if any(isinstance(argument, exp.Distinct) for argument in node.expressions):
        raise CqlMeaningError(f"DISTINCT has no meaning in {name}", span_of(node), "it goes with aggregates")
    arguments = [binder.bind(argument) for argument in node.expressions]
    if rewrite is not None:
        return _rewritten(rewrite, arguments, node)
    if name in ("EXTRACT", "DATE_TRUNC"):
        arguments = _with_time_part(name, arguments, node)
    return binder.typed_call(name, arguments, node)


def _rewritten(rewrite: Rewrite, arguments: list[Expression], node: exp.Anonymous) -> Expression:
    try:
        check_count(len(arguments), rewrite.fewest, rewrite.most)
    except SignatureError as error:
        raise CqlTypeError(f"{rewrite.name}: {error}", span_of(node), f"write {rewrite.usage}") from None
    return rewrite.build(*arguments)


def _unknown_function(binder: ExpressionBinder, node: exp.Anonymous) -> CqlError:
    name = node.name.upper()
    if name in _CLOCK_FUNCTIONS:
        hint = _window_hint(node) or "an answer depends on the rows alone; use their timestamps and [RANGE ...]"
        return CqlMeaningError(f"{name}() is different each time it is asked", span_of(node), hint)
    if name in ("ISTREAM", "DSTREAM", "RSTREAM", "WSTREAM"):
        return CqlMeaningError(f"{name} stands right after SELECT", span_of(node), f"write SELECT {name} a, b FROM ...")
    known = [
        *scalar_names(),
        *ALIASES,
        *REWRITES,
        *AGGREGATES,
        *AGGREGATE_ALIASES,
        *AGGREGATE_REWRITES,
        *binder.catalog.aggregates,
        *binder.catalog.functions,
    ]
    close = close_names(name, known)
    hint = did_you_mean(close) if close else "SHOW FUNCTIONS lists them"
    return CqlNameError(f"there is no function {node.name}", span_of(node), hint)


def _in_order(binder: ExpressionBinder, name: str, arguments: list[exp.Expr], node: exp.Anonymous) -> Expression:
    """ARRAY_AGG(x ORDER BY y) and STRING_AGG(x, ',' ORDER BY y): the order is written, not that of time."""
    assert binder.aggregates is not None
    if name not in (COLLECTING, *JOINING):
        hint = "it goes with ARRAY_AGG and STRING_AGG; FIRST and LAST go by time, MIN_BY and MAX_BY by a value"
        raise CqlMeaningError(f"ORDER BY has no meaning in {name}", span_of(node), hint)
    inner = binder.of_rows(f"the arguments of {name}")
    written = [*(node.args.get("order") or ()), *(node.args.get("within") or ())]
    descending = bool(written[0].args.get("desc"))
    usual = [
        bool(key.args.get("desc")) is descending and key.args.get("nulls_first") in (None, not descending)
        for key in written
    ]
    if not all(usual):
        hint = "order by all of them ASC, or by all of them DESC, with nulls first when ascending and last when not"
        raise CqlMeaningError("this order cannot stand inside an aggregate", span_of(node), hint)
    value, *rest = [inner.bind(argument) for argument in arguments]
    if node.args.get("filter") is not None:
        (value,) = _filtered("", [value], binder.of_rows("FILTER").condition(node.args["filter"]))
    keys = [inner.bind(key.this) for key in written]
    values = collected_in_order(binder.aggregates.column, value, keys, descending)
    if name not in JOINING:
        return values
    return joined(binder.aggregates.column, values, value, rest[0] if rest else Literal(",", STRING))


def _rewritten_aggregate(
    rewrite: AggregateRewrite, aggregates: Aggregates, arguments: list[Expression], node: exp.Anonymous
) -> Expression:
    try:
        check_count(len(arguments), rewrite.arguments, rewrite.arguments)
        return rewrite.build(aggregates.column, *arguments)
    except SignatureError as error:
        raise CqlTypeError(f"{rewrite.name}: {error}", span_of(node), error.hint or f"write {rewrite.usage}") from None


def _window_hint(node: exp.Anonymous) -> str | None:
    """`ts > NOW() - INTERVAL 10 MINUTES` is a window."""
    around = node.parent
    while isinstance(around, exp.Paren):
        around = around.parent
    length = around.expression if isinstance(around, exp.Sub) else None
    if not isinstance(length, TypedLiteral) or length.args["type"] != INTERVAL:
        return None
    return f"the rows of that time are a window: FROM s [RANGE {format_duration(length.this)}], without this condition"


def _aggregate(binder: ExpressionBinder, name: str, node: exp.Anonymous) -> Expression:
    if binder.aggregates is None:
        hint = _AGGREGATE_HINTS.get(binder.clause, "aggregate in a sub-query in FROM")
        raise CqlMeaningError(f"{name} is an aggregate and cannot stand in {binder.clause}", span_of(node), hint)
    arguments, distinct = _arguments(name, node)
    if node.args.get("order") or (node.args.get("within") and name in JOINING):
        return _in_order(binder, name, arguments, node)
    if node.args.get("within"):
        arguments = [*(key.this for key in node.args["within"]), *arguments]
    inner = binder.of_rows(f"the arguments of {name}")
    bound = [inner.bind(argument) for argument in arguments]
    if node.args.get("filter") is not None:
        bound = _filtered(name, bound, binder.of_rows("FILTER").condition(node.args["filter"]))
    rewrite = AGGREGATE_REWRITES.get(name)
    if rewrite is not None:
        return _rewritten_aggregate(rewrite, binder.aggregates, bound, node)
    if name in binder.catalog.aggregates:
        return binder.aggregates.column(_user_defined(binder.catalog.aggregates[name], bound, node))
    try:
        return binder.aggregates.column(aggregate_call(name, bound, distinct))
    except SignatureError as error:
        raise CqlTypeError(f"{name}: {error}", span_of(node), error.hint or f"write {AGGREGATES[name].usage}") from None


def _filtered(name: str, arguments: list[Expression], condition: Expression) -> list[Expression]:
    """Values of the rows that satisfy the condition: of the others they are null, and nulls are skipped."""
    if not arguments:
        return [Case(((condition, Literal(1, INT)),), Literal(None, NULL), INT)]
    entry = AGGREGATES.get(name)
    place = 0 if entry is None else entry.slots.index(None)
    value = arguments[place]
    kept = Case(((condition, value),), Literal(None, NULL), value.type)
    return [*arguments[:place], kept, *arguments[place + 1 :]]


def _arguments(name: str, node: exp.Anonymous) -> tuple[list[exp.Expr], bool]:
    arguments = list(node.expressions)
    counts_rows = name in AGGREGATES and AGGREGATES[name].counts_rows
    if len(arguments) == 1 and isinstance(arguments[0], exp.Star):
        if not counts_rows:
            raise CqlTypeError(f"{name}(*) has no meaning", span_of(node), f"write {name}(column)")
        return [], False
    if len(arguments) == 1 and isinstance(arguments[0], exp.Distinct):
        if name in AGGREGATE_REWRITES:
            raise CqlTypeError(f"{name} takes no DISTINCT", span_of(node), "leave DISTINCT out")
        if name not in DISTINCT_ALLOWED:
            hint = f"DISTINCT goes with {', '.join(sorted(DISTINCT_ALLOWED))}"
            raise CqlTypeError(f"{name} takes no DISTINCT", span_of(node), hint)
        # Where repeats do not matter: one way to say the same thing.
        return list(arguments[0].expressions), AGGREGATES[name].duplicate_sensitive
    if counts_rows and not arguments:
        raise CqlTypeError(f"{name}() counts nothing", span_of(node), f"write {name}(*) or {name}(column)")
    return arguments, False


def _with_time_part(name: str, arguments: list[Expression], node: exp.Anonymous) -> list[Expression]:
    part = arguments[0] if arguments else None
    if not isinstance(part, Literal) or str(part.value).upper() not in TIME_PARTS:
        given = repr(part.value) if isinstance(part, Literal) else "the first argument"
        hint = f"the parts are {', '.join(TIME_PARTS)}"
        raise CqlTypeError(f"{name}: {given} is not a part of a time", span_of(node), hint)
    return [Literal(str(part.value).upper(), STRING), *arguments[1:]]


def _of_users_own(binder: ExpressionBinder, entry: UserFunction, node: exp.Anonymous) -> Expression:
    arguments = [binder.bind(argument) for argument in node.expressions]
    _check_arguments(entry, arguments, node)
    return Call(entry.name, tuple(arguments), entry.result, entry)


def _user_defined(entry: UserAggregate, arguments: Sequence[Expression], node: exp.Anonymous) -> AggregateCall:
    _check_arguments(entry, arguments, node)
    return AggregateCall(entry.name, tuple(arguments), entry.result, user=entry)


def _check_arguments(entry: Own, arguments: Sequence[Expression], node: exp.Anonymous) -> None:
    usage = f"{entry.name}({', '.join(map(str, entry.arguments))})"
    if len(arguments) != len(entry.arguments):
        raise CqlTypeError(f"{entry.name} takes {len(entry.arguments)} arguments", span_of(node), f"write {usage}")
    for argument, wanted in zip(arguments, entry.arguments, strict=True):
        if common_type(argument.type, wanted) != wanted:
            raise CqlTypeError(f"{entry.name} takes {wanted}, this is {argument.type}", span_of(node), f"write {usage}")
