"""External parts: what a result carries of them, so that beside INTERNAL windows it ends with them (thesis 3.3.2).

    WithEnd    one more column: the end of each tuple, null when there is none. For inputs whose ends are known.
    Numbered   one more column: a number that tells the tuples apart, for inputs that take tuples back.

Equal rows cannot be told apart in an answer. Of these the oldest is taken to leave first, as in every window on a
stream: the n-th copy that comes is the n-th that goes. So a copy is known by its row and n, and only two counters a row
are kept. Numbers are small and used again when a copy has gone. Costs two hashes a change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from windrow.batch.arrays import Int64s
from windrow.batch.batch import Batch, Segment, concat, inserts
from windrow.batch.column import Column
from windrow.operators.operator import Remembers
from windrow.operators.outputs.output_streams import NetChanges
from windrow.operators.sets.multiplicity import MultiplicityState
from windrow.state import StructureKind
from windrow.state.key_directory import KeyDirectory
from windrow.state.keyed_arrays import KeyedArrays
from windrow.state.snapshot import NoState, Part, Parts
from windrow.types import BIGINT, TIMESTAMP
from windrow.units import FOREVER


@dataclass(frozen=True)
class WithEnd:
    remembers: ClassVar = Remembers.THROUGH

    def fresh_state(self) -> NoState:
        return NoState()

    def step(self, state: NoState, inputs: Sequence[Batch], segment: Segment) -> Batch:
        (rows,) = inputs
        known = rows.exp != FOREVER
        end = Column(TIMESTAMP, np.where(known, rows.exp, 0), None if known.all() else known)
        return rows.with_columns((*rows.columns, end))


class NumberedState(Parts):
    """Net counts; for each row how many copies have come and gone; the copies that are there."""

    def __init__(self, counts: MultiplicityState) -> None:
        self.counts = counts
        self.rows = KeyDirectory()
        self.tally = KeyedArrays(come=np.int64, gone=np.int64)
        self.copies = KeyDirectory()

    def __len__(self) -> int:
        return len(self.counts) + len(self.copies)

    def parts(self) -> Mapping[str, Part]:
        return {"counts": self.counts, "rows": self.rows, "tally": self.tally, "copies": self.copies}


@dataclass(frozen=True)
class Numbered:
    """Every tuple comes out open, and is taken back by a negative tuple with the same number."""

    structure: StructureKind = StructureKind.CALENDAR

    remembers: ClassVar = Remembers.UNKNOWN

    @cached_property
    def net(self) -> NetChanges:
        return NetChanges(self.structure)

    def fresh_state(self) -> NumberedState:
        return NumberedState(self.net.fresh_state())

    def step(self, state: NumberedState, inputs: Sequence[Batch], segment: Segment) -> Batch:
        net = self.net.step(state.counts, inputs, segment)
        came = net.take(net.sign > 0)
        come = inserts(came.columns, came.ts)
        ends = np.where(net.sign > 0, net.exp, net.ts)
        left = net.take(ends != FOREVER)
        gone = inserts(left.columns, ends[ends != FOREVER]).sorted_by_time()
        keys = state.rows.intern(net.columns, len(net))
        state.tally.reserve(state.rows.capacity)
        come, gone = self._numbered(state, come, "come"), self._numbered(state, gone, "gone")
        state.copies.forget(gone.columns[-1].values)
        self._tidy(state, keys)
        return concat([come, gone.negated()]).sorted_by_time()

    def _numbered(self, state: NumberedState, rows: Batch, which: str) -> Batch:
        """The rows, in the order of time, with the numbers of the copies that they are."""
        keys, tally = state.rows.intern(rows.columns, len(rows)), state.tally[which]
        nth = tally[keys] + _rank(keys)
        np.add.at(tally, keys, 1)
        copies = state.copies.intern((*rows.columns, Column(BIGINT, nth)), len(rows))
        return rows.with_columns((*rows.columns, Column(BIGINT, copies)))

    def _tidy(self, state: NumberedState, keys: Int64s) -> None:
        """A row whose copies have all gone is forgotten: its count begins anew."""
        over = keys[state.tally["come"][keys] == state.tally["gone"][keys]]
        state.tally.clear(over)
        state.rows.forget(over)


def _rank(keys: Int64s) -> Int64s:
    """For each key how many equal ones come before it."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    first = np.ones(len(keys), np.bool_)
    first[1:] = ordered[1:] != ordered[:-1]
    starts = np.flatnonzero(first)
    rank = np.empty(len(keys), np.int64)
    rank[order] = np.arange(len(keys)) - np.repeat(starts, np.diff(np.append(starts, len(keys))))
    return rank
