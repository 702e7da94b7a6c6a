"""What the synopses of built-in aggregates have in common: rows of words beside the elements' rings.

A synopsis says which rows it keeps of a ring, how they are made when elements come, and how a span of positions is
answered from them. All three are compiled loops over all groups at once. Each kind has loops of its own, though they
read alike: a loop that gets its step as an argument pays for a call per element, and one that is made for a step by a
function is never found on disk again, so that every process compiles it anew.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from windrow.batch.arrays import Array, Int64s, grown
from windrow.batch.column import Column
from windrow.synopses.positions.elements import Arrivals, Elements, RingMoves, Rings, Spans
from windrow.synopses.positions.synopsis import Synopsis
from windrow.synopses.positions.word_aggregates import WordAggregate
from windrow.synopses.positions.words import Layout, Operation, Words, widened


class WordSynopsis(Synopsis):
    """A synopsis of one aggregate; `rows_per_place` rows for every place of a ring."""

    rows_per_place = 1

    def __init__(self, aggregate: WordAggregate) -> None:
        self.aggregate = aggregate
        self.layout = aggregate.empty
        self.rows: Int64s = np.zeros((0, self.layout.width), np.int64)

    @property
    def nbytes(self) -> int:
        return self.rows.nbytes

    def insert(self, elements: Elements, arrivals: Arrivals, values: tuple[Column, ...]) -> None:
        """Take the values of elements in that have just got their positions."""
        rows = self._fitting(elements, self.aggregate.encode(values, len(arrivals.group)))
        self._insert_rows(arrivals, rows, self.operation, self.rings(elements))

    def lookup(self, elements: Elements, spans: Spans) -> Column:
        """The aggregate over each span of positions."""
        return self.aggregate.finish(Words(self.layout, self._lookup_rows(spans, self.operation, self.rings(elements))))

    def roll(self, elements: Elements, arrivals: Arrivals, values: tuple[Column, ...], spans: Spans) -> Column:
        """Take elements in, and look up for each of them a span that ends with it."""
        rows = self._fitting(elements, self.aggregate.encode(values, len(arrivals.group)))
        result = self._roll_rows(arrivals, rows, spans, self.operation, self.rings(elements))
        return self.aggregate.finish(Words(self.layout, result))

    def move(self, elements: Elements, moves: RingMoves) -> None:
        """Follow rings to their new places."""
        places = moves.places * self.rows_per_place
        new = np.zeros((places, self.layout.width), np.int64) if moves.packed else grown(self.rows, places)
        self._move_rows(elements, moves, self.rows, new)
        self.rows = new

    def written(self, elements: Elements, spans: Spans) -> Mapping[str, Array]:
        """Single elements, as `read` takes them in again."""
        rows = self._element_rows(spans, self.operation, self.rings(elements))
        return {"rows": rows, "layout": np.array(self.layout, np.int64)}

    def read(self, elements: Elements, arrivals: Arrivals, arrays: Mapping[str, Array]) -> None:
        layout = Layout(*arrays["layout"].tolist())
        rows = self._fitting(elements, Words(layout, arrays["rows"]))
        self._insert_rows(arrivals, rows, self.operation, self.rings(elements))

    def rings(self, elements: Elements) -> Rings:
        return elements.rings._replace(rows=self.rows)

    @property
    def operation(self) -> Operation:
        return self.aggregate.operation(self.layout)

    def _fitting(self, elements: Elements, came: Words) -> Int64s:
        """Rows that come, in a layout that they and those that are kept fit into."""
        layout = self.layout.covering(came.layout)
        if layout != self.layout:
            self._widen(elements, layout)
        return widened(came.rows, came.layout, layout)

    def _widen(self, elements: Elements, layout: Layout) -> None:
        self.rows = widened(self.rows, self.layout, layout)
        self.layout = layout

    def _insert_rows(self, arrivals: Arrivals, rows: Int64s, operation: Operation, rings: Rings) -> None:
        raise NotImplementedError

    def _lookup_rows(self, spans: Spans, operation: Operation, rings: Rings) -> Int64s:
        raise NotImplementedError

    def _roll_rows(self, arrivals: Arrivals, rows: Int64s, spans: Spans, operation: Operation, rings: Rings) -> Int64s:
        """Those that answer windows that ended earlier take all elements in first."""
        self._insert_rows(arrivals, rows, operation, rings)
        return self._lookup_rows(spans, operation, rings)

    def _element_rows(self, spans: Spans, operation: Operation, rings: Rings) -> Int64s:
        """The rows of single elements, position by position."""
        raise NotImplementedError

    def _move_rows(self, elements: Elements, moves: RingMoves, old: Int64s, new: Int64s) -> None:
        raise NotImplementedError
