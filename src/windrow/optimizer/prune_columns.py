"""Projection pruning: columns that nobody uses are dropped before the first operator that would keep them.

That is at the inputs of joins, which remember whole rows. Selections and projections remember nothing, and group-by
keeps its keys and arguments only, so below those nothing is gained. Where rows are compared as a whole (DISTINCT,
EXCEPT, INTERSECT, LIMIT, whose ties are broken by the row's values) or counted in order (windows on sub-queries), every
column is used. Windows on streams are left as they are: all queries on a stream share them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from windrow.plan.aggregates import is_ordered
from windrow.plan.analysis.relations import is_relation
from windrow.plan.by_kind import ByKind
from windrow.plan.expressions import Expression, Named, columns_of
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
from windrow.plan.rewrite import with_new_inputs
from windrow.plan.running_nodes import RUNNING
from windrow.plan.schema import unqualified

Columns = frozenset[str]


def prune_columns(node: Node) -> Node | None:
    if isinstance(node, SemiJoin | AntiJoin):
        right = narrowed(node.right, condition_columns(node))
        return None if right is node.right else node.with_inputs(node.left, right)
    if not isinstance(node, Project | GroupBy):
        return None
    below = _pruned(node.input, used_columns(node))
    return None if below is node.input else node.with_inputs(below)


def used_columns(node: Project | GroupBy) -> Columns:
    """The columns of its input that a select list or a grouping reads."""
    if isinstance(node, Project):
        return _columns(column.expression for column in node.columns)
    keys = _columns(key.expression for key in node.keys)
    return keys.union(*(_columns(named.call.arguments) for named in node.aggregates), _times(node))


def condition_columns(node: Join | SemiJoin | AntiJoin) -> Columns:
    """The columns of both sides that the condition of a join reads."""
    parts = [] if node.condition is None else [node.condition]
    if isinstance(node, AntiJoin):
        parts += node.not_in or ()
    return _columns(parts)


def narrowed(node: Node, used: Columns) -> Node:
    """A plan that gives only the used ones among its columns, in the same order; one column at the least."""
    if is_relation(node):
        return node
    names = [name for name in node.schema.names if name in used] or [node.schema.names[0]]
    if len(names) == len(node.schema):
        return node
    if isinstance(node, Project):
        return Project(node.input, tuple(column for column in node.columns if column.name in names))
    if isinstance(node, Alias):
        return Alias(narrowed(node.input, _below(node, frozenset(names))), node.name)
    return Project(node, tuple(Named(name, node.schema.column(name)) for name in names))


def _pruned(node: Node, used: Columns) -> Node:
    """The plan with narrower inputs of its topmost joins; it gives at least the used columns."""
    return _PRUNED[node](node, used)


def _pruned_selection(node: Filter, used: Columns) -> Node:
    return with_new_inputs(node, _pruned(node.input, used | columns_of(node.predicate)))


def _pruned_sort(node: Sort, used: Columns) -> Node:
    return with_new_inputs(node, _pruned(node.input, used | _columns(key.expression for key in node.keys)))


def _pruned_alias(node: Alias, used: Columns) -> Node:
    return with_new_inputs(node, _pruned(node.input, _below(node, used)))


def _pruned_join(node: Join, used: Columns) -> Node:
    used |= condition_columns(node)
    return with_new_inputs(node, narrowed(node.left, used), narrowed(node.right, used))


def _pruned_left(node: SemiJoin | AntiJoin, used: Columns) -> Node:
    return with_new_inputs(node, narrowed(node.left, used | condition_columns(node)), node.right)


def _as_it_is(node: Node, used: Columns) -> Node:
    return node


def _without_unused_aggregates(node: GroupBy, used: Columns) -> GroupBy:
    kept = tuple(named for named in node.aggregates if named.name in used)
    if len(kept) == len(node.aggregates):
        return node
    return replace(node, aggregates=kept if kept or node.keys else node.aggregates[:1])


def _narrow_union(node: Union, used: Columns) -> Node:
    """Columns of a bag union correspond by position."""
    places = [place for place, name in enumerate(node.left.schema.names) if name in used] or [0]
    sides = (narrowed(side, frozenset(side.schema.names[place] for place in places)) for side in node.inputs)
    return with_new_inputs(node, *sides)


def _below(node: Alias, used: Columns) -> Columns:
    return frozenset(name for name in node.input.schema.names if f"{node.name}.{unqualified(name)}" in used)


def _columns(expressions: Iterable[Expression]) -> Columns:
    return frozenset().union(*(columns_of(expression) for expression in expressions))


def _times(node: GroupBy) -> Columns:
    """FIRST and LAST choose by the time of the row and by ties, which they do not name."""
    if not any(is_ordered(named.call) for named in node.aggregates):
        return frozenset()
    streams = (below for below in node.input.walk() if isinstance(below, Stream))
    return frozenset(f"{stream.alias}.{name}" for stream in streams for name in (stream.timestamp, *stream.ties))


_PRUNED: ByKind[Callable[..., Node]] = ByKind(
    {
        Filter: _pruned_selection,
        Sort: _pruned_sort,
        Alias: _pruned_alias,
        Project: narrowed,
        GroupBy: _without_unused_aggregates,
        Join: _pruned_join,
        (SemiJoin, AntiJoin): _pruned_left,
        Union: _narrow_union,
        (Stream, Table): _as_it_is,
        Windowed: _as_it_is,  # shared by all queries on a stream; on a sub-query it breaks ties by the row
        (Distinct, Except, Intersect, Limit, AppendOnly, OutputStream): _as_it_is,  # they compare whole rows
    },
    never={RUNNING: "rules see plans before it is decided how they run"},
)
