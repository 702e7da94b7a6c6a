"""Plans as CQL text: printing a plan and reading it again gives the same plan.

A plan is printed from the top down as one SELECT block for as long as its nodes come in the order in which a block is
read (output, LIMIT, set operation, DISTINCT, select list, HAVING, GROUP BY, WHERE, FROM); what does not fit becomes a
sub-query in FROM.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from windrow.plan.by_kind import ByKind
from windrow.plan.expressions import AggregateCall, ColumnReference, Expression, Named
from windrow.plan.functions import conjuncts
from windrow.plan.nodes import (
    Alias,
    AntiJoin,
    AppendOnly,
    Distinct,
    Except,
    Filter,
    GroupBy,
    Intersect,
    Join,
    JoinKind,
    Limit,
    Node,
    OutputStream,
    Project,
    SemiJoin,
    Sort,
    Stream,
    Table,
    Union,
    Windowed,
)
from windrow.plan.printer.expressions import ExpressionPrinter, expression_text, sort_key_text
from windrow.plan.printer.names import identifier
from windrow.plan.printer.windows import window_text
from windrow.plan.running_nodes import RUNNING
from windrow.plan.schema import unqualified


def query_text(node: Node) -> str:
    """A query that binds to this plan."""
    if isinstance(node, OutputStream):
        return _block(node.input, f"{node.kind.value} {'RESTORE ' if node.restore else ''}")
    return _block(node, "")


def _block(node: Node, output: str) -> str:
    """A query whose select list begins with these words."""
    return _BLOCKS[node](node, output)


def _limited(node: Limit, output: str) -> str:
    order = f" ORDER BY {', '.join(map(sort_key_text, node.keys))}" if node.keys else ""
    offset = f" OFFSET {node.offset}" if node.offset else ""
    return f"{_block(node.input, output)}{order} LIMIT {node.count}{offset}"


def _sorted(node: Sort, output: str) -> str:
    return f"{_block(node.input, output)} ORDER BY {', '.join(map(sort_key_text, node.keys))}"


def _internal(node: AppendOnly, output: str) -> str:
    """INTERNAL is said by the windows."""
    return _block(node.input, output)


def _window_block(node: Windowed, output: str) -> str:
    if isinstance(node.input, AppendOnly):
        return _block(node.input.input, f"WSTREAM {window_text(node.window)} ")
    return _everything(node, output)


def _distinct(node: Distinct, output: str) -> str:
    if isinstance(node.input, Union):
        return _set_operation(node.input, "UNION", output)
    return _select(node.input, f"{output}DISTINCT ") if isinstance(node.input, Project) else _everything(node, output)


def _set_block(node: Union | Except | Intersect, output: str) -> str:
    return _set_operation(node, _operator(node), output)


def _everything(node: Node, output: str) -> str:
    return f"SELECT {output}* FROM {_from(node)}"


def _operator(node: Union | Except | Intersect) -> str:
    if isinstance(node, Union):
        return "UNION ALL"
    name = "EXCEPT" if isinstance(node, Except) else "INTERSECT"
    return f"{name} ALL" if node.all else name


def _set_operation(node: Union | Except | Intersect, operator: str, output: str) -> str:
    return f"{_left_operand(node, output)} {operator} {_right_operand(node.right)}"


def _left_operand(parent: Union | Except | Intersect, output: str) -> str:
    """UNION and EXCEPT read from left to right, INTERSECT binds tighter: those need no parentheses on the left."""
    node = parent.left
    chained = _is_set_operation(node) and (not isinstance(parent, Intersect) or isinstance(node, Intersect))
    return _block(node, output) if _is_plain(node) or chained else f"({query_text(node)})"


def _right_operand(node: Node) -> str:
    return _block(node, "") if _is_plain(node) else f"({query_text(node)})"


def _is_plain(node: Node) -> bool:
    """One SELECT without ordering."""
    return isinstance(node, Project) or (isinstance(node, Distinct) and isinstance(node.input, Project))


def _is_set_operation(node: Node) -> bool:
    inner = node.input if isinstance(node, Distinct) else node
    return isinstance(inner, Union | Except | Intersect) and (inner is node or isinstance(inner, Union))


def _select(project: Project, words: str) -> str:
    clauses = _Clauses.of(project.input)
    items = ", ".join(_item(column, clauses) for column in project.columns)
    return f"SELECT {words}{items}{clauses.text()}"


def _item(column: Named, clauses: _Clauses) -> str:
    text = clauses.print(column.expression)
    source = column.expression
    if (
        isinstance(source, ColumnReference)
        and unqualified(source.name) == column.name
        and source.name not in clauses.computed
    ):
        return text
    return f"{text} AS {identifier(column.name)}"


@dataclass
class _Clauses:
    """The clauses below a select list; `computed` holds keys and aggregates by the names of their columns."""

    source: Node
    where: list[str] = field(default_factory=list)
    group_by: list[str] | None = None
    having: str | None = None
    computed: dict[str, Expression | AggregateCall] = field(default_factory=dict)

    @staticmethod
    def of(node: Node) -> _Clauses:
        having = None
        if isinstance(node, Filter) and isinstance(node.input, GroupBy):
            having, node = node.predicate, node.input
        if not isinstance(node, GroupBy):
            return _where(node)
        clauses = _where(node.input)
        clauses.group_by = [expression_text(key.expression) for key in node.keys]
        for key in node.keys:
            if not isinstance(key.expression, ColumnReference) or key.expression.name != key.name:
                clauses.computed[key.name] = key.expression
        clauses.computed.update({named.name: named.call for named in node.aggregates})
        clauses.having = None if having is None else clauses.print(having)
        return clauses

    def print(self, expression: Expression) -> str:
        return ExpressionPrinter(self.computed).text(expression)

    def text(self) -> str:
        where = f" WHERE {' AND '.join(self.where)}" if self.where else ""
        group = f" GROUP BY {', '.join(self.group_by)}" if self.group_by else ""
        having = "" if self.having is None else f" HAVING {self.having}"
        return f" FROM {_from(self.source)}{where}{group}{having}"


def _where(node: Node) -> _Clauses:
    """The conditions on top of FROM: within a block the selection comes first, then EXISTS and NOT EXISTS."""
    conditions: list[str] = []
    while isinstance(node, SemiJoin | AntiJoin):
        conditions.insert(0, f"EXISTS ({_exists_query(node)})" if isinstance(node, SemiJoin) else _negation(node))
        node = node.left
    if isinstance(node, Filter):
        conditions[:0] = [_conjunct(part) for part in conjuncts(node.predicate)]
        node = node.input
    return _Clauses(node, conditions)


def _conjunct(expression: Expression) -> str:
    return ExpressionPrinter().conjunct(expression)


def _exists_query(node: SemiJoin | AntiJoin, select: str = "*") -> str:
    clauses = _where(node.right)
    clauses.where += [_conjunct(part) for part in conjuncts(node.condition)]
    return f"SELECT {select}{clauses.text()}"


def _negation(node: AntiJoin) -> str:
    if node.not_in is None:
        return f"NOT EXISTS ({_exists_query(node)})"
    outer, inner = (expression_text(side) for side in node.not_in)
    return f"{outer} NOT IN ({_exists_query(node, inner)})"


def _from(node: Node) -> str:
    if isinstance(node, Join):
        return _join(node)
    body, alias = _relation(node)
    return body if alias is None else f"{body} AS {identifier(alias)}"


def _relation(node: Node) -> tuple[str, str | None]:
    """A relation without its alias, and the alias where it needs one; a window stands between the two."""
    return _RELATIONS[node](node)


def _source(node: Stream | Table) -> tuple[str, str | None]:
    return identifier(node.name), None if node.alias == node.name else node.alias


def _windowed(node: Windowed) -> tuple[str, str | None]:
    body, alias = _relation(node.input)
    return f"{body} {window_text(node.window)}", alias


def _sub_query(node: Alias) -> tuple[str, str]:
    return f"({query_text(node.input)})", node.name


def _join(node: Join) -> str:
    right = _from(node.right)
    if isinstance(node.right, Join):
        right = f"({right})"
    if node.condition is None:
        return f"{_from(node.left)} CROSS JOIN {right}"
    kind = "" if node.kind is JoinKind.INNER else f"{node.kind.value} "
    return f"{_from(node.left)} {kind}JOIN {right} ON {expression_text(node.condition)}"


def _derived(node: Node) -> tuple[str, str]:
    """A sub-query that keeps the names of the one relation it is over."""
    qualifier = node.schema.names[0].partition(".")[0]
    return f"(SELECT *{_where(node).text()})", qualifier


_AS_IT_RUNS = "only plans as they are written have a text"

_BLOCKS: ByKind[Callable[..., str]] = ByKind(
    {
        Limit: _limited,
        Sort: _sorted,
        AppendOnly: _internal,
        Windowed: _window_block,
        Distinct: _distinct,
        (Union, Except, Intersect): _set_block,
        Project: _select,
        (Stream, Table, Alias, Filter, Join, SemiJoin, AntiJoin): _everything,
    },
    never={
        GroupBy: "a select list is above it",
        OutputStream: "it is written first, by query_text",
        RUNNING: _AS_IT_RUNS,
    },
)

_RELATIONS: ByKind[Callable[..., tuple[str, str | None]]] = ByKind(
    {
        (Stream, Table): _source,
        Windowed: _windowed,
        Alias: _sub_query,
        (Filter, Join, SemiJoin, AntiJoin): _derived,
    },
    never={
        (Project, GroupBy, Distinct, Union, Except, Intersect, Sort, Limit, AppendOnly, OutputStream): (
            "a sub-query has an alias above it"
        ),
        RUNNING: _AS_IT_RUNS,
    },
)
