"""Selection by a predicate index: the rows that satisfy a predicate, found along with those of all others over them.

Whoever takes many of these through the same batch has the index match it first. Rows that were not matched, such as
those that a new query begins with, are looked at one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from windrow.batch.batch import Batch, Segment
from windrow.operators.operator import Predicate, Remembers
from windrow.operators.selections.predicate_index import PredicateIndex, Slot
from windrow.state.snapshot import NoState


@dataclass(frozen=True, eq=False)
class IndexedSelection:
    """`remaining` is what the index does not know of the predicate."""

    index: PredicateIndex
    slot: Slot
    predicate: Predicate
    remaining: Predicate | None

    remembers: ClassVar = Remembers.THROUGH

    def fresh_state(self) -> NoState:
        return NoState()

    def step(self, state: NoState, inputs: Sequence[Batch], segment: Segment) -> Batch:
        (rows,) = inputs
        matches = self.index.known(rows)
        if matches is None:
            return _selected(rows, self.predicate)
        found = rows.take(matches.of(self.slot))
        return found if self.remaining is None or not len(found) else _selected(found, self.remaining)


def _selected(rows: Batch, predicate: Predicate) -> Batch:
    mask = predicate(rows)
    return rows if mask.all() else rows.take(mask)
