"""Binding queries: WITH, set operations, ordering, what comes out, and the rules a whole query must keep."""

from __future__ import annotations

from sqlglot import exp

from windrow.catalog import Catalog
from windrow.cql.binder.blocks import BlockBinder
from windrow.cql.binder.expressions import ExpressionBinder
from windrow.cql.binder.output_columns import aligned, position, positions
from windrow.cql.binder.rules import RULES
from windrow.cql.binder.rules.internal import check_internal, check_output_window
from windrow.cql.binder.scope import RelationScope, Scope
from windrow.cql.syntax import OutputSyntax, Relation, WindowSyntax, span_of
from windrow.errors import CqlMeaningError, CqlNameError
from windrow.plan.analysis.internal import has_internal
from windrow.plan.analysis.refreshes import refresh_interval
from windrow.plan.expressions import Literal, SortKey
from windrow.plan.nodes import (
    AppendOnly,
    Distinct,
    Except,
    Intersect,
    Limit,
    Node,
    OutputKind,
    OutputStream,
    Sort,
    Union,
    Windowed,
)
from windrow.plan.windows import Range, Rows, Window


class QueryBinder:
    """Binds one query with everything in it; `uses` collects the names it reads.

    `over_kept` reads the answers of queries by their names, as tables; else a name stands for the query's text.
    """

    def __init__(self, catalog: Catalog, over_kept: bool = False) -> None:
        self.catalog = catalog
        self.over_kept = over_kept
        self.uses: list[str] = []
        self._common: list[dict[str, Node]] = []
        self._aliases = self._marks = 0

    def bind(self, tree: exp.Expr) -> Node:
        """The plan of a whole query, checked."""
        plan = self.nested(tree, internal=False)
        for check in RULES:
            check(plan, tree)
        return plan

    def block(self, internal: bool) -> BlockBinder:
        return BlockBinder(self, internal)

    def fresh_alias(self) -> str:
        self._aliases += 1
        return f"_q{self._aliases}"

    def fresh_mark(self) -> str:
        """An alias of a sub-query in an expression; names of their own, as they are printed."""
        self._marks += 1
        return f"_sub{self._marks}"

    def common(self, name: str) -> Node | None:
        """The plan of a sub-query named by WITH."""
        for level in reversed(self._common):
            if name.lower() in level:
                return level[name.lower()]
        return None

    def common_names(self) -> list[str]:
        return [name for level in self._common for name in level]

    def nested(self, tree: exp.Expr, internal: bool) -> Node:
        """The plan of a query or sub-query; `internal` makes its windows so."""
        self._common.append({})
        try:
            self._bind_common(tree)
            output = _output_of(tree)
            windows_stay = internal or (output is not None and output.this == "WSTREAM")
            plan = self._ordered(tree, self._body(tree, windows_stay))
            return self._output(plan, output, tree)
        finally:
            self._common.pop()

    def _bind_common(self, tree: exp.Expr) -> None:
        for common in tree.args.get("with_") or ():
            name = common.args["alias"]
            if name.name.lower() in self._common[-1]:
                raise CqlNameError(f"WITH names {name.name} twice", span_of(name), "give one of them another name")
            self._common[-1][name.name.lower()] = self.nested(common.this, internal=False)

    def _body(self, tree: exp.Expr, internal: bool) -> Node:
        if isinstance(tree, exp.Select):
            return self.block(internal).bind(tree)
        if isinstance(tree, exp.Subquery):
            return self._parenthesised(tree.this, internal)
        return self._set_operation(tree, internal)

    def _parenthesised(self, tree: exp.Expr, internal: bool) -> Node:
        """An operand in parentheses is part of the same query, unless it gives a stream of its own."""
        own = tree.args.get("with_") or _output_of(tree) is not None
        return self.nested(tree, internal) if own else self._operand(tree, internal)

    def _set_operation(self, tree: exp.Expr, internal: bool) -> Node:
        assert isinstance(tree, exp.SetOperation), tree
        right_output = _output_of(tree.expression)
        if right_output is not None:
            hint = "write it once, after the first SELECT"
            raise CqlMeaningError("an output stream applies to the whole query", span_of(right_output), hint)
        left, right = self._operand(tree.this, internal), self._operand(tree.expression, internal)
        left, right = aligned(left, right, span_of(tree.expression))
        distinct = bool(tree.args.get("distinct"))
        if isinstance(tree, exp.Union):
            return Distinct(Union(left, right)) if distinct else Union(left, right)
        if isinstance(tree, exp.Except):
            return Except(left, right, all=not distinct)
        return Intersect(left, right, all=not distinct)

    def _operand(self, tree: exp.Expr, internal: bool) -> Node:
        return self._ordered(tree, self._body(tree, internal))

    def _ordered(self, tree: exp.Expr, plan: Node) -> Node:
        order, limit = tree.args.get("order"), tree.args.get("limit")
        keys = tuple(self._sort_key(key, plan, tree) for key in order.expressions) if order else ()
        if limit is not None:
            return Limit(plan, keys, limit, tree.args.get("offset") or 0)
        return Sort(plan, keys) if keys else plan

    def _sort_key(self, key: exp.Ordered, plan: Node, tree: exp.Expr) -> SortKey:
        """Over the columns of the answer: by name, by position, or written as in the select list."""
        descending = bool(key.args.get("desc"))
        nulls_first = key.args.get("nulls_first")
        nulls_first = not descending if nulls_first is None else bool(nulls_first)
        column = _selected(key.this, plan, tree)
        if column is not None:
            return SortKey(plan.schema.column(column), descending, nulls_first)
        scope = Scope.over(RelationScope.of("", plan))
        try:
            bound = ExpressionBinder(self.catalog, scope, "ORDER BY").bind(key.this)
        except CqlNameError as error:
            error.hint = f"ORDER BY uses columns of the answer: {', '.join(plan.schema.names)}"
            raise
        if isinstance(bound, Literal):
            hint = f"use {positions(len(plan.schema))}, or a column"
            raise CqlMeaningError("the answer has no such column to order by", span_of(key), hint)
        return SortKey(bound, descending, nulls_first)

    def _output(self, plan: Node, output: OutputSyntax | None, tree: exp.Expr) -> Node:
        if output is not None and output.this == "WSTREAM":
            check_output_window(plan, span_of(_internal_window(tree) or output))
            return self._output_window(plan, output)
        if has_internal(plan):
            check_internal(plan, span_of(_internal_window(tree) or output or tree))
            plan = AppendOnly(plan)
        if output is None:
            return plan
        restore = bool(output.args.get("restore"))
        if restore and refresh_interval(plan) is None:
            hint = "give the windows a SLIDE of time; without one nothing is lost between refreshes"
            raise CqlMeaningError("RESTORE needs refreshes", span_of(output), hint)
        return OutputStream(plan, OutputKind[output.this], restore)

    def _output_window(self, plan: Node, output: OutputSyntax) -> Node:
        syntax = output.args["window"]
        extent = syntax.args["extent"]
        plain = isinstance(extent, Range) or (isinstance(extent, Rows) and not syntax.args.get("partition"))
        if not plain or syntax.args.get("slide") or syntax.args.get("internal"):
            hint = "write WSTREAM(*)[ROWS n] or WSTREAM(*)[RANGE t]"
            raise CqlMeaningError("an output window is ROWS n or RANGE t", span_of(syntax), hint)
        window = Window(extent)
        return Windowed(AppendOnly(plan), window)


