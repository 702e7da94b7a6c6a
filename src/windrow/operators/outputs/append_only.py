"""The results of a query over INTERNAL windows: they stay when their rows leave, and end with their external parts.

What is born is what ISTREAM emits (thesis 3.3.2: the same results as over external windows, in the same order). Two
kinds of columns say with what a result ends; they are dropped:

    ends      the end of an external part, null for none (`WithEnd`)
    numbers   which tuple an external part is, for parts whose ends come as negative tuples (`Numbered`); those tuples
              are further inputs, one for each of these columns, with the number in the last column

Results with numbers are kept under each of them until the first of their parts has ended. Costs what ISTREAM costs,
and a hash a result for each number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple, cast

import numpy as np

from windrow.batch.arrays import Int64s
from windrow.batch.batch import Batch, Segment, concat
from windrow.operators.operator import Remembers
from windrow.operators.outputs.output_streams import InsertStream
from windrow.operators.sets.multiplicity import MultiplicityState
from windrow.state import HashOnRowKey, StructureKind
from windrow.state.snapshot import Part, Parts
from windrow.units import FOREVER


class Departures(NamedTuple):
    """The tuples of a part that end in a segment: their numbers, in increasing order, and when each ends."""

    numbers: Int64s
    times: Int64s

    def of(self, numbers: Int64s) -> Int64s:
        """When the tuples with these numbers end; FOREVER for those that stay."""
        if not len(self.numbers):
            return np.full(len(numbers), FOREVER, np.int64)
        places = np.minimum(np.searchsorted(self.numbers, numbers), len(self.numbers) - 1)
        return np.where(self.numbers[places] == numbers, self.times[places], FOREVER)


class AppendOnlyState(Parts):
    """Net counts, and the results that end with parts whose end is not known, by the number of each such part."""

    def __init__(self, counts: MultiplicityState, numbers: int) -> None:
        self.counts = counts
        self.results = [HashOnRowKey() for _ in range(numbers)]

    def __len__(self) -> int:
        return len(self.counts) + sum(map(len, self.results))

    def parts(self) -> Mapping[str, Part]:
        results = {f"results{place}": cast(Part, kept) for place, kept in enumerate(self.results)}
        return {"counts": self.counts, **results}


@dataclass(frozen=True)
class AppendOnly:
    """`ends` and `numbers` are the columns that say with what a result ends."""

    ends: tuple[int, ...] = ()
    numbers: tuple[int, ...] = ()
    structure: StructureKind = StructureKind.CALENDAR

    remembers: ClassVar = Remembers.UNKNOWN

    @cached_property
    def born(self) -> InsertStream:
        return InsertStream(self.structure)

    def fresh_state(self) -> AppendOnlyState:
        return AppendOnlyState(self.born.fresh_state(), len(self.numbers))

    def step(self, state: AppendOnlyState, inputs: Sequence[Batch], segment: Segment) -> Batch:
        rows, *parts = inputs
        born = self._with_ends(self.born.step(state.counts, (rows,), segment))
        if self.numbers:
            departures = [_departures(part) for part in parts]
            ended = self._ended(state, departures, born)
            born = self._cut(born, departures)
            self._keep(state, born, ended, segment)
            born = concat([born, ended])
        marks = {*self.ends, *self.numbers}
        return born.with_columns(tuple(c for place, c in enumerate(born.columns) if place not in marks))

    def _with_ends(self, born: Batch) -> Batch:
        exp = born.exp
        for ordinal in self.ends:
            ends = born.columns[ordinal]
            exp = np.minimum(exp, np.where(ends.valid_mask(), ends.values, FOREVER))
        lasting = born.with_lifetimes(born.ts, exp)
        return lasting.take(lasting.ts < lasting.exp)

    def _cut(self, results: Batch, departures: Sequence[Departures]) -> Batch:
        """New results end with a part that ends in the same segment."""
        exp = results.exp
        for ordinal, departed in zip(self.numbers, departures, strict=True):
            exp = np.minimum(exp, departed.of(results.columns[ordinal].values))
        return results.with_lifetimes(results.ts, exp)

    def _ended(self, state: AppendOnlyState, departures: Sequence[Departures], like: Batch) -> Batch:
        """Older results that end with a part, as negative tuples."""
        found = [like.slice(0, 0)]
        for place, (kept, departed) in enumerate(zip(state.results, departures, strict=True)):
            lasting = np.full(len(departed.times), FOREVER, np.int64)
            positions, rows = kept.probe(departed.numbers, departed.times, lasting)
            if not len(rows):
                continue
            times = departed.times[positions]
            ends = [d.of(rows.columns[o].values) for o, d in zip(self.numbers, departures, strict=True)]
            first = np.argmin(ends, axis=0) == place  # with several parts ending, the first of them finds the result
            found.append(rows.with_lifetimes(times, rows.exp).take(first).negated())
        return concat(found)

    def _keep(self, state: AppendOnlyState, born: Batch, ended: Batch, segment: Segment) -> None:
        lasting = concat([born.take(born.exp >= segment.end), ended])
        for kept, ordinal in zip(state.results, self.numbers, strict=True):
            kept.insert(lasting.columns[ordinal].values, lasting)
            kept.drop_until(segment.end)


def _departures(part: Batch) -> Departures:
    gone = part.take(part.sign < 0)
    numbers = gone.columns[-1].values
    order = np.argsort(numbers)
    return Departures(numbers[order], gone.ts[order])
