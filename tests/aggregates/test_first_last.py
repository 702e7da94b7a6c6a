"""FIRST and LAST with ties: what is stored stays in proportion to the rows in view, and is tidied seldom."""

from __future__ import annotations

import numpy as np

from windrow.aggregates import AtEdgeOfTime
from windrow.aggregates.first_last import TiedEdgeOfTime
from windrow.batch.column import Column
from windrow.numbers.group_events import GroupEvents
from windrow.state.key_directory import KeyDirectory
from windrow.types import BIGINT

WINDOW = 100


def fresh(fraction: int) -> TiedEdgeOfTime:
    accumulator = AtEdgeOfTime(0, 1, fraction, (2,)).fresh()
    assert isinstance(accumulator, TiedEdgeOfTime)
    return accumulator


def swept(accumulator: TiedEdgeOfTime, rows: np.ndarray, change: int) -> int:
    """The answer after rows have come or gone in one group; row n has the time n // 10, ties n and the value -n."""
    is_last = np.arange(len(rows)) == len(rows) - 1
    events = GroupEvents(np.zeros(len(rows), np.int64), np.full(len(rows), change, np.int8), is_last, 1, 1)
    return int(accumulator.sweep(events, tuple(Column(BIGINT, part) for part in (-rows, rows // 10, rows))).values[0])


def test_a_sliding_window_stores_few_rows_that_have_left() -> None:
    for fraction in (0, 1):
        accumulator = fresh(fraction)
        swept(accumulator, np.arange(WINDOW), 1)
        for first in range(0, 4_000, 20):
            swept(accumulator, np.arange(first + WINDOW, first + WINDOW + 20), 1)
            answer = swept(accumulator, np.arange(first, first + 20), -1)

            assert answer == -(first + 20 if fraction == 0 else first + WINDOW + 19)
            assert len(accumulator._rows) <= 6 * WINDOW
            if first == 2_000:
                restored = fresh(fraction)
                restored.restore(accumulator.snapshot().pieces)
                accumulator = restored


def test_a_window_that_only_fills_is_gone_through_seldom(monkeypatch) -> None:
    calls = []
    known = KeyDirectory.known
    monkeypatch.setattr(KeyDirectory, "known", lambda self: calls.append(len(self)) or known(self))
    accumulator = fresh(1)

    for n in range(1_000):
        assert swept(accumulator, np.array([n]), 1) == -n

    assert len(calls) < 20, "a logarithm of the rows"