def _internal_window(tree: exp.Expr) -> WindowSyntax | None:
    """The first window of this query that is written INTERNAL, apart from those of sub-queries in WITH and FROM."""
    for window in tree.find_all(WindowSyntax):
        around = window.parent.parent if window.parent else None
        while around is not None and around is not tree and not isinstance(around, exp.CTE | Relation):
            around = around.parent
        if around is tree and window.args.get("internal"):
            return window
    return None


def _output_of(tree: exp.Expr) -> OutputSyntax | None:
    """ISTREAM and the like of a query: written after its first SELECT."""
    while isinstance(tree, exp.SetOperation):
        tree = tree.this
    found: OutputSyntax | None = tree.args.get("output") if isinstance(tree, exp.Select) else None
    return found


def _selected(node: exp.Expr, plan: Node, tree: exp.Expr) -> str | None:
    """The column of the answer that a sort key repeats, by position or by its expression."""
    number = position(node)
    if number is not None:
        return plan.schema.names[number - 1] if 1 <= number <= len(plan.schema) else None
    if not isinstance(tree, exp.Select) or len(tree.expressions) != len(plan.schema):
        return None
    for item, name in zip(tree.expressions, plan.schema.names, strict=True):
        if (item.this if isinstance(item, exp.Alias) else item) == node:
            return name
    return None
