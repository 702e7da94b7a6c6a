"""Semi-join and anti-join: rows of the left with a match on the right, or without one (EXISTS, IN, NOT EXISTS).

A key is *present* while the right has a row with it. A row of the left is in the semi-join while its key is present,
and in the anti-join while it is not. So a step sweeps over the right's begins and ends: a new row of the left comes out
when the state of its key at that instant is the wanted one, and when a key turns, all rows of the left with this key
that are alive come out or are taken back.

A semi-join over inputs that take nothing back (`weak`) need not take anything back either: what is present then comes
from δ*, with its ends, and the semi-join is a plain join with it.

With a residual condition presence belongs to the left row and not to a key: the right is then the left rows that the
inner join with the residual finds, and the key is the whole row. A null key matches nothing: such rows are never in the
semi-join, and always in the anti-join.

Costs a hash a row and a constant an event and a row that comes out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from windrow.batch.arrays import Bools, Int8s, Int64s, grown
from windrow.batch.batch import Batch, Segment, concat
from windrow.batch.compiled import compiled, inlined, prefetch
from windrow.batch.consolidation import consolidate, standing
from windrow.batch.words import any_null
from windrow.operators.joins.join import Join, JoinState, scanned
from windrow.operators.operator import Predicate, Remembers
from windrow.operators.sets.distinct import DistinctStar, DistinctStarState
from windrow.operators.sweep import events_of_all
from windrow.state import STRUCTURES, StructureKind
from windrow.state.row_keys import RowKeys
from windrow.state.snapshot import Part, Parts, Piece
from windrow.units import FOREVER

_AHEAD = 32  # keys whose counts memory is asked for before they are needed


class PresenceState(Parts):
    """The rows of the left and the keys of the right's, and with a residual the join that finds matches."""

    def __init__(self, spec: SemiJoin) -> None:
        self.found: JoinState | None = spec.finding.fresh_state() if spec.residual is not None else None
        self.left = STRUCTURES[spec.left_structure]()
        kind = spec.right_structure if spec.residual is None else StructureKind.CALENDAR
        self.right = STRUCTURES[kind]()
        self.unmatchable = STRUCTURES[spec.left_structure]()  # rows that an anti-join shows whatever comes
        sides = (self.left, spec.keys), (self.right, tuple(range(len(spec.keys))))
        self.keys = RowKeys(sides, nulls=spec.residual is not None)
        self.counts: Int64s = np.zeros(0, np.int64)  # by key: twice the rows on the right, and 1 if it is present

    def __len__(self) -> int:
        kept = len(self.left) + len(self.right) + len(self.unmatchable)
        return kept + (len(self.found) if self.found else 0)

    def parts(self) -> Mapping[str, Part]:
        found = {"found": self.found} if self.found is not None else {}
        return {**found, "left": self.left, "right": self.right, "unmatchable": self.unmatchable}

    def restore(self, pieces: Mapping[str, Piece]) -> None:
        """The rows know their keys, and counted by key they are the counts."""
        super().restore(pieces)
        self.keys.restore()
        ids, rows = self.right.scan()
        self.counts = grown(self.counts, self.keys.capacity)
        np.add.at(self.counts, ids, 2 * rows.sign.astype(np.int64))
        self.counts += self.counts > 0


class WeakSemiJoinState(Parts):
    """What is present on the right, the rows of the left, and with a residual the join that finds matches."""

    def __init__(self, spec: SemiJoin) -> None:
        self.found: JoinState | None = spec.finding.fresh_state() if spec.residual is not None else None
        self.present: DistinctStarState = spec.presence.fresh_state()
        self.matched: JoinState = spec.matching.fresh_state()

    def __len__(self) -> int:
        return len(self.present) + len(self.matched) + (len(self.found) if self.found else 0)

    def parts(self) -> Mapping[str, Part]:
        found = {"found": self.found} if self.found is not None else {}
        return {**found, "present": self.present, "matched": self.matched}


class PresenceChanges(NamedTuple):
    """Keys that become present, or absent, at an instant."""

    keys: Int64s
    times: Int64s
    present: Bools


