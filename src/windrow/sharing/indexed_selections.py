"""Many selections over the same rows: an index of their predicates finds who gets a row, instead of each looking.

What a row costs then depends on how many predicates it satisfies, not on how many there are. A selection of rows in a
window of time is done before the window, so that windows of all lengths share the index. A selection names its own
predicate and nothing of the others, so that queries come and go without a change in the plans of others; how many there
are is only asked when a query starts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from windrow.plan.analysis.column_bounds import demands_of
from windrow.plan.analysis.per_node import per_node
from windrow.plan.expressions import Expression
from windrow.plan.nodes import Filter, Node, Stream, Windowed
from windrow.plan.rewrite import bottom_up
from windrow.plan.running_nodes import IndexedSelection, SubWindows
from windrow.plan.strategy import Strategy
from windrow.sharing.starting import Plans, Starting

WORTH_AN_INDEX = 16  # selections; fewer are quicker one by one (docs/benchmarks.md)


class _SelectionOfRows(NamedTuple):
    """A selection whose predicate is in an index of the predicates over some rows, or could be."""

    rows: Node
    predicate: Expression
    is_indexed: bool


def with_indexed_selections(plans: Plans, starting: Starting) -> Plans:
    """With an index wherever there are enough selections, those that run included.

    Under NT windows remember rows to take them back: one for all is better than one for each selection.
    """
    if starting.strategy is Strategy.NT:
        return plans
    looked_up = {query.name for query in starting.queries if query.is_looked_up}
    emitting = {name: plan for name, plan in plans.items() if name not in looked_up}
    running = frozenset[_SelectionOfRows]().union(*map(_selections, starting.running))
    new = frozenset[_SelectionOfRows]().union(*map(_selections, emitting.values()))
    count = Counter(one.rows for one in {one._replace(is_indexed=True) for one in running | new})

    def rule(node: Node) -> Node | None:
        found = _selected(node)
        if found is None or found.is_indexed or found in running:  # what runs in one way is shared in this way
            return None
        indexed = found._replace(is_indexed=True)
        if count[found.rows] < WORTH_AN_INDEX and indexed not in running:
            return None
        selection = IndexedSelection(found.rows, found.predicate)
        return selection if found.rows == node.inputs[0] else node.inputs[0].with_inputs(selection)

    return {**plans, **{name: bottom_up(plan, rule) for name, plan in emitting.items()}}


@per_node
def _selections(plan: Node) -> frozenset[_SelectionOfRows]:
    """Those of a plan whose predicates are in an index, or could be."""
    return frozenset(found for node in plan.walk() if (found := _selected(node)) is not None)


def _selected(node: Node) -> _SelectionOfRows | None:
    if isinstance(node, IndexedSelection):
        return _SelectionOfRows(node.input, node.predicate, True)
    if not isinstance(node, Filter) or not isinstance(node.input, Stream | Windowed | SubWindows):
        return None
    if not demands_of(node.predicate).bounds:
        return None
    below = node.input
    moves = isinstance(below, Windowed) and _keeps_rows(below)
    return _SelectionOfRows(below.inputs[0] if moves else below, node.predicate, False)


def _keeps_rows(window: Windowed) -> bool:
    """Whether how long a row is in a window depends on its time alone."""
    rows = window.input
    by_time = window.window.is_time_based or window.window.is_open
    return by_time and isinstance(rows, Stream) and rows.lifetime is None and not rows.punctuated


def others_in_index(query: str, node: IndexedSelection, running: Mapping[str, Node]) -> Iterator[str]:
    """The queries that have a predicate in the same index."""
    for name, plan in running.items():
        if name != query and any(isinstance(one, IndexedSelection) and one.input == node.input for one in plan.walk()):
            yield name
