"""Binding expressions: syntax trees become typed expressions over the columns in scope."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from sqlglot import exp

from windrow.catalog import Catalog
from windrow.cql.binder.calls import Aggregates, bind_call
from windrow.cql.binder.casts import can_cast, cast_hint
from windrow.cql.binder.constants import read_as_time, read_number
from windrow.cql.binder.scope import Scope
from windrow.cql.syntax import CastSyntax, ElementSyntax, FieldSyntax, TypedLiteral, WindowedCall, span_of
from windrow.errors import CqlMeaningError, CqlNameError, CqlTypeError, Span
from windrow.plan.expressions import (
    Call,
    Case,
    Cast,
    Expression,
    Literal,
    columns_of,
)
from windrow.plan.functions import SignatureError, call, promoted
from windrow.types import (
    BOOLEAN,
    NULL,
    STRING,
    ArrayType,
    StructType,
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
    exp.ILike: "ILIKE",
    exp.RegexpLike: "REGEXP_LIKE",
    exp.SimilarTo: "SIMILAR_TO",
    exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|",
    exp.BitwiseXor: "^",
    exp.BitwiseLeftShift: "SHIFTLEFT",
    exp.BitwiseRightShift: "SHIFTRIGHT",
}
_COMPARES = frozenset({"=", "<>", "<", "<=", ">", ">=", "IN", "IS DISTINCT FROM"})
_MEMBERSHIP = "it stands in WHERE, HAVING and the select list; else put it into FROM and join it"
_MARKED = ("SELECT", "WHERE")
_UNKNOWN = (
    "this operator is not part of CQL",
    "CQL has + - * / % ||, comparisons, AND, OR, NOT, IN, LIKE, BETWEEN, IS and CASE",
)
_REFUSED: dict[type[exp.Expr], tuple[str, str]] = {
    exp.Star: ("* cannot stand in an expression", "it goes with SELECT and COUNT"),
    WindowedCall: (
        "WSTREAM(...)[...] stands inside one aggregate of a select list",
        "write SUM(WSTREAM(SUM(a))[ROWS 10]), the only column of its SELECT",
    ),
}
MAX_DEPTH = 120  # of one expression; more is refused before Python's own limit is reached


class ExpressionBinder:
    """Binds the expressions of one clause; `aggregates` is None where aggregates are not allowed."""

    def __init__(self, catalog: Catalog, scope: Scope, clause: str, aggregates: Aggregates | None = None) -> None:
        self.catalog = catalog
        self._scope = scope
        self.clause = clause
        self.aggregates = aggregates
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
            raise CqlTypeError(f"{after or self.clause} needs a condition, this is {bound.type}", span_of(node), hint)
        return bound

    def of_rows(self, clause: str) -> ExpressionBinder:
        """Over the same columns, where aggregates are not allowed."""
        return ExpressionBinder(self.catalog, self._scope, clause)

    def _dispatch(self, node: exp.Expr) -> Expression:
        operator = _OPERATORS.get(type(node))
        if operator is not None:
            bound = self.typed_call(operator, [self.bind(node.this), self.bind(node.expression)], node)
            return call("NOT", bound) if node.args.get("negate") else bound
        handler = _HANDLERS.get(type(node))
        if handler is None:
            message, hint = _REFUSED.get(type(node), _UNKNOWN)
            raise CqlMeaningError(message, span_of(node), hint)
        return handler(self, node)

    def _subquery(self, node: exp.Subquery | exp.Exists | exp.In) -> Expression:
        """A sub-query as a value; where rows can be joined with it."""
        if self._scope.marks is None or self.clause not in _MARKED:
            raise CqlMeaningError(f"a sub-query cannot stand in {self.clause}", span_of(node), _MEMBERSHIP)
        return self._scope.marks.bind(node, self)

    def typed_call(self, name: str, arguments: Sequence[Expression], node: exp.Expr) -> Call:
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
            if node.table and not self._scope.has_relation(node.table) and self._scope.has_column(node.table):
                return _field_of(self._column(_first_name(node)), node.name)
            if node.this.args.get("quoted") and not node.table:
                error.hint = f"{error.hint}; a text is written in single quotes: '{node.name}'"
            raise
        self.places.update(dict.fromkeys(columns_of(column), span_of(node)))
        return column

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
        return call(
            "NOT", self.typed_call("IS DISTINCT FROM", [self.bind(node.this), self.bind(node.expression)], node)
        )

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
        return call("AND", self.typed_call(">=", [value, low], node), self.typed_call("<=", [value, high], node))

    def _in(self, node: exp.In) -> Expression:
        if node.args.get("query") is not None:
            return self._subquery(node)
        values = [self.bind(value) for value in node.expressions]
        return self.typed_call("IN", [self.bind(node.this), *values], node)

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
        return self.typed_call("=", [self.bind(subject), self.bind(value)], node)

    def _cast(self, node: CastSyntax) -> Expression:
        value, of = self.bind(node.this), node.args["type"]
        if value.type == of:
            return value
        if not can_cast(value.type, of):
            raise CqlTypeError(f"{value.type} cannot be cast to {of}", span_of(node), cast_hint(value.type, of))
        return Cast(value, of)


def _field_of(source: Expression, name: str) -> Expression:
    """A field of a struct, or the fields of an array of structs; names are found in any case."""
    of = source.type.element if isinstance(source.type, ArrayType) else source.type
    fields = of.fields if isinstance(of, StructType) else ()
    exact = next((known for known, _ in fields if known.lower() == name.lower()), name)
    return call("FIELD", source, Literal(exact, STRING))


def _bind_field(binder: ExpressionBinder, node: FieldSyntax) -> Expression:
    return _field_of(binder.bind(node.this), node.args["field"])


def _bind_element(binder: ExpressionBinder, node: ElementSyntax) -> Expression:
    return call("ELEMENT", binder.bind(node.this), binder.bind(node.expression))


def _bind_complement(binder: ExpressionBinder, node: exp.BitwiseNot) -> Expression:
    return call("~", binder.bind(node.this))


def _bind_zone(binder: ExpressionBinder, node: exp.AtTimeZone) -> Expression:
    return call("FROM_UTC_TIMESTAMP", binder.bind(node.this), binder.bind(node.args["zone"]))


_Handler = Callable[["ExpressionBinder", Any], Expression]
_HANDLERS: dict[type[exp.Expr], _Handler] = {
    exp.Column: ExpressionBinder._column,
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
    exp.Exists: ExpressionBinder._subquery,
    exp.Subquery: ExpressionBinder._subquery,
    exp.Case: ExpressionBinder._case,
    exp.Anonymous: bind_call,
    CastSyntax: ExpressionBinder._cast,
    FieldSyntax: _bind_field,
    ElementSyntax: _bind_element,
    exp.BitwiseNot: _bind_complement,
    exp.AtTimeZone: _bind_zone,
}


def _first_name(node: exp.Column) -> exp.Column:
    """The name in front of the dot, as a column of its own."""
    column = exp.Column(this=node.args["table"].copy())
    column.meta.update(node.meta)
    return column


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
