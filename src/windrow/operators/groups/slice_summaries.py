"""Summaries of slices: of the counters of a slice that is complete only a few are kept.

A step is given all rows that begin in its segment, so each slice comes as a whole, whatever the batches and shards it
came in: counters of the same value are added up first, and then the slice is cut. Rows that belong to other aggregates
go through.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from windrow.aggregates.sketches.slice_counters import Cut, SliceCounters
from windrow.batch.arrays import Int64s
from windrow.batch.batch import Batch, Segment, concat
from windrow.batch.column import Column, column, nulls, order_words
from windrow.batch.key_table import KeyTable
from windrow.batch.words import words_of
from windrow.operators.operator import Remembers
from windrow.state.snapshot import NoState
from windrow.types import BIGINT

_VALUE, _COUNT, _FLOOR = range(3)


@dataclass(frozen=True)
class SliceSummaries:
    """`cuts` are of the last columns, three for each: a value, its count, and a place for the floor."""

    keys: tuple[int, ...]
    cuts: tuple[Cut, ...]

    remembers: ClassVar = Remembers.THROUGH

    def fresh_state(self) -> NoState:
        return NoState()

    def step(self, state: NoState, inputs: Sequence[Batch], segment: Segment) -> Batch:
        (rows,) = inputs
        first = len(rows.columns) - 3 * len(self.cuts)
        places = [first + 3 * place for place in range(len(self.cuts))]
        counted = [rows.columns[place + _COUNT].values > 0 for place in places]
        others = rows.take(~np.logical_or.reduce(counted))
        summaries = [
            self._summary(rows.take(own), place, cut)
            for own, place, cut in zip(counted, places, self.cuts, strict=True)
            if own.any()
        ]
        return concat([others, *summaries]).sorted_by_time()

    def _summary(self, rows: Batch, place: int, cut: Cut) -> Batch:
        values = rows.columns[place]
        slice = KeyTable().intern(words_of(rows.select(self.keys), len(rows), rows.ts, rows.exp))
        order = np.lexsort((*reversed(order_words(values)), slice))
        slice, words = slice[order], [word[order] for word in order_words(values)]
        new_slice = np.concatenate([[True], slice[1:] != slice[:-1]])
        new = np.logical_or.reduce([new_slice[1:], *(word[1:] != word[:-1] for word in words)])
        starts = np.flatnonzero(np.concatenate([[True], new]))
        counts = np.add.reduceat(rows.columns[place + _COUNT].values[order], starts)
        firsts = np.flatnonzero(new_slice[starts])
        kept = cut(SliceCounters(slice[starts], counts, firsts))
        found = rows.take(order[starts[kept.places]])
        made = _with(found, place, found.columns[place], kept.counts, kept.floor)
        if kept.floors is None:
            return made
        bare = rows.take(order[starts[firsts]])
        none = nulls(values.type, len(firsts), values.dictionary)
        return concat([made, _with(bare, place, none, np.zeros(len(firsts), np.int64), kept.floors)])


def _with(rows: Batch, place: int, values: Column, counts: Int64s, floors: Int64s) -> Batch:
    columns = list(rows.columns)
    columns[place : place + 3] = values, column(BIGINT, counts), column(BIGINT, floors)
    return rows.with_columns(tuple(columns))
