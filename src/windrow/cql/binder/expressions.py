"""Binding expressions: syntax trees become typed expressions over the columns in scope."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from sqlglot import exp

from windrow.catalog import Catalog
from windrow.cql.binder.constants import read_as_time, read_number
from windrow.cql.binder.scope import Scope
from windrow.cql.syntax import CastSyntax, TypedLiteral, WindowedCall, span_of
from windrow.errors import CqlError, CqlMeaningError, CqlNameError, CqlTypeError, Span, nearest
from windrow.plan.aggregates import AGGREGATE_ALIASES, AGGREGATES, DISTINCT_ALLOWED, aggregate_call
from windrow.plan.expressions import (
    AggregateCall,
    Call,
    Case,
    Cast,
    Column,
    Expression,
    Literal,
    NamedAggregate,
    columns_of,
)
from windrow.plan.functions import ALIASES, FUNCTIONS, TIME_PARTS, SignatureError, call, promoted, scalar_names
from windrow.plan.user_aggregate import UserAggregate
from windrow.types import (
    BINARY,
    BOOLEAN,
    DATE,
    NULL,
    STRING,
    TIMESTAMP,
    Type,
    common_type,
    is_numeric,
)

_OPERATORS: dict[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.DPipe: "||",
    exp.NullSafeNEQ: "IS DISTINCT FROM",
}
_CLOCK_FUNCTIONS = frozenset({"NOW", "CURRENT_TIMESTAMP", "CURRENT_DATE", "GETDATE", "RAND", "RANDOM", "UUID"})
_AGGREGATE_HINTS = {
    "WHERE": "filter groups with HAVING, or aggregate in a sub-query in FROM",
    "ORDER BY": "select it under a name, and order by that name",
    "INSERT": "write a constant",
    "UPDATE": "write an expression over the columns of the row",
    "DELETE": "write a condition over the columns of the row",
    "an option": "write a constant",
}
_COMPARES = frozenset({"=", "<>", "<", "<=", ">", ">=", "IN", "IS DISTINCT FROM"})
MAX_DEPTH = 120  # of one expression; more is refused before Python's own limit is reached


class Aggregates:
    """The aggregates of one block, each once, named in the order in which they are met."""

    def __init__(self) -> None:
        self.calls: dict[AggregateCall, str] = {}

    def column(self, aggregate: AggregateCall) -> Column:
        name = self.calls.setdefault(aggregate, f"_aggregate{len(self.calls) + 1}")
        return Column(name, aggregate.type)

    @property
    def named(self) -> tuple[NamedAggregate, ...]:
        return tuple(NamedAggregate(name, aggregate) for aggregate, name in self.calls.items())


class ExpressionBinder:
    """Binds the expressions of one clause; `aggregates` is None where aggregates are not allowed."""

    def __init__(self, catalog: Catalog, scope: Scope, clause: str, aggregates: Aggregates | None = None) -> None:
        self._catalog = catalog
        self._scope = scope
        self._clause = clause
        self._aggregates = aggregates
        self._depth = 0
        self.places: dict[str, Span | None] = {}  # where each column was last seen, for later errors

    def bind(self, node: exp.Expr) -> Expression:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise CqlMeaningError("this expression is nested too deeply", span_of(node), "split it with a sub-query")
        try:
            return self._dispatch(node)
        except SignatureError as error:
            raise CqlTypeError(str(error), span_of(node), error.hint) from None
        finally:
            self._depth -= 1

    @property
    def is_outermost(self) -> bool:
        """Whether no expression is being bound around this one."""
        return self._depth == 0

    def condition(self, node: exp.Expr, after: str | None = None) -> Expression:
        """An expression that must be true or false, after the word of that name or in the clause."""
        bound = self.bind(node)
        if bound.type not in (BOOLEAN, NULL):
            hint = "write a comparison, such as x > 0"
            raise CqlTypeError(f"{after or self._clause} needs a condition, this is {bound.type}", span_of(node), hint)
        return bound

    def _dispatch(self, node: exp.Expr) -> Expression:
        operator = _OPERATORS.get(type(node))
        if operator is not None:
            return self._call(operator, [self.bind(node.this), self.bind(node.expression)], node)
        handler = _HANDLERS.get(type(node))
        if handler is None:
            hint = "CQL has + - * / % ||, comparisons, AND, OR, NOT, IN, LIKE, BETWEEN, IS and CASE"
            raise CqlMeaningError("this operator is not part of CQL", span_of(node), hint)
        return handler(self, node)

    def _call(self, name: str, arguments: Sequence[Expression], node: exp.Expr) -> Call:
        """A typed call; strings written beside times are read as times."""
        if name in _COMPARES or name in ("+", "-"):
            arguments = [read_as_time(argument, arguments, span_of(node)) for argument in arguments]
        return call(name, *arguments)

    def _column(self, node: exp.Column) -> Expression:
        if isinstance(node.this, exp.Star):
            raise CqlMeaningError("* cannot stand in an expression", span_of(node), "name the column")
        try:
            column = self._scope.resolve(node.name, node.table or None, span_of(node))
        except CqlNameError as error:
            if node.this.args.get("quoted") and not node.table:
                error.hint = f"{error.hint}; a text is written in single quotes: '{node.name}'"
            raise
        self.places.update(dict.fromkeys(columns_of(column), span_of(node)))
        return column

    def _star(self, node: exp.Star) -> Expression:
        raise CqlMeaningError("* cannot stand in an expression", span_of(node), "it goes with SELECT and COUNT")

    def _literal(self, node: exp.Literal) -> Expression:
        return Literal(node.this, STRING) if node.is_string else read_number(node)

    def _typed(self, node: TypedLiteral) -> Expression:
        return Literal(node.this, node.args["type"])

    def _boolean(self, node: exp.Boolean) -> Expression:
        return Literal(bool(node.this), BOOLEAN)

    def _null(self, node: exp.Null) -> Expression:
        return Literal(None, NULL)

    def _paren(self, node: exp.Paren) -> Expression:
        return self.bind(node.this)

    def _negative(self, node: exp.Neg) -> Expression:
        value = self.bind(node.this)
        if isinstance(value, Literal) and isinstance(value.value, int | float | Decimal):
            return Literal(-value.value, value.type)
        return call("NEGATE", value)

    def _not(self, node: exp.Not) -> Expression:
        return call("NOT", self.condition(node.this, "NOT"))

    def _logic(self, node: exp.Connector) -> Expression:
        name = "AND" if isinstance(node, exp.And) else "OR"
        parts: list[Expression] = []
        for part in flattened(node):
            bound = self.condition(part, name)
            same = isinstance(bound, Call) and bound.function == name
            parts.extend(bound.arguments if same and isinstance(bound, Call) else (bound,))
        return call(name, *parts)

    def _null_safe_equal(self, node: exp.NullSafeEQ) -> Expression:
        return call("NOT", self._call("IS DISTINCT FROM", [self.bind(node.this), self.bind(node.expression)], node))

    def _is(self, node: exp.Is) -> Expression:
        value = self.bind(node.this)
        if isinstance(node.expression, exp.Null):
            return call("IS NULL", value)
        return call("NOT", call("IS DISTINCT FROM", value, self.bind(node.expression)))

    def _like(self, node: exp.Like) -> Expression:
        matched = call("LIKE", self.bind(node.this), self.bind(node.expression))
        return call("NOT", matched) if node.args.get("negate") else matched

    def _between(self, node: exp.Between) -> Expression:
        value = self.bind(node.this)
        low, high = self.bind(node.args["low"]), self.bind(node.args["high"])
        return call("AND", self._call(">=", [value, low], node), self._call("<=", [value, high], node))

    def _in(self, node: exp.In) -> Expression:
        if node.args.get("query") is not None:
            raise _misplaced_subquery("IN (SELECT ...)", node)
        values = [self.bind(value) for value in node.expressions]
        return self._call("IN", [self.bind(node.this), *values], node)

    def _exists(self, node: exp.Exists) -> Expression:
        raise _misplaced_subquery("EXISTS", node)

    def _subquery(self, node: exp.Subquery) -> Expression:
        hint = "put it into FROM and join it, or use IN or EXISTS"
        raise CqlMeaningError("a sub-query cannot stand in an expression", span_of(node), hint)

    def _case(self, node: exp.Case) -> Expression:
        subject = node.args.get("this")
        branches = []
        for branch in node.args["ifs"]:
            when = (
                self.condition(branch.this, "WHEN") if subject is None else self._case_equal(subject, branch.this, node)
            )
            branches.append((when, self.bind(branch.args["true"])))
        default = node.args.get("default")
        otherwise = Literal(None, NULL) if default is None else self.bind(default)
        of = promoted([*(then for _, then in branches), otherwise])
        return Case(tuple(branches), otherwise, of)

    def _case_equal(self, subject: exp.Expr, value: exp.Expr, node: exp.Case) -> Expression:
        return self._call("=", [self.bind(subject), self.bind(value)], node)

    def _cast(self, node: CastSyntax) -> Expression:
        value, of = self.bind(node.this), node.args["type"]
        if value.type == of:
            return value
        if not _can_cast(value.type, of):
            raise CqlTypeError(f"{value.type} cannot be cast to {of}", span_of(node), _cast_hint(value.type, of))
        return Cast(value, of)

    def _windowed_call(self, node: WindowedCall) -> Expression:
        hint = "write SUM(WSTREAM(SUM(a))[ROWS 10]), the only column of its SELECT"
        raise CqlMeaningError("WSTREAM(...)[...] stands inside one aggregate of a select list", span_of(node), hint)

    def _function(self, node: exp.Anonymous) -> Expression:
        name = node.name.upper()
        aggregate = AGGREGATE_ALIASES.get(name, name)
        if aggregate in AGGREGATES or name in self._catalog.aggregates:
            return self._aggregate(aggregate, node)
        name = ALIASES.get(name, name)
        if name not in FUNCTIONS or name not in scalar_names():
            raise self._unknown_function(node)
        if any(isinstance(argument, exp.Distinct) for argument in node.expressions):
            raise CqlMeaningError(f"DISTINCT has no meaning in {name}", span_of(node), "it goes with aggregates")
        arguments = [self.bind(argument) for argument in node.expressions]
        if name in ("EXTRACT", "DATE_TRUNC"):
            arguments = _with_time_part(name, arguments, node)
        return self._call(name, arguments, node)

    def _unknown_function(self, node: exp.Anonymous) -> CqlError:
        name = node.name.upper()
        if name in _CLOCK_FUNCTIONS:
            hint = "an answer depends on the rows alone; use their timestamps and [RANGE ...]"
            return CqlMeaningError(f"{name}() is different each time it is asked", span_of(node), hint)
        if name in ("ISTREAM", "DSTREAM", "RSTREAM", "WSTREAM"):
            return CqlMeaningError(
                f"{name} stands right after SELECT", span_of(node), f"write SELECT {name} a, b FROM ..."
            )
        known = [*scalar_names(), *ALIASES, *AGGREGATES, *AGGREGATE_ALIASES, *self._catalog.aggregates]
        return CqlNameError(f"there is no function {node.name}", span_of(node), nearest(name, known, "functions"))

    def _aggregate(self, name: str, node: exp.Anonymous) -> Expression:
        if self._aggregates is None:
            hint = _AGGREGATE_HINTS.get(self._clause, "aggregate in a sub-query in FROM")
            raise CqlMeaningError(f"{name} is an aggregate and cannot stand in {self._clause}", span_of(node), hint)
        arguments, distinct = self._aggregate_arguments(name, node)
        inner = ExpressionBinder(self._catalog, self._scope, f"the arguments of {name}")
        bound = [inner.bind(argument) for argument in arguments]
        if name in self._catalog.aggregates:
            return self._aggregates.column(_user_defined(self._catalog.aggregates[name], bound, node))
        try:
            return self._aggregates.column(aggregate_call(name, bound, distinct))
        except SignatureError as error:
            raise CqlTypeError(
                f"{name}: {error}", span_of(node), error.hint or f"write {AGGREGATES[name].usage}"
            ) from None

    def _aggregate_arguments(self, name: str, node: exp.Anonymous) -> tuple[list[exp.Expr], bool]:
        arguments = list(node.expressions)
        counts_rows = name in AGGREGATES and AGGREGATES[name].counts_rows
        if len(arguments) == 1 and isinstance(arguments[0], exp.Star):
            if not counts_rows:
                raise CqlTypeError(f"{name}(*) has no meaning", span_of(node), f"write {name}(column)")
            return [], False
        if len(arguments) == 1 and isinstance(arguments[0], exp.Distinct):
            if name not in DISTINCT_ALLOWED:
                hint = f"DISTINCT goes with {', '.join(sorted(DISTINCT_ALLOWED))}"
                raise CqlTypeError(f"{name} takes no DISTINCT", span_of(node), hint)
            # Where repeats do not matter: one way to say the same thing.
            return list(arguments[0].expressions), AGGREGATES[name].duplicate_sensitive
        if counts_rows and not arguments:
            raise CqlTypeError(f"{name}() counts nothing", span_of(node), f"write {name}(*) or {name}(column)")
        return arguments, False


_Handler = Callable[["ExpressionBinder", Any], Expression]
_HANDLERS: dict[type[exp.Expr], _Handler] = {
    exp.Column: ExpressionBinder._column,
    exp.Star: ExpressionBinder._star,
    exp.Literal: ExpressionBinder._literal,
    TypedLiteral: ExpressionBinder._typed,
    exp.Boolean: ExpressionBinder._boolean,
    exp.Null: ExpressionBinder._null,
    exp.Paren: ExpressionBinder._paren,
    exp.Neg: ExpressionBinder._negative,
    exp.Not: ExpressionBinder._not,
    exp.And: ExpressionBinder._logic,
    exp.Or: ExpressionBinder._logic,
    exp.NullSafeEQ: ExpressionBinder._null_safe_equal,
    exp.Is: ExpressionBinder._is,
    exp.Like: ExpressionBinder._like,
    exp.Between: ExpressionBinder._between,
    exp.In: ExpressionBinder._in,
    exp.Exists: ExpressionBinder._exists,
    exp.Subquery: ExpressionBinder._subquery,
    exp.Case: ExpressionBinder._case,
    exp.Anonymous: ExpressionBinder._function,
    CastSyntax: ExpressionBinder._cast,
    WindowedCall: ExpressionBinder._windowed_call,
}


def flattened(node: exp.Expr) -> list[exp.Expr]:
    """The parts of a chain of the same connective, in the order written, without recursion."""
    kind, parts, waiting = type(node), [], [node]
    while waiting:
        current = waiting.pop()
        inner = current
        while isinstance(inner, exp.Paren):
            inner = inner.this
        if type(inner) is kind:
            waiting.extend((inner.expression, inner.this))
        else:
            parts.append(current)
    return parts


def _with_time_part(name: str, arguments: list[Expression], node: exp.Anonymous) -> list[Expression]:
    part = arguments[0] if arguments else None
    if not isinstance(part, Literal) or str(part.value).upper() not in TIME_PARTS:
        given = repr(part.value) if isinstance(part, Literal) else "the first argument"
        hint = f"the parts are {', '.join(TIME_PARTS)}"
        raise CqlTypeError(f"{name}: {given} is not a part of a time", span_of(node), hint)
    return [Literal(str(part.value).upper(), STRING), *arguments[1:]]


def _user_defined(entry: UserAggregate, arguments: Sequence[Expression], node: exp.Anonymous) -> AggregateCall:
    usage = f"{entry.name}({', '.join(map(str, entry.arguments))})"
    if len(arguments) != len(entry.arguments):
        raise CqlTypeError(f"{entry.name} takes {len(entry.arguments)} arguments", span_of(node), f"write {usage}")
    for argument, wanted in zip(arguments, entry.arguments, strict=True):
        if common_type(argument.type, wanted) != wanted:
            raise CqlTypeError(f"{entry.name} takes {wanted}, this is {argument.type}", span_of(node), f"write {usage}")
    return AggregateCall(entry.name, tuple(arguments), entry.result, user=entry)


def _misplaced_subquery(what: str, node: exp.Expr) -> CqlMeaningError:
    hint = "it stands in WHERE or HAVING, joined to other conditions by AND; for OR write UNION"
    return CqlMeaningError(f"{what} cannot stand here", span_of(node), hint)


def _cast_hint(source: Type, target: Type) -> str:
    if source == TIMESTAMP and is_numeric(target):
        return "write UNIX_MICROS(time) for its microseconds since 1970"
    if is_numeric(source) and target == TIMESTAMP:
        return "write TIMESTAMP_MICROS(number) for microseconds since 1970"
    return "numbers, texts and BOOLEAN can be cast to each other, and DATE to TIMESTAMP and back"


def _can_cast(source: Type, target: Type) -> bool:
    if source == NULL or target == STRING:
        return True
    if source == STRING:
        return target != BINARY
    if is_numeric(source):
        return is_numeric(target) or target == BOOLEAN
    if source == BOOLEAN:
        return is_numeric(target)
    return {source, target} == {DATE, TIMESTAMP}
