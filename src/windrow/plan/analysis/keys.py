"""Keys: sets of columns whose values no two results that are alive at the same time share."""

from __future__ import annotations

from collections.abc import Iterable

from windrow.plan.analysis.per_node import per_node
from windrow.plan.analysis.update_pattern import gives_stream
from windrow.plan.expressions import Column
from windrow.plan.functions import conjuncts, equal_columns
from windrow.plan.nodes import (
    Alias,
    AntiJoin,
    Distinct,
    Except,
    Filter,
    Intersect,
    Join,
    JoinKind,
    Limit,
    Node,
    OutputKind,
    OutputStream,
    Project,
    SemiJoin,
    Sort,
    Table,
    Windowed,
)
from windrow.plan.running_nodes import Exchange, Grouping
from windrow.plan.schema import unqualified
from windrow.plan.windows import Latest, Rows

Key = frozenset[str]


@per_node
def keys(node: Node) -> frozenset[Key]:
    """The smallest keys that are known; none where results may repeat."""
    return frozenset(key for key in _candidates(node) if not any(other < key for other in _candidates(node)))


def chosen_key(node: Node, wanted: object = None) -> tuple[str, ...] | None:
    """The columns to tell results apart by: those in `wanted` (a text, `a, b`), or the smallest key; None if no key."""
    known = sorted((tuple(sorted(key)) for key in keys(node)), key=lambda key: (len(key), key))
    if wanted is None:
        return known[0] if known else None
    columns = {name.lower(): name for name in node.schema.names}
    named = tuple(columns.get(word.strip().lower(), word.strip()) for word in str(wanted).split(",") if word.strip())
    return named if any(set(key) <= set(named) for key in known) and set(named) <= set(node.schema.names) else None


def _candidates(node: Node) -> frozenset[Key]:
    if isinstance(node, Table):
        return _one(f"{node.alias}.{name}" for name in node.primary_key) if node.primary_key else frozenset()
    if isinstance(node, Windowed):
        return _window_keys(node)
    if isinstance(node, Filter | Sort | Limit | SemiJoin | AntiJoin | Exchange):
        return keys(node.inputs[0])
    if isinstance(node, OutputStream):
        return keys(node.input) if node.kind is OutputKind.RSTREAM else frozenset()
    if isinstance(node, Project):
        return _renamed(node, {c.expression.name: c.name for c in node.columns if isinstance(c.expression, Column)})
    if isinstance(node, Alias):
        return _renamed(node, {name: f"{node.name}.{unqualified(name)}" for name in node.input.schema.names})
    if isinstance(node, Grouping):
        return _one(key.name for key in node.keys)
    if isinstance(node, Distinct):
        return keys(node.input) or _one(node.schema.names)
    if isinstance(node, Intersect | Except):
        return _one(node.schema.names) if not node.all else keys(node.left)
    return _join_keys(node) if isinstance(node, Join) else frozenset()


def _one(names: Iterable[str]) -> frozenset[Key]:
    return frozenset({frozenset(names)})


def _window_keys(node: Windowed) -> frozenset[Key]:
    extent = node.window.extent
    newest_only = isinstance(extent, Latest) or (isinstance(extent, Rows) and extent.count == 1)
    if newest_only:
        return _one(node.window.partition)
    return frozenset() if gives_stream(node.input) else keys(node.input)


def _renamed(node: Project | Alias, names: dict[str, str]) -> frozenset[Key]:
    kept = (key for key in keys(node.input) if key <= names.keys())
    return frozenset(frozenset(names[name] for name in key) for key in kept)


def _join_keys(node: Join) -> frozenset[Key]:
    left, right = keys(node.left), keys(node.right)
    matched = _matched_columns(node)
    if node.kind is JoinKind.FULL:
        return frozenset()  # rows without a partner may be null in the keys of both sides
    found = {a | b for a in left for b in right}
    if node.kind in (JoinKind.INNER, JoinKind.LEFT) and any(key <= matched for key in right):
        found |= left
    if node.kind in (JoinKind.INNER, JoinKind.RIGHT) and any(key <= matched for key in left):
        found |= right
    return frozenset(found)


def _matched_columns(node: Join) -> Key:
    """Columns that the condition says are equal to one of the other side."""
    pairs = (equal_columns(part) for part in conjuncts(node.condition))
    sides = ((pair, [column.name in node.left.schema for column in pair]) for pair in pairs if pair)
    return frozenset(column.name for pair, (one, other) in sides if one != other for column in pair)
