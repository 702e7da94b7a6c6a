"""Closings: by which columns punctuations close the rows of an edge, and which state that frees (thesis 2.2).

A closed key brings no change any more: no row, and no negative tuple. It is *final* when no row with it ends any more
either. A windowed row comes at once, so windows of time pass closings on, but not final ones; windows that let rows in
later, or out because of rows with other keys, do not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from windrow.plan.analysis.key_pairs import key_pairs
from windrow.plan.analysis.per_node import per_node
from windrow.plan.analysis.relations import is_non_retroactive, is_relation
from windrow.plan.by_kind import ByKind
from windrow.plan.expressions import ColumnReference, Named
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
from windrow.plan.running_nodes import (
    LOOKUPS,
    SYNOPSES,
    EndWithParts,
    Exchange,
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
from windrow.plan.windows import Latest, Now, Range, Rows


@dataclass(frozen=True)
class Closed:
    """The columns of an edge whose values are closed together."""

    columns: tuple[str, ...]
    final: bool


@per_node
def closed(node: Node) -> Closed | None:
    """How the rows that leave a node are closed; None when nothing is known of that."""
    return _CLOSED[node](node)


def _stream(node: Stream) -> Closed | None:
    columns = tuple(f"{node.alias}.{name}" for name in node.punctuated)
    return Closed(columns, node.lifetime is None) if columns else None


def _as_below(node: Node) -> Closed | None:
    return closed(node.inputs[0])


def _aliased(node: Alias) -> Closed | None:
    return _renamed(closed(node.input), dict(zip(node.input.schema.names, node.schema.names, strict=True)))


def _projected(node: Project) -> Closed | None:
    return _renamed(closed(node.input), _copies(node.columns))


def _distinct(node: Distinct) -> Closed | None:
    return _final(closed(node.input))


def _never(node: Node) -> None:
    return None


def closes_side(node: Join, side: int) -> tuple[str, ...] | None:
    """The keys of an input of a join (0 is the left) whose closings free rows of the other; None without any."""
    found = closed(node.inputs[side])
    if found is None or node.kind is not JoinKind.INNER or is_relation(node.left) or is_relation(node.right):
        return None
    pairs, _ = key_pairs(node.condition, node.left.schema, node.right.schema)
    keys = tuple(pair[side].name for pair in pairs)
    return keys if set(keys) == set(found.columns) else None


def closes_groups(node: GroupBy) -> Closed | None:
    """The keys of a group-by whose closings free its groups."""
    below = _final(closed(node.input))
    return _renamed(below, _copies(node.keys))


def closes_partitions(node: Windowed) -> Closed | None:
    """The partition columns of a window whose closings free its rows."""
    below = closed(node.input)
    return below if below is not None and set(below.columns) <= set(node.window.partition) else None


def _copies(columns: tuple[Named, ...]) -> dict[str, str]:
    """The columns that are only handed on, and what they are called then."""
    return {named.expression.name: named.name for named in columns if isinstance(named.expression, ColumnReference)}


def _renamed(below: Closed | None, names: dict[str, str]) -> Closed | None:
    if below is None or not all(name in names for name in below.columns):
        return None
    return Closed(tuple(names[name] for name in below.columns), below.final)


def _final(below: Closed | None) -> Closed | None:
    """What an operator that looks back at rows which have ended can use."""
    return below if below is not None and below.final else None


def _windowed(node: Windowed) -> Closed | None:
    below, window = closed(node.input), node.window
    if below is None or isinstance(window.slide, int):
        return None
    if isinstance(window.extent, Rows | Latest):
        return closes_partitions(node)
    if window.slide is not None or not (window.is_open or isinstance(window.extent, Range | Now)):
        return None
    return Closed(below.columns, below.final and window.is_open)


def _joined(node: Join) -> Closed | None:
    """A pair is new while either side brings rows; a non-retroactive table brings none of its own."""
    if is_non_retroactive(node.right) and not is_relation(node.left):
        return closed(node.left)
    left, right = closed(node.left), closed(node.right)
    keys = closes_side(node, 0)
    if left is None or right is None or keys is None or closes_side(node, 1) is None:
        return None
    return Closed(keys, left.final and right.final)


_CLOSED: ByKind[Callable[..., Closed | None]] = ByKind(
    {
        Stream: _stream,
        Windowed: _windowed,
        (Filter, IndexedSelection, Sort, Exchange): _as_below,
        Alias: _aliased,
        Project: _projected,
        Join: _joined,
        GroupBy: closes_groups,
        Distinct: _distinct,
        Table: _never,
        (SemiJoin, AntiJoin, Union, Except, Intersect, Limit, AppendOnly, OutputStream): _never,
        (WithEnd, Numbered, EndWithParts, Stamped, RestoredInserts, RestoredAnswer): _never,
        (SlicePartials, SharedSlices, SliceSummaries, SubWindows, LastSubWindows, MergeGroups): _never,
        (*SYNOPSES, *LOOKUPS): _never,
    }
)
