"""A FIFO of many rows that slides on: they move to the front, and are the same rows for everybody who looks."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

from windrow.batch import Batch, Dictionary, column_from_arrow
from windrow.batch.arrays import ones
from windrow.state import FifoOfBasicWindows, fifo_of_basic_windows
from windrow.state.stored_columns import move_to_front

ALWAYS = np.array([-(2**62)]), np.array([2**62])
LIFE = 40


def rows(values: list[int], now: int) -> tuple[np.ndarray, Batch]:
    """Under the last digits of their values."""
    column = column_from_arrow(pa.array(values, pa.int64()), Dictionary())
    times = np.full(len(values), now, np.int64)
    return np.array(values) % 10, Batch((column,), times, times + LIFE, ones(len(values)))


@pytest.mark.parametrize("first_probe", [0, 77, 1000])
def test_rows_move_before_new_memory_is_touched(monkeypatch: pytest.MonkeyPatch, first_probe: int) -> None:
    monkeypatch.setattr(fifo_of_basic_windows, "_MANY", 200)
    fifo, dice, kept, most = FifoOfBasicWindows(), random.Random(1), list[tuple[int, int]](), 0
    for now in range(300):
        values = [dice.randrange(1_000_000) for _ in range(dice.randrange(1, 60))]
        fifo.insert(*rows(values, now))
        kept += [(value, now + LIFE) for value in values]
        gone = fifo.expire_until(now)
        assert gone.rows.columns[0].values.tolist() == [value for value, end in kept if end <= now]
        kept = [(value, end) for value, end in kept if end > now]
        most = max(most, len(kept))
        assert fifo.scan().rows.columns[0].values.tolist() == [value for value, _ in kept]
        if now >= first_probe:
            found = fifo.probe(np.array([3]), *ALWAYS)
            assert sorted(found.rows.columns[0].values) == sorted(value for value, _ in kept if value % 10 == 3)

    assert most > 800
    assert fifo._touched <= 1.25 * most + 3 * 60


@pytest.mark.parametrize("start", [1, 3, 5, 9])
def test_moving_to_the_front_copes_with_stretches_that_overlap(start: int) -> None:
    array = np.arange(10)
    move_to_front(array, start, 10)

    assert array[: 10 - start].tolist() == list(range(start, 10))
