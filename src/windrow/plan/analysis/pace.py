"""Which parts of a plan move with the streams of who reads them, instead of with those below them alone.

The time of an operator begins with the first row of the streams below it, and runs out with the last of them. That
changes nothing for what only reacts to rows. But a table has contents before any row comes, COUNT(*) of nothing is 0
from the first instant on, and RSTREAM repeats an answer for as long as anybody listens: these go by the time of their
reader (`physical/lowering/paces.py`). So do numbers of tuples, which are used again when their tuples have ended:
whoever follows them must not be behind.
"""

from __future__ import annotations

from collections.abc import Callable

from windrow.plan import nodes, running_nodes
from windrow.plan.analysis.per_node import per_node
from windrow.plan.analysis.refreshes import refresh_interval
from windrow.plan.by_kind import ByKind
from windrow.plan.nodes import JoinKind, Node, OutputKind


def moves_with_reader(node: Node) -> bool:
    return tells_before_rows(node) or tells_after_rows(node) or _has_numbers(node)


@per_node
def tells_before_rows(node: Node) -> bool:
    """Whether there may be results before the first row of any stream."""
    return _BEFORE[node](node)


@per_node
def tells_after_rows(node: Node) -> bool:
    """Whether results may still begin by the clock alone when every window has let its rows go."""
    repeats = isinstance(node, running_nodes.RestoredAnswer)
    repeats = repeats or (isinstance(node, nodes.OutputStream) and node.kind is OutputKind.RSTREAM)
    repeats = repeats or (isinstance(node, nodes.AppendOnly) and refresh_interval(node) is not None)
    return repeats or any(map(tells_after_rows, node.inputs))


@per_node
def _has_numbers(node: Node) -> bool:
    return isinstance(node, running_nodes.Numbered) or any(map(_has_numbers, node.inputs))


def _always(node: Node) -> bool:
    return True


def _any(node: Node) -> bool:
    return any(map(tells_before_rows, node.inputs))


def _all(node: Node) -> bool:
    return all(map(tells_before_rows, node.inputs))


def _left(node: Node) -> bool:
    return tells_before_rows(node.inputs[0])


def _join(node: nodes.Join) -> bool:
    left, right = map(tells_before_rows, node.inputs)
    kept = {JoinKind.INNER: left and right, JoinKind.LEFT: left, JoinKind.RIGHT: right, JoinKind.FULL: left or right}
    return kept[node.kind]


def _grouped(node: nodes.GroupBy | running_nodes.MergeGroups) -> bool:
    return not node.keys or _any(node)


_BEFORE: ByKind[Callable[..., bool]] = ByKind(
    {
        nodes.Stream: _any,
        nodes.Table: _always,
        nodes.Join: _join,
        (nodes.SemiJoin, nodes.Intersect): _all,
        (nodes.AntiJoin, nodes.Except): _left,
        (nodes.GroupBy, running_nodes.MergeGroups): _grouped,
        (nodes.Windowed, nodes.Filter, nodes.Project, nodes.Alias, nodes.Sort, nodes.Union, nodes.Distinct): _any,
        (nodes.Limit, nodes.AppendOnly, nodes.OutputStream): _any,
        (running_nodes.WithEnd, running_nodes.Numbered, running_nodes.EndWithParts, running_nodes.Stamped): _any,
        (running_nodes.RestoredAnswer, running_nodes.RestoredInserts): _any,
        (running_nodes.Exchange, running_nodes.IndexedSelection): _any,
        (running_nodes.SlicePartials, running_nodes.SharedSlices, running_nodes.SliceSummaries): _any,
        (running_nodes.SubWindows, running_nodes.LastSubWindows): _any,
        (running_nodes.WindowSynopsis, running_nodes.JoinSynopsis, running_nodes.PeriodicSynopsis): _any,
        (running_nodes.PeriodicLookup, running_nodes.WindowLookup, running_nodes.JoinLookup): _any,
    }
)
