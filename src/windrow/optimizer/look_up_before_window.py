"""A non-retroactive table is looked up before a window that shows rows later than they come.

The table is looked up as it is when the tuple begins. Under a window of time that slides, or that ended some time ago,
a tuple begins later than its row came, and would meet changes that came in between. Such a window looks at times only,
so it can stand above the join as well as below it (thesis 3.3.1: the table at the time of the stream tuple).
"""

from __future__ import annotations

from windrow.plan.analysis.relations import is_non_retroactive
from windrow.plan.nodes import Alias, AntiJoin, Filter, Join, Node, Project, SemiJoin, Sort, Stream, Windowed
from windrow.plan.windows import RangeAgo, Window


def look_up_before_window(node: Node) -> Node | None:
    if not isinstance(node, Join | SemiJoin | AntiJoin):
        return None
    if is_non_retroactive(node.left) == is_non_retroactive(node.right):
        return None
    table_first = is_non_retroactive(node.left)
    found = _without_window(node.right if table_first else node.left)
    if found is None:
        return None
    rows, window = found
    return Windowed(node.with_inputs(node.left, rows) if table_first else node.with_inputs(rows, node.right), window)


def _without_window(node: Node) -> tuple[Node, Window] | None:
    """The rows of a window that shows them later, before they are in it, and the window."""
    if isinstance(node, Filter | Project | Alias | Sort):
        found = _without_window(node.input)
        return None if found is None else (node.with_inputs(found[0]), found[1])
    if not isinstance(node, Windowed) or not isinstance(node.input, Stream) or node.input.lifetime is not None:
        return None
    window = node.window
    begins_later = isinstance(window.slide, int) or isinstance(window.extent, RangeAgo)
    return (node.input, window) if window.is_time_based and begins_later else None
