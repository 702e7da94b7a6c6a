"""What a synopsis keeps of the elements for one aggregate: the verbs that `SharedSynopsis` calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from windrow.batch.arrays import Array
from windrow.batch.column import Column
from windrow.synopses.positions.elements import Arrivals, Elements, RingMoves, Spans


class Synopsis(Protocol):
    @property
    def nbytes(self) -> int: ...

    def insert(self, elements: Elements, arrivals: Arrivals, values: tuple[Column, ...]) -> None: ...

    def lookup(self, elements: Elements, spans: Spans) -> Column: ...

    def roll(self, elements: Elements, arrivals: Arrivals, values: tuple[Column, ...], spans: Spans) -> Column:
        """Take elements in, and look up for each of them a span that ends with it."""
        self.insert(elements, arrivals, values)
        return self.lookup(elements, spans)

    def move(self, elements: Elements, moves: RingMoves) -> None: ...

    def written(self, elements: Elements, spans: Spans) -> Mapping[str, Array]:
        """Single elements, as `read` takes them in again."""
        ...

    def read(self, elements: Elements, arrivals: Arrivals, arrays: Mapping[str, Array]) -> None: ...
