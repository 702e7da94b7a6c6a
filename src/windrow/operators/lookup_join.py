"""A stream joined with a non-retroactive table: each tuple meets the table as it is at the tuple's time (thesis 3.3.1).

The tuple is looked up in the one tick in which it arrives, by the ordinary join over that tick, and the pair then lives
as long as the tuple does: its end travels along as a column. So the stream is not stored, and later changes of the
table leave its pairs alone. The input must not be strict: a tuple that is taken back would meet another table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from windrow.batch.batch import Batch, Segment
from windrow.batch.column import Column
from windrow.operators.join import Join
from windrow.operators.operator import State
from windrow.operators.outer_join import OuterJoin
from windrow.types import BIGINT


@dataclass(frozen=True)
class LookupJoin:
    """`inner` sees the end as one more column of the stream's side, its last one."""

    inner: Join | OuterJoin
    stream_width: int
    table_width: int
    stream_first: bool

    def fresh_state(self) -> State:
        return self.inner.fresh_state()

    def step(self, state: Any, inputs: Sequence[Batch], segment: Segment) -> Batch:
        stream, table = inputs if self.stream_first else reversed(inputs)
        assert bool((stream.sign > 0).all()), "a lookup is not for strict inputs"
        ticks = stream.with_lifetimes(stream.ts, stream.ts + 1)
        ticks = ticks.with_columns((*stream.columns, Column(BIGINT, stream.exp)))
        pairs = self.inner.step(state, (ticks, table) if self.stream_first else (table, ticks), segment)
        place = self.stream_width if self.stream_first else self.table_width + self.stream_width
        pairs = pairs.with_lifetimes(pairs.ts, pairs.columns[place].values)
        return pairs.with_columns((*pairs.columns[:place], *pairs.columns[place + 1 :]))
