"""ORDER BY ... LIMIT as a maintained view: the rows at some positions of the answer in order.

All rows are kept in one balanced tree that knows positions. A row that comes or goes moves those after it by one, so at
most one row enters the limited part and one leaves it at each event; within an instant arrivals are taken first, and
what cancels out is never seen. Ties are broken by the row's values in column order, so the answer depends on the bag of
rows only. Costs a logarithm of the number of rows an event.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from windrow.batch.arrays import Array, Int8s, Int64s, grown
from windrow.batch.batch import Batch, Segment
from windrow.batch.column import Column
from windrow.batch.compiled import compiled
from windrow.numbers.ordered_values import (
    NO_RANKS,
    SIZE,
    VALUE,
    Entry,
    OrderedValues,
    Ranks,
    Trees,
    change_count,
    element_at,
    position_of,
)
from windrow.numbers.row_ranks import RowRanks, rank_words
from windrow.operators.operator import Remembers
from windrow.operators.sets.multiplicity import Multiplicity, RowCounts, RowEvents, shown_copies, sweep_multiplicities
from windrow.operators.sweep import events_of
from windrow.state import STRUCTURES, StructureKind
from windrow.state.key_directory import KeyDirectory
from windrow.state.keyed_arrays import KeyedArrays
from windrow.state.snapshot import Part, Parts


@dataclass(frozen=True)
class SortColumn:
    column: int
    descending: bool = False
    nulls_first: bool = True


class LimitState(Parts):
    """All rows in order, how often each is in the limited part, and the ends that are to come."""

    def __init__(self, spec: Limit) -> None:
        self.rows = KeyDirectory()
        self.counts = KeyedArrays(all=np.int64, limited=np.int64, unused=np.int64, shown=np.int64)
        self.tree = OrderedValues()
        self.ends = STRUCTURES[spec.structure]()
        self.ranks = RowRanks(self.rows, spec.words_of)
        self.opened: Int64s = np.zeros(0, np.int64)  # scratch of the sweep

    def __len__(self) -> int:
        return len(self.rows) + len(self.ends)

    def parts(self) -> Mapping[str, Part]:
        return {"rows": self.rows, "counts": self.counts, "tree": self.tree, "ends": self.ends}


@dataclass(frozen=True)
class Limit:
    """The rows at positions offset + 1 to offset + count."""

    keys: tuple[SortColumn, ...]
    count: int
    offset: int = 0
    structure: StructureKind = StructureKind.CALENDAR

    remembers: ClassVar = Remembers.RESULTS

    def fresh_state(self) -> LimitState:
        return LimitState(self)

    def step(self, state: LimitState, inputs: Sequence[Batch], segment: Segment) -> Batch:
        (rows,) = inputs
        ids = state.rows.intern(rows.columns, len(rows))
        events = events_of(ids, rows.with_columns(()), state.ends, segment)
        order = np.lexsort((-events.change, events.time))
        key, change = events.key[order], events.change[order]
        state.ranks.update(ids, rows.columns)
        state.counts.reserve(state.rows.capacity)
        state.tree.reserve(1, len(key))
        positions = _Positions(self.offset + 1, self.offset + self.count)
        moved = _moved(events.time[order], key, change, positions, Ranks(state.ranks.words, NO_RANKS), state.tree.trees)
        np.add.at(state.counts["all"], key, change)
        state.opened = grown(state.opened, len(state.counts["shown"]))
        kept = state.counts
        counts = RowCounts(kept["limited"], kept["unused"], kept["shown"], state.opened)
        copies = sweep_multiplicities(int(Multiplicity.BAG), moved, counts)
        columns = state.rows.columns(copies.key) if len(copies.key) else rows.slice(0, 0).columns
        if state.tree.tidy(Ranks(state.ranks.words)):
            # Not earlier: an empty node is still compared by its row.
            known = state.rows.known()
            state.rows.forget(known[state.counts["all"][known] == 0])
        return Batch(columns, *copies[1:]).sorted_by_time()

    def alive(self, state: LimitState, inputs: Sequence[Batch], at: int) -> Batch:
        return shown_copies(state.rows, state.counts, inputs[0], at)

    def words_of(self, columns: Sequence[Column]) -> list[Array]:
        """What rows are compared by: the sort columns, then all others."""
        named = {key.column for key in self.keys}
        by = [*self.keys, *(SortColumn(column) for column in range(len(columns)) if column not in named)]
        return [word for key in by for word in rank_words(columns[key.column], key.descending, key.nulls_first)]


class _Positions(NamedTuple):
    """Those of the limited part, counted from 1."""

    first: int
    last: int


@compiled
def _moved(time: Int64s, key: Int64s, change: Int8s, positions: _Positions, ranks: Ranks, trees: Trees) -> RowEvents:
    """Rows that enter (+1) and leave (-1) the positions."""
    first, last = positions.first, positions.last
    order, none = ranks.first, ranks.second
    roots, nodes, tally, path = trees.roots, trees.nodes, trees.tally, trees.path
    times, ids = np.empty(2 * len(time), np.int64), np.empty(2 * len(time), np.int64)
    changes = np.empty(2 * len(time), np.int8)
    count = 0
    for i in range(len(time)):
        row, by = key[i], change[i]
        if by == 0 or last < first:
            continue
        position = position_of(roots[0], row, order, nodes)
        before = nodes[roots[0], SIZE]
        # Who stands at the edges while the row is there: the one that is pushed over an edge, or falls back over it.
        if by > 0:
            roots[0] = change_count(roots[0], Entry(row, 0, 0), 1, order, none, nodes, tally, path)
            before += 1
        if position <= last:
            inner = (
                row
                if position >= first
                else (nodes[element_at(roots[0], first, nodes), VALUE] if before >= first else -1)
            )
            outer = nodes[element_at(roots[0], last + 1, nodes), VALUE] if before > last else -1
            if inner >= 0:
                times[count], ids[count], changes[count] = time[i], inner, by
                count += 1
            if outer >= 0:
                times[count], ids[count], changes[count] = time[i], outer, -by
                count += 1
        if by < 0:
            roots[0] = change_count(roots[0], Entry(row, 0, 0), -1, order, none, nodes, tally, path)
    return RowEvents(times[:count], ids[:count], changes[:count], np.zeros(count, np.int64))
