"""What the synopses of built-in aggregates have in common: rows of words beside the elements' rings.

A synopsis says which rows it keeps of a ring, how they are made when elements come, and how a span of positions is
answered from them. All three are compiled loops over all groups at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from windrow.batch.arrays import Array, Int64s, grown
from windrow.batch.column import Column
from windrow.synopses.positions.elements import Arrivals, Elements, RingMoves, Spans
from windrow.synopses.positions.synopsis import Synopsis
from windrow.synopses.positions.word_aggregates import WordAggregate
from windrow.synopses.positions.words import Layout, Words, widened


class Ring(NamedTuple):
    """Where the rings of groups are, for a compiled loop; `rows` are the synopsis's own."""

    offset: Int64s
    size: Int64s
    first: Int64s
    next: Int64s
    rows: Int64s


class Operation(NamedTuple):
    """How rows are merged, for a compiled loop."""

    operation: int
    plain: int
    ranks: Int64s


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
        self._inserted(self.ring(elements), self.how, arrivals, rows)

    def lookup(self, elements: Elements, spans: Spans) -> Column:
        """The aggregate over each span of positions."""
        return self.aggregate.finish(Words(self.layout, self._found(self.ring(elements), self.how, spans)))

    def roll(self, elements: Elements, arrivals: Arrivals, values: tuple[Column, ...], spans: Spans) -> Column:
        """Take elements in, and look up for each of them a span that ends with it."""
        rows = self._fitting(elements, self.aggregate.encode(values, len(arrivals.group)))
        found = self._rolled(self.ring(elements), self.how, arrivals, rows, spans)
        return self.aggregate.finish(Words(self.layout, found))

    def move(self, elements: Elements, moves: RingMoves) -> None:
        """Follow rings to their new places."""
        places = moves.places * self.rows_per_place
        new = np.zeros((places, self.layout.width), np.int64) if moves.packed else grown(self.rows, places)
        self._moved(elements, moves, self.rows, new)
        self.rows = new

    def written(self, elements: Elements, spans: Spans) -> Mapping[str, Array]:
        """Single elements, as `read` takes them in again."""
        rows = self._single(self.ring(elements), self.how, spans)
        return {"rows": rows, "layout": np.array(self.layout, np.int64)}

    def read(self, elements: Elements, arrivals: Arrivals, arrays: Mapping[str, Array]) -> None:
        layout = Layout(*arrays["layout"].tolist())
        rows = self._fitting(elements, Words(layout, arrays["rows"]))
        self._inserted(self.ring(elements), self.how, arrivals, rows)

    def ring(self, elements: Elements) -> Ring:
        return Ring(elements.offset, elements.size, elements.first, elements.next, self.rows)

    @property
    def how(self) -> Operation:
        return Operation(self.layout.operation, self.layout.plain, self.aggregate.ranks)

    def _fitting(self, elements: Elements, came: Words) -> Int64s:
        """Rows that come, in a layout that they and those that are kept fit into."""
        layout = self.layout.covering(came.layout)
        if layout != self.layout:
            self._widen(elements, layout)
        return widened(came.rows, came.layout, layout)

    def _widen(self, elements: Elements, layout: Layout) -> None:
        self.rows = widened(self.rows, self.layout, layout)
        self.layout = layout

    def _inserted(self, ring: Ring, how: Operation, arrivals: Arrivals, rows: Int64s) -> None:
        raise NotImplementedError

    def _found(self, ring: Ring, how: Operation, spans: Spans) -> Int64s:
        raise NotImplementedError

    def _rolled(self, ring: Ring, how: Operation, arrivals: Arrivals, rows: Int64s, spans: Spans) -> Int64s:
        """Those that answer windows that ended earlier take all elements in first."""
        self._inserted(ring, how, arrivals, rows)
        return self._found(ring, how, spans)

    def _single(self, ring: Ring, how: Operation, spans: Spans) -> Int64s:
        """The rows of single elements, position by position."""
        raise NotImplementedError

    def _moved(self, elements: Elements, moves: RingMoves, old: Int64s, new: Int64s) -> None:
        raise NotImplementedError
