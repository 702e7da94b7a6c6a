"""Measuring streams while they run: rows a second and distinct values a column, for the planner of later queries.

The rate is over stream time. Distinct values are estimated from the k smallest hashes of the values seen (Bar-Yossef
et al. 2002): if the k-th smallest of evenly spread hashes lies at a share f of the whole range, there are about
(k - 1) / f values. Only some rows are sampled, evenly spaced, so measuring costs next to nothing; a column with more
values than sampled rows is taken to have as many as were seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from windrow.batch import Batch, Column
from windrow.batch.arrays import UInt64s
from windrow.batch.words import words_of
from windrow.catalog import Catalog, StreamEntry
from windrow.units import SECOND

SMALLEST_HASHES = 256  # hashes a column; the estimate is within about 6%
SAMPLED_ROWS = 4_096  # rows of a batch whose values are sampled
SAMPLING_STEP = 64  # after a large sample at the beginning, one row in so many is sampled
MOVED = 1.2  # what has changed by this factor is recorded anew
HORIZON = 60 * SECOND  # of stream time: older rows count less for the rate


@dataclass
class _Statistics:
    """Of one stream: a decaying count of rows over a decaying span of time, and the smallest hashes of each column."""

    newest: int | None = None
    seen: int = 0
    sampled: int = 0
    rows: float = 0.0
    span: float = 0.0
    smallest: dict[str, UInt64s] = field(default_factory=dict)
    recorded: dict[str, float] = field(default_factory=dict)  # "" is the rate


class StreamStatistics:
    """Samples the rows that enter the dataflow and records in the catalog what has changed."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._streams: dict[str, _Statistics] = {}

    def observe(self, inputs: Mapping[str, Batch]) -> None:
        """The rows of one segment, each stream in the order of time."""
        for name, rows in inputs.items():
            entry = self._catalog.get(name)
            if isinstance(entry, StreamEntry) and len(rows):
                measured = self._streams.setdefault(name.lower(), _Statistics())
                _count(measured, rows)
                if measured.sampled < SAMPLED_ROWS or SAMPLING_STEP * measured.sampled <= measured.seen:
                    _sample(measured, rows, entry)
                    self._record(name, measured)

    def _record(self, name: str, measured: _Statistics) -> None:
        if measured.span < SECOND:
            return  # a rate over less says nothing yet
        now = {column: _distinct(hashes) for column, hashes in measured.smallest.items()}
        now[""] = measured.rows * SECOND / measured.span
        moved = {what: value for what, value in now.items() if _has_moved(measured.recorded.get(what), value)}
        if moved:
            measured.recorded.update(moved)
            self._catalog.record_statistics(name, moved.pop("", None), moved)


def _has_moved(before: float | None, now: float) -> bool:
    return before is None or not before / MOVED <= now <= before * MOVED


def _count(measured: _Statistics, rows: Batch) -> None:
    """The first row of all only starts the clock."""
    newest = int(rows.ts[-1])
    begin = int(rows.ts[0]) if measured.newest is None else measured.newest
    decay = 0.5 ** ((newest - begin) / HORIZON)
    measured.rows = measured.rows * decay + len(rows) - (measured.newest is None)
    measured.span = measured.span * decay + newest - begin
    measured.newest = newest
    measured.seen += len(rows)


def _sample(measured: _Statistics, rows: Batch, entry: StreamEntry) -> None:
    step = -(-len(rows) // SAMPLED_ROWS)
    measured.sampled += len(rows) // step
    for column, values in zip(entry.columns, rows.columns, strict=True):
        if column.name != entry.timestamp:
            known = measured.smallest.get(column.name, np.zeros(0, np.uint64))
            measured.smallest[column.name] = _merged(known, _hashes(values, step))


def _merged(known: UInt64s, new: UInt64s) -> UInt64s:
    if len(known) == SMALLEST_HASHES:
        new = new[new < known[-1]]
    return np.unique(np.concatenate([known, new]))[:SMALLEST_HASHES] if len(new) else known


def _hashes(column: Column, step: int) -> UInt64s:
    """Evenly spread 64-bit hashes of the values that are not null; equal strings have equal codes."""
    values = column.values[::step]
    if column.valid is not None:
        values = values[column.valid[::step]]
    hashes = np.zeros(len(values), np.uint64)
    for word in words_of((Column(column.type, values),), len(values)).T:
        hashes = (hashes ^ word) * np.uint64(0x9E3779B97F4A7C15)
        hashes = (hashes ^ (hashes >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
        hashes ^= hashes >> np.uint64(32)
    return hashes


def _distinct(smallest: UInt64s) -> float:
    if len(smallest) < SMALLEST_HASHES:
        return float(max(1, len(smallest)))
    return (SMALLEST_HASHES - 1) / (float(smallest[-1]) / 2.0**64)
