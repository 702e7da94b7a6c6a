"""Queries that select from rows by an index: in a segment that has no rows for them, nothing is done for them.

What stands above such a selection and remembers nothing gives nothing when nothing comes; a window of time remembers
rows only until they begin. So one match of a batch says which of thousands of queries have to be looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from windrow.operators import Projection, Selection, TimeWindow
from windrow.operators.selections.indexed_selection import IndexedSelection
from windrow.physical.physical_node import PhysicalNode
from windrow.runtime.stepping import Passes

_FORGETFUL = (IndexedSelection, Selection, Projection, TimeWindow)


class _QueriesOfIndex:
    """The queries that select from the same rows, by the number of their predicate in the index."""

    def __init__(self, rows: PhysicalNode, start: int) -> None:
        self._rows, self._start = rows, start
        self.by_number: dict[int, set[str]] = {}

    def with_rows(self, passes: Passes) -> Iterator[str]:
        """Those for which there are rows, or might be."""
        batch = passes.changes(self._rows, self._start)
        if batch is None or not len(batch):
            return
        assert self._rows.predicates is not None, self._rows
        matches = self._rows.predicates.match(batch)
        for number in self.by_number if matches is None else matches.slots():
            yield from self.by_number.get(number, ())


class IndexedQueries:
    def __init__(self) -> None:
        self._places: dict[str, tuple[tuple[int, int], int]] = {}  # by the id of the rows and a start; its number
        self._indexes: dict[tuple[int, int], _QueriesOfIndex] = {}
        self._windows: dict[str, tuple[PhysicalNode, ...]] = {}
        self._awake: set[str] = set()  # whose windows hold rows that have not begun

    def __contains__(self, name: str) -> bool:
        """Whether a query is only to be looked at when there are rows for it."""
        return name in self._places

    def add(self, name: str, root: PhysicalNode, start: int) -> None:
        self.remove(name)
        above = _above_selection(root)
        if above:
            below, operator = above[-1].inputs[0], above[-1].operator
            assert isinstance(operator, IndexedSelection), operator
            key, number = (id(below), start), operator.slot.number
            self._places[name] = key, number
            self._windows[name] = tuple(node for node in above if isinstance(node.operator, TimeWindow))
            self._awake.add(name)
            selecting = self._indexes.setdefault(key, _QueriesOfIndex(below, start))
            selecting.by_number.setdefault(number, set()).add(name)

    def remove(self, name: str) -> None:
        self._windows.pop(name, None)
        self._awake.discard(name)
        if name in self._places:
            key, number = self._places.pop(name)
            by_number = self._indexes[key].by_number
            by_number[number].discard(name)
            if not by_number[number]:
                del by_number[number]
            if not by_number:
                del self._indexes[key]

    def with_rows(self, passes: Passes) -> Iterator[str]:
        """Those for which there are rows, or might be, in a window or in what comes."""
        yield from self._awake
        for selecting in self._indexes.values():
            yield from selecting.with_rows(passes)

    def sleep(self, stepped: Iterable[str]) -> None:
        """After a step of some: those sleep whose windows hold nothing back."""
        self._awake = {name for name in stepped if any(len(node.state or ()) for node in self._windows.get(name, ()))}


def _above_selection(root: PhysicalNode) -> list[PhysicalNode]:
    """A selection by an index that gives all that comes out, last, and what is above it.

    None of these where something else is remembered than rows that have not begun.
    """
    above = [root]
    while len(root.inputs) == 1 and not root.held and isinstance(root.operator, _FORGETFUL):
        if isinstance(root.operator, IndexedSelection):
            return above
        root = root.inputs[0]
        above.append(root)
    return []
