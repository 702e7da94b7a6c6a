"""Operators that learn which keys are closed, and then let go of the state of these keys only.

A *closing* is a key and a time: after it no change with this key comes on an edge, neither a row nor a negative tuple;
a *final* one says that no row with this key ends any more either. Closings travel beside the changes of an edge, as
batches of their key columns. They change nothing that comes out, only what is kept (Tucker et al. 2003; thesis 2.2):

    join        rows of the other side with a closed key will never meet anything new
    group-by    a group with a closed key has emitted its final value
    partitions  the rows of a closed key stay in view for ever

Each operator here does what the one it wraps does, and then forgets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from windrow.aggregates.aggregate import Clearable
from windrow.batch.arrays import Int64s
from windrow.batch.batch import Batch, Segment, inserts
from windrow.batch.key_table import ABSENT, KeyTable
from windrow.batch.words import words_of
from windrow.operators.groups.group_by import GroupBy, GroupByState
from windrow.operators.joins.join import Join, JoinState
from windrow.operators.operator import Remembers
from windrow.operators.windows.partition_window import PartitionWindow, PartitionWindowState, PredicateWindow
from windrow.state.key_directory import KeyDirectory
from windrow.state.keyed_arrays import KeyedArrays
from windrow.state.snapshot import Part, Parts, Piece
from windrow.state.structure import Structure


class PunctuatedJoinState(Parts):
    """The join's own, and the keys that one input has closed while rows of the other may still come."""

    def __init__(self, join: Join) -> None:
        self.join: JoinState = join.fresh_state()
        self.left_closed, self.right_closed = KeyDirectory(), KeyDirectory()

    def __len__(self) -> int:
        return len(self.join)

    def parts(self) -> Mapping[str, Part]:
        return {"left_closed": self.left_closed, "right_closed": self.right_closed, **self.join.parts()}

    def restore(self, pieces: Mapping[str, Piece]) -> None:
        super().restore(pieces)
        self.join.restore_keys()


@dataclass(frozen=True)
class PunctuatedJoin:
    """Inputs are left, right, and the closings of those that have some; their columns are the join's keys in order."""

    join: Join
    left: bool
    right: bool

    remembers: ClassVar = Remembers.UNKNOWN

    def fresh_state(self) -> PunctuatedJoinState:
        return PunctuatedJoinState(self.join)

    def step(self, state: PunctuatedJoinState, inputs: Sequence[Batch], segment: Segment) -> Batch:
        left, right = inputs[:2]
        pairs = self.join.step(state.join, (left, right), segment)
        if self.left:
            self._forget(state, state.join.right, state.left_closed, inputs[2], right, self.join.right_keys)
        if self.right:
            self._forget(state, state.join.left, state.right_closed, inputs[-1], left, self.join.left_keys)
        if any(map(len, inputs[2:])):
            _forget_both(state.left_closed, state.right_closed)
        return pairs

    def _forget(
        self,
        state: PunctuatedJoinState,
        kept: Structure,
        closed: KeyDirectory,
        closings: Batch,
        came: Batch,
        keys: tuple[int, ...],
    ) -> None:
        """Let go of rows whose partners are closed: those kept when the key is closed, and those that came since."""
        if not len(closings) and not len(closed):
            return
        if len(closings):
            closed.intern(closings.columns, len(closings))
        later = came.take(closed.knows(words_of(came.select(keys), len(came))))
        found = state.join.keys.find(closings, tuple(range(len(keys)))), state.join.keys.find(later, keys)
        ids = np.unique(np.concatenate(found))
        kept.forget(ids[ids != ABSENT])
        state.join.keys.tidy()


def _forget_both(one: KeyDirectory, other: KeyDirectory) -> None:
    """Of a key that both inputs have closed no row comes any more; nothing has to be known about it."""
    known = one.known()
    if not len(known) or not len(other):
        return
    columns = one.columns(known)
    both = known[other.knows(words_of(columns, len(known)))]
    other.forget(other.find(columns, len(known)))
    one.forget(both)


class ClosedOnBothState(Parts):
    """Keys that one input has closed and the other has not."""

    def __init__(self) -> None:
        self.keys = KeyDirectory()
        self.closed = KeyedArrays(left=np.bool_, right=np.bool_)

    def __len__(self) -> int:
        return 0

    def parts(self) -> Mapping[str, Part]:
        return {"keys": self.keys, "closed": self.closed}


@dataclass(frozen=True)
class ClosedOnBoth:
    """The closings of a join's results: keys that both inputs have closed."""

    remembers: ClassVar = Remembers.UNKNOWN

    def fresh_state(self) -> ClosedOnBothState:
        return ClosedOnBothState()

    def step(self, state: ClosedOnBothState, inputs: Sequence[Batch], segment: Segment) -> Batch:
        for name, closings in zip(("left", "right"), inputs, strict=True):
            ids = state.keys.intern(closings.columns, len(closings))
            state.closed.reserve(state.keys.capacity)
            state.closed[name][ids] = True
        known = state.keys.known()
        both = known[state.closed["left"][known] & state.closed["right"][known]]
        if not len(both):
            return inputs[0].slice(0, 0)
        closings = inserts(state.keys.columns(both), np.full(len(both), segment.end - 1, np.int64))
        state.closed.clear(both)
        state.keys.forget(both)
        return closings


@dataclass(frozen=True)
class PunctuatedGroupBy:
    """Inputs are the rows and their final closings, whose columns are the group's keys at some `places`."""

    group_by: GroupBy
    places: tuple[int, ...]

    remembers: ClassVar = Remembers.UNKNOWN

    def fresh_state(self) -> GroupByState:
        return self.group_by.fresh_state()

    def step(self, state: GroupByState, inputs: Sequence[Batch], segment: Segment) -> Batch:
        rows, closings = inputs
        output = self.group_by.step(state, (rows,), segment)
        if len(closings) and all(isinstance(accumulator, Clearable) for accumulator in state.accumulators):
            self._forget(state, _with_part(state.groups, self.places, closings))
        return output

    def _forget(self, state: GroupByState, groups: Int64s) -> None:
        """The rows that the groups show stay shown: nothing takes them back."""
        for part in (state.rows, state.shown, *state.accumulators):
            assert isinstance(part, Clearable)
            part.clear(groups)
        state.groups.forget(groups)


@dataclass(frozen=True)
class PunctuatedPartitions:
    """Inputs are the rows and their closings, whose columns are those of the partition at some `places`."""

    window: PartitionWindow | PredicateWindow
    places: tuple[int, ...]

    remembers: ClassVar = Remembers.UNKNOWN

    def fresh_state(self) -> PartitionWindowState:
        return self.window.fresh_state()

    def step(self, state: PartitionWindowState, inputs: Sequence[Batch], segment: Segment) -> Batch:
        rows, closings = inputs
        output = self.window.step(state, (rows,), segment)
        if len(closings):
            partitions = _with_part(state.keys, self.places, closings)
            state.lines.forget(partitions)
            state.keys.forget(partitions)
        return output


def _with_part(keys: KeyDirectory, places: tuple[int, ...], closings: Batch) -> Int64s:
    """The ids of known keys whose values at some places are closed; looks at all keys, unless they are all places."""
    known = keys.known()
    if not len(known):
        return known
    whole = keys.columns(known)
    if places == tuple(range(len(whole))):
        return np.unique(keys.find(closings.columns, len(closings)))
    closed = KeyTable()
    closed.intern(words_of(closings.columns, len(closings)))
    parts = words_of([whole[place] for place in places], len(known))
    return np.asarray(known[closed.find(parts) != ABSENT])
