"""ORDER BY ... LIMIT as a maintained view: at every instant the first rows of the answer.

Rows are ordered by the sort keys and then by their values in column order, so the first rows are always the same ones.
Inside a segment every row that is or was present gets a rank once; after each instant the copies at ranks below the
limit are compared with those shown. Costs a sort of the rows present for each segment in which something happens, and
the limit for each instant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from windrow.batch.arrays import Array, Int8s, Int64s
from windrow.batch.batch import Batch, Segment
from windrow.batch.column import WIDE, Column, order_of
from windrow.batch.compiled import compiled
from windrow.operators.multiplicity import MultiplicityState
from windrow.operators.operator import Expression
from windrow.operators.sweep import events_of
from windrow.state import StructureKind
from windrow.units import FOREVER


@dataclass(frozen=True)
class SortKey:
    expression: Expression
    descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class Limit:
    keys: tuple[SortKey, ...]
    count: int
    offset: int = 0
    structure: StructureKind = StructureKind.HASH

    def fresh_state(self) -> MultiplicityState:
        return MultiplicityState((self.structure,))

    def step(self, state: MultiplicityState, inputs: Sequence[Batch], segment: Segment) -> Batch:
        (rows,) = inputs
        ids = state.rows.intern(rows.columns, len(rows))
        events = events_of(ids, rows.with_columns(()), state.ends[0], segment)
        state.counts.reserve(state.rows.capacity)
        if not len(events.time):
            return rows.slice(0, 0)
        known = state.rows.known()
        ranks = self._ranks(state, known)
        counts, shown = state.counts["left"], state.counts["shown"]
        copies = _sweep(events.time, ranks[events.key], events.change, known, counts, shown, self.offset, self.count)
        columns = state.rows.columns(copies[0]) if len(copies[0]) else rows.slice(0, 0).columns
        gone = (counts[known] == 0) & (shown[known] == 0)
        state.rows.forget(known[gone])
        return Batch(columns, copies[1], copies[2], copies[3]).sorted_by_time()

    def _ranks(self, state: MultiplicityState, known: Int64s) -> Int64s:
        """Sorts `known` by rank, in place, and gives the rank of each id."""
        columns = state.rows.columns(known)
        present = Batch(
            columns, np.zeros(len(known), np.int64), np.zeros(len(known), np.int64), np.ones(len(known), np.int8)
        )
        words: list[Array] = []
        for key in self.keys:
            words += _words(key.expression(present), key.descending, key.nulls_first)
        for column in columns:
            words += _words(column, False, True)
        if words:
            known[:] = known[np.lexsort(tuple(reversed(words)))]
        ranks = np.zeros(state.rows.capacity, np.int64)
        ranks[known] = np.arange(len(known))
        return ranks


def _words(column: Column, descending: bool, nulls_first: bool) -> list[Array]:
    """What to sort by, the most important first; nulls apart from the values."""
    values = [column.values["hi"], column.values["lo"]] if column.values.dtype == WIDE else [order_of(column)]
    if descending:
        values = [~word for word in values]
    if column.valid is None:
        return values
    return [column.valid if nulls_first else ~column.valid, *values]


@compiled
def _sweep(
    time: Int64s,
    rank: Int64s,
    change: Int8s,
    ids: Int64s,
    counts: Int64s,
    shown: Int64s,
    offset: int,
    limit: int,
) -> tuple[Int64s, Int64s, Int64s, Int8s]:
    """The copies that come and go: row id, ts, exp, sign. `ids` is in the order of ranks."""
    room = 16
    out = np.empty(room, np.int64)
    begins = np.empty(room, np.int64)
    ends = np.empty(room, np.int64)
    signs = np.empty(room, np.int8)
    opened = np.zeros(len(ids), np.int64)  # by rank: the latest copy opened in this segment, as position + 1
    below = np.empty(room, np.int64)
    reach = 0  # ranks from here on show nothing
    for r in range(len(ids)):
        if shown[ids[r]] > 0:
            reach = r + 1
    written = 0
    start = 0
    while start < len(time):
        now = time[start]
        end = start
        while end < len(time) and time[end] == now:
            counts[ids[rank[end]]] += change[end]
            end += 1
        before = 0
        r = 0
        old_reach = reach
        reach = 0
        while r < len(ids) and (before < offset + limit or r < old_reach):
            row = ids[r]
            inside = min(before + counts[row], offset + limit) - max(before, offset)
            wanted = max(0, inside)
            before += counts[row]
            if wanted > 0:
                reach = r + 1
            while shown[row] != wanted:
                if written == room:
                    room *= 2
                    out = np.append(out, np.empty(written, np.int64))
                    begins = np.append(begins, np.empty(written, np.int64))
                    ends = np.append(ends, np.empty(written, np.int64))
                    below = np.append(below, np.empty(written, np.int64))
                    signs = np.append(signs, np.empty(written, np.int8))
                if shown[row] < wanted:
                    out[written], begins[written], ends[written], signs[written] = row, now, FOREVER, 1
                    below[written] = opened[r]
                    written += 1
                    opened[r] = written
                    shown[row] += 1
                else:
                    if opened[r] > 0:
                        ends[opened[r] - 1] = now
                        opened[r] = below[opened[r] - 1]
                    else:
                        out[written], begins[written], ends[written], signs[written] = row, now, FOREVER, -1
                        written += 1
                    shown[row] -= 1
            r += 1
        start = end
    return out[:written], begins[:written], ends[:written], signs[:written]