@dataclass(frozen=True)
class SemiJoin:
    """`left_width` is how many columns the left has; `residual` sees left and right columns side by side.

    `weak` is for inputs that take nothing back: the right; with a residual both.
    """

    left_width: int
    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]
    residual: Predicate | None = None
    left_structure: StructureKind = StructureKind.CALENDAR
    right_structure: StructureKind = StructureKind.CALENDAR
    weak: bool = False

    remembers: ClassVar = Remembers.RESULTS

    @cached_property
    def keys(self) -> tuple[int, ...]:
        """The columns of the left whose presence decides: with a residual the whole row."""
        return self.left_keys if self.residual is None else tuple(range(self.left_width))

    @cached_property
    def finding(self) -> Join:
        """The inner join whose pairs are matches; needed with a residual only."""
        return Join(
            self.left_keys,
            self.right_keys,
            self.residual,
            left_structure=self.left_structure,
            right_structure=self.right_structure,
        )

    @cached_property
    def presence(self) -> DistinctStar:
        return DistinctStar()

    @cached_property
    def matching(self) -> Join:
        """The left with what is present."""
        return Join(
            self.keys,
            tuple(range(len(self.keys))),
            nulls_match=self.residual is not None,
            left_structure=self.left_structure,
        )

    def fresh_state(self) -> PresenceState | WeakSemiJoinState:
        return WeakSemiJoinState(self) if self.weak else PresenceState(self)

    def step(self, state: PresenceState | WeakSemiJoinState, inputs: Sequence[Batch], segment: Segment) -> Batch:
        if isinstance(state, PresenceState):
            return changes_by_presence(self, state, inputs, segment, wanted=True)
        candidates = self.candidates(state.found, inputs, segment)
        present = self.presence.step(state.present, (candidates,), segment)
        matched = self.matching.step(state.matched, (inputs[0], present), segment)
        return matched.with_columns(matched.columns[: self.left_width])

    def alive(self, state: PresenceState | WeakSemiJoinState, inputs: Sequence[Batch], at: int) -> Batch:
        if isinstance(state, PresenceState):
            return alive_by_presence(state, inputs[0], at, wanted=True)
        matched = self.matching.alive(state.matched, (inputs[0], inputs[1]), at)
        return matched.with_columns(matched.columns[: self.left_width])

    def candidates(self, found: JoinState | None, inputs: Sequence[Batch], segment: Segment) -> Batch:
        """The keys of the right; with a residual the left rows that have a match."""
        if found is None:
            right = inputs[1]
            return right.with_columns(right.select(self.right_keys)).sorted_by_time()
        pairs = self.finding.step(found, inputs, segment)
        return pairs.with_columns(pairs.columns[: self.left_width])


@dataclass(frozen=True)
class AntiJoin:
    """The rows of the left that the semi-join leaves."""

    semi: SemiJoin

    remembers: ClassVar = Remembers.RESULTS

    def fresh_state(self) -> PresenceState:
        return PresenceState(self.semi)

    def step(self, state: PresenceState, inputs: Sequence[Batch], segment: Segment) -> Batch:
        return changes_by_presence(self.semi, state, inputs, segment, wanted=False)

    def alive(self, state: PresenceState, inputs: Sequence[Batch], at: int) -> Batch:
        return alive_by_presence(state, inputs[0], at, wanted=False)


def alive_by_presence(state: PresenceState, like: Batch, at: int, wanted: bool) -> Batch:
    """The rows of the left whose keys are present, or absent, as `wanted`."""
    ids, rows = state.left.scan()
    shown = [like.slice(0, 0), rows.take((state.counts[ids] & 1 == 1) == wanted)] if len(rows) else [like.slice(0, 0)]
    if not wanted:
        shown.append(scanned(state.unmatchable, like))
    return standing(concat(shown), at)


