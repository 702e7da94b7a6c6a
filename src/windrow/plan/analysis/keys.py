"""Keys: sets of columns whose values no two results that are alive at the same time share."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from windrow.plan.analysis.per_node import per_node
from windrow.plan.analysis.update_pattern import gives_stream
from windrow.plan.by_kind import ByKind
from windrow.plan.expressions import ColumnReference
from windrow.plan.functions import conjuncts, equal_columns
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
    OutputKind,
    OutputStream,
    Project,
    SemiJoin,
    Sort,
    Stream,
    Table,
    Union,
    Windowed,
)
from windrow.plan.running_nodes import (
    LOOKUPS,
    SYNOPSES,
    EndWithParts,
    Exchange,
    Grouping,
    IndexedSelection,
    LastSubWindows,
    MergeGroups,
    Numbered,
    RestoredAnswer,
    RestoredInserts,
    SharedSlices,
    SlicePartials,
    SliceSummaries,
    Stamped,
    SubWindows,
    WithEnd,
)
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
    return _CANDIDATES[node](node)


def _no_key(node: Node) -> frozenset[Key]:
    return frozenset()


def _table_key(node: Table) -> frozenset[Key]:
    return _only(f"{node.alias}.{name}" for name in node.primary_key) if node.primary_key else frozenset()


def _as_below(node: Node) -> frozenset[Key]:
    return keys(node.inputs[0])


def _output_keys(node: OutputStream) -> frozenset[Key]:
    """RESTORE emits what a result was beside what it is."""
    return keys(node.input) if node.kind is OutputKind.RSTREAM and not node.restore else frozenset()


def _project_keys(node: Project) -> frozenset[Key]:
    return _renamed(
        node, {c.expression.name: c.name for c in node.columns if isinstance(c.expression, ColumnReference)}
    )


def _alias_keys(node: Alias) -> frozenset[Key]:
    return _renamed(node, {name: f"{node.name}.{unqualified(name)}" for name in node.input.schema.names})


def _group_keys(node: Grouping) -> frozenset[Key]:
    return _only(key.name for key in node.keys)


def _distinct_keys(node: Distinct) -> frozenset[Key]:
    return keys(node.input) or _only(node.schema.names)


def _set_keys(node: Except | Intersect) -> frozenset[Key]:
    return _only(node.schema.names) if not node.all else keys(node.left)


def _only(names: Iterable[str]) -> frozenset[Key]:
    return frozenset({frozenset(names)})


def _window_keys(node: Windowed) -> frozenset[Key]:
    extent = node.window.extent
    newest_only = isinstance(extent, Latest) or (isinstance(extent, Rows) and extent.count == 1)
    if newest_only:
        return _only(node.window.partition)
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


_CANDIDATES: ByKind[Callable[..., frozenset[Key]]] = ByKind(
    {
        Stream: _no_key,
        Table: _table_key,
        Windowed: _window_keys,
        Project: _project_keys,
        Alias: _alias_keys,
        (Filter, IndexedSelection, Sort, Limit, SemiJoin, AntiJoin, Exchange): _as_below,
        Join: _join_keys,
        Union: _no_key,
        (Except, Intersect): _set_keys,
        Distinct: _distinct_keys,
        (GroupBy, MergeGroups, *LOOKUPS): _group_keys,
        OutputStream: _output_keys,
        AppendOnly: _no_key,  # results stay, and equal ones may follow
        (WithEnd, Numbered, EndWithParts, Stamped, RestoredInserts, RestoredAnswer): _no_key,
        (SlicePartials, SharedSlices, SliceSummaries, SubWindows, LastSubWindows, *SYNOPSES): _no_key,
    }
)
