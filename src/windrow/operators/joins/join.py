"""The window join: pairs of rows with equal keys, while both are alive (thesis 2.2.2; 5.2 for its shape).

Lifetimes make the join bilinear: a pair lives in the intersection of its parts' lifetimes, and its sign is the product
of theirs. So one kernel serves every update pattern, a negative tuple being one more signed interval, and a whole
segment is joined at once:

    new pairs = new left × (old and new right)  +  old left × new right

A pair's ts is the later of the two, which lies in the segment since one part is new. Tuples that end by the segment's
end cannot meet anything later and are dropped. Costs one hash a row and a constant a pair.

The residual is what equality of keys leaves of the condition: bands, inequalities, anything on the pair's columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from windrow.batch.arrays import Int64s
from windrow.batch.batch import Batch, Segment, concat
from windrow.batch.consolidation import standing
from windrow.batch.words import any_null
from windrow.operators.operator import Predicate, Remembers
from windrow.state import STRUCTURES, Structure, StructureKind
from windrow.state.row_keys import RowKeys
from windrow.state.snapshot import Part, Parts, Piece


class Pairs(NamedTuple):
    """What a step finds: pairs of the left's new rows, with their positions in the left input, and of its old ones."""

    of_new_left: Batch
    positions: Int64s
    of_old_left: Batch


class JoinState(Parts):
    """Both inputs' live rows, under ids that equal keys share."""

    def __init__(self, spec: Join) -> None:
        self.left = STRUCTURES[spec.left_structure]()
        self.right = STRUCTURES[spec.right_structure]()
        sides = (self.left, spec.left_keys), (self.right, spec.right_keys)
        self.keys = RowKeys(sides, nulls=spec.nulls_match)

    def __len__(self) -> int:
        return len(self.left) + len(self.right)

    def parts(self) -> Mapping[str, Part]:
        return {"left": self.left, "right": self.right}

    def restore(self, pieces: Mapping[str, Piece]) -> None:
        super().restore(pieces)
        self.restore_keys()

    def restore_keys(self) -> None:
        """The rows know their keys, so the table of keys is made from them."""
        self.keys.restore()


@dataclass(frozen=True)
class Join:
    """No keys at all means every pair. A null equals nothing, unless `nulls_match` (IS NOT DISTINCT FROM)."""

    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]
    residual: Predicate | None = None
    nulls_match: bool = False
    left_structure: StructureKind = StructureKind.CALENDAR
    right_structure: StructureKind = StructureKind.CALENDAR

    remembers: ClassVar = Remembers.RESULTS

    def fresh_state(self) -> JoinState:
        return JoinState(self)

    def step(self, state: JoinState, inputs: Sequence[Batch], segment: Segment) -> Batch:
        found = self.pairs(state, inputs, segment)
        pairs = concat([found.of_new_left, found.of_old_left])
        if self.residual is not None and len(pairs):
            pairs = pairs.take(self.residual(pairs))
        return pairs.sorted_by_time()

    def alive(self, state: JoinState, inputs: Sequence[Batch], at: int) -> Batch:
        """All pairs of what is kept, as if both sides had come in one segment."""
        sides = [scanned(side, like) for side, like in zip((state.left, state.right), inputs, strict=True)]
        return standing(self.step(self.fresh_state(), sides, Segment(at - 1, at)), at)

    def pairs(self, state: JoinState, inputs: Sequence[Batch], segment: Segment) -> Pairs:
        """The pairs with equal keys; both inputs become part of the state."""
        left, left_ids, places = self._identify(state, inputs[0], self.left_keys)
        right, right_ids, _ = self._identify(state, inputs[1], self.right_keys)
        state.right.insert(right_ids, right)
        positions, new_left, partners = _matches(left, left_ids, state.right, right)
        of_new_left = partners.with_columns(new_left.columns + partners.columns).signed_by(new_left)
        _, new_right, partners = _matches(right, right_ids, state.left, left)
        of_old_left = partners.with_columns(partners.columns + new_right.columns).signed_by(new_right)
        state.left.insert(left_ids, left)
        for side in (state.left, state.right):
            side.drop_until(segment.end)
        state.keys.tidy()
        return Pairs(of_new_left, positions if places is None else places[positions], of_old_left)

    def _identify(self, state: JoinState, rows: Batch, keys: tuple[int, ...]) -> tuple[Batch, Int64s, Int64s | None]:
        """The rows that can match, the ids of their keys, and where they were when some have been left out."""
        places = None
        if not self.nulls_match and any(column.valid is not None for column in rows.select(keys)):
            places = np.flatnonzero(~any_null(rows.select(keys), len(rows)))
            rows = rows.take(places)
        return rows, state.keys.intern(rows, keys), places


def scanned(kept: Structure, like: Batch) -> Batch:
    """All rows of a structure; `like` gives the columns when there are none."""
    rows = kept.scan().rows
    return rows if len(rows) else like.slice(0, 0)


def _matches(rows: Batch, ids: Int64s, other: Structure, like: Batch) -> tuple[Int64s, Batch, Batch]:
    """Positions of rows, the rows, and their partners in the other input's state, which has the columns of `like`."""
    positions, partners = other.probe(ids, rows.ts, rows.exp)
    return positions, rows.take(positions), partners if len(partners) else like.slice(0, 0)
