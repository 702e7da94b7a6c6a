"""Which groups are computed from slices: rows of a periodic window that begin and end together are put together first.

Between two edges of a periodic window nothing is looked at, so all rows of a group in it can be replaced by one partial
result (thesis 2.2.1; panes). It takes aggregates that merge from parts, and rows that come straight from a stream.
"""

from __future__ import annotations

from windrow.plan.expressions import AggregateCall
from windrow.plan.nodes import Filter, GroupBy, Node, Project, Stream, Windowed
from windrow.types import DecimalType

_MERGED = frozenset({"COUNT", "SUM", "AVG", "MIN", "MAX"})
_MOST_DIGITS = 18  # of decimals that are held in one word


def is_sliced(node: GroupBy) -> bool:
    """Whether partial results of slices are merged into the groups."""
    return _gives_slices(node.input) and all(_merges(named.call) for named in node.aggregates)


def _gives_slices(node: Node) -> bool:
    if isinstance(node, Filter | Project):
        return _gives_slices(node.input)
    if not isinstance(node, Windowed) or not isinstance(node.window.slide, int) or node.window.internal:
        return False
    return isinstance(node.input, Stream) and node.input.lifetime is None and node.window.is_time_based


def _merges(call: AggregateCall) -> bool:
    if call.distinct or call.function not in _MERGED:
        return False
    types = [argument.type for argument in call.arguments]
    return not any(isinstance(of, DecimalType) and of.precision > _MOST_DIGITS for of in types)