def changes_by_presence(
    spec: SemiJoin, state: PresenceState, inputs: Sequence[Batch], segment: Segment, wanted: bool
) -> Batch:
    """The changes of the left's rows whose keys are present, or absent, as `wanted`."""
    candidates = spec.candidates(state.found, inputs, segment)
    left, never = _with_keys(inputs[0], spec.keys, state)
    right, _ = _with_keys(candidates, tuple(range(len(spec.keys))), state)
    left_ids = state.keys.intern(left, spec.keys)
    events = events_of_all(state.keys.intern(right, tuple(range(len(spec.keys)))), right, state.right, segment)
    state.counts = grown(state.counts, state.keys.capacity)
    keys, times, turned, present = _swept(events.time, events.key, events.change, left.ts, left_ids, state.counts)
    state.left.insert(left_ids, left)
    parts = [left if bool((present == wanted).all()) else left.take(present == wanted)]
    if not wanted and never is not None:
        parts.append(never)
        state.unmatchable.insert(np.zeros(len(never), np.int64), never)
    parts.append(_turned(state, PresenceChanges(keys, times, turned), left, wanted))
    for kept in (state.left, state.unmatchable):
        kept.drop_until(segment.end)
    state.keys.tidy()
    changes = concat(parts)
    if not left.is_positive and bool(np.isin(left.ts[left.sign < 0], times).any()):
        changes = consolidate(changes)  # rows that are taken back as their key turns have not changed
    return changes.sorted_by_time()


def _with_keys(rows: Batch, keys: tuple[int, ...], state: PresenceState) -> tuple[Batch, Batch | None]:
    """The rows that can match, and those that have a null in their keys."""
    if state.found is not None or all(column.valid is None for column in rows.select(keys)):
        return rows, None
    lost = any_null(rows.select(keys), len(rows))
    return rows.take(~lost), rows.take(lost)


def _turned(state: PresenceState, turns: PresenceChanges, like: Batch, wanted: bool) -> Batch:
    """The rows of the left that were there before their key turned, and still are: they come or are taken back."""
    positions, rows = state.left.probe(turns.keys, turns.times - 1, np.full(len(turns.keys), FOREVER, np.int64))
    times = turns.times[positions]
    met = (rows.ts < times) & (rows.exp > times)
    if not met.any():
        return like.slice(0, 0)
    rows, times, present = rows.take(met), times[met], turns.present[positions[met]]
    sign = np.where(present == wanted, rows.sign, -rows.sign).astype(np.int8)
    turned = Batch(rows.columns, times, rows.exp, sign)
    return turned if rows.is_positive else consolidate(turned)  # without rows that had been taken back before


@inlined
def _ask_ahead(keys: Int64s, place: int, counts: Int64s) -> None:
    """Ask memory for the count of a key that comes later."""
    if place + _AHEAD < len(keys):
        prefetch(counts, keys[place + _AHEAD])


@compiled
def _swept(
    time: Int64s, key: Int64s, change: Int8s, ts: Int64s, ids: Int64s, counts: Int64s
) -> tuple[Int64s, Int64s, Bools, Bools]:
    """The turns of keys (key, time, present from now on), and for each new row of the left whether its key is present.

    The events of an instant count together, and before the rows of the left that come at it.
    """
    keys, times, turned = np.empty(len(key), np.int64), np.empty(len(key), np.int64), np.empty(len(key), np.bool_)
    present = np.empty(len(ids), np.bool_)
    count, event, row = 0, 0, 0
    while event < len(time) or row < len(ts):
        now = time[event] if event < len(time) and (row == len(ts) or time[event] <= ts[row]) else ts[row]
        first = event
        while event < len(time) and time[event] == now:
            _ask_ahead(key, event, counts)
            counts[key[event]] += 2 * change[event]
            event += 1
        for i in range(first, event):
            was, now_present = counts[key[i]] & 1 == 1, counts[key[i]] >> 1 > 0
            if was != now_present:
                keys[count], times[count], turned[count] = key[i], now, now_present
                counts[key[i]] ^= 1
                count += 1
        while row < len(ts) and ts[row] == now:
            _ask_ahead(ids, row, counts)
            present[row] = counts[ids[row]] & 1 == 1
            row += 1
    return keys[:count], times[:count], turned[:count], present
