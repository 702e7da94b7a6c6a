"""Which columns of its streams a plan reads: the others need not be read at all.

Where rows are compared as a whole, or counted in the order of a stream (ties in time are broken by all values), every
column is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from windrow.plan.aggregates import is_ordered
from windrow.plan.by_kind import ByKind
from windrow.plan.expressions import Expression, columns_of
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
from windrow.plan.running_nodes import (
    LOOKUPS,
    EndWithParts,
    Exchange,
    IndexedSelection,
    JoinSynopsis,
    LastSubWindows,
    MergeGroups,
    Numbered,
    PeriodicSynopsis,
    RestoredAnswer,
    RestoredInserts,
    SharedSlices,
    SlicePartials,
    SliceSummaries,
    Stamped,
    SubWindows,
    WindowSynopsis,
    WithEnd,
    below_exchange,
)
from windrow.plan.schema import unqualified

Columns = frozenset[str]


def source_columns(plans: Iterable[Node]) -> dict[str, Columns]:
    """By stream (lower case), the columns that some of the plans read."""
    found: dict[str, Columns] = {}
    for plan in plans:
        for name, columns in _read(plan, frozenset(plan.schema.names)):
            found[name] = found.get(name, frozenset()) | columns
    return found


def _read(node: Node, used: Columns) -> Iterable[tuple[str, Columns]]:
    """What is read for the `used` columns of a node."""
    if isinstance(node, Stream):
        kept = {unqualified(name) for name in used if name in node.schema}
        yield node.name.lower(), frozenset(kept)
        return
    for below in node.inputs:
        yield from _read(below, _used_below(node, below, used))


def _used_below(node: Node, below: Node, used: Columns) -> Columns:
    return _USED[node](node, below, used)


def _everything(node: Node, below: Node, used: Columns) -> Columns:
    return frozenset(below.schema.names)


def _by_selection(node: Filter | IndexedSelection, below: Node, used: Columns) -> Columns:
    return used | columns_of(node.predicate)


def _by_sort(node: Sort, below: Node, used: Columns) -> Columns:
    return used | _columns(key.expression for key in node.keys)


def _by_projection(node: Project, below: Node, used: Columns) -> Columns:
    return _columns(column.expression for column in node.columns)


def _by_exchange(node: Exchange, below: Node, used: Columns) -> Columns:
    return used | _columns(node.keys)


def _by_alias(node: Alias, below: Node, used: Columns) -> Columns:
    names = {f"{node.name}.{unqualified(name)}": name for name in below.schema.names}
    return frozenset(names[name] for name in used if name in names)


def _by_join(node: Join, below: Node, used: Columns) -> Columns:
    return used if node.condition is None else used | columns_of(node.condition)


def _by_window(node: Windowed, below: Node, used: Columns) -> Columns:
    is_by_time = node.window.is_time_based and not node.window.partition
    return used if is_by_time else _everything(node, below, used)


_Groups: TypeAlias = GroupBy | SlicePartials | SharedSlices | WindowSynopsis | PeriodicSynopsis


def _by_groups(node: _Groups, below: Node, used: Columns) -> Columns:
    """Keys and arguments, where they are computed from rows and not from what was made of them before."""
    if isinstance(below_exchange(below), SharedSlices) or _is_ordered(node):
        return _everything(node, below, used)
    arguments = (argument for named in node.aggregates for argument in named.call.arguments)
    return _columns([*(key.expression for key in node.keys), *arguments])


def _is_ordered(node: _Groups) -> bool:
    """Whether the order of rows may matter, in which all values break ties."""
    if isinstance(node, WindowSynopsis) and node.by_rows:
        return True
    return any(named.call.user is not None or is_ordered(named.call) for named in node.aggregates)


def _columns(expressions: Iterable[Expression]) -> Columns:
    return frozenset().union(*(columns_of(expression) for expression in expressions))


_USED: ByKind[Callable[..., Columns]] = ByKind(
    {
        (Filter, IndexedSelection): _by_selection,
        Sort: _by_sort,
        Project: _by_projection,
        Exchange: _by_exchange,
        Alias: _by_alias,
        Join: _by_join,
        Windowed: _by_window,
        (GroupBy, SlicePartials, SharedSlices, WindowSynopsis, PeriodicSynopsis): _by_groups,
        (SemiJoin, AntiJoin, Union, Except, Intersect, Distinct, Limit, AppendOnly, OutputStream): _everything,
        (WithEnd, Numbered, EndWithParts, Stamped, RestoredInserts, RestoredAnswer): _everything,
        (SliceSummaries, SubWindows, LastSubWindows, MergeGroups, JoinSynopsis, *LOOKUPS): _everything,
    },
    never={(Stream, Table): "nothing is below a source"},
)
