"""The rows that a declared window keeps, as they came, and since when it has them.

Cost: a constant a row that comes or leaves; rows are kept whole, so that every query over the same rows finds its
columns.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from windrow.batch import Batch, Dictionary, Segment, empty
from windrow.operators import PartitionWindow, Predicate, RowsWindow
from windrow.physical.expressions import ExpressionCompiler
from windrow.plan.coverage import complete_from
from windrow.plan.functions import conjunction
from windrow.plan.kept_windows import Conditions, KeptWindow, reach_of, rows_of
from windrow.plan.nodes import Windowed
from windrow.state.row_queue import RowQueue
from windrow.units import BEGINNING, FOREVER


class FoundRows(NamedTuple):
    """Rows of a stream that a window is filled with, and since when all are there that it can need."""

    rows: Batch
    covered_from: int


class KeptRows:
    def __init__(self, window: KeptWindow, dictionary: Dictionary, covered_from: int) -> None:
        self.window, self.covered_from = window, covered_from
        self._none = empty([field.type for field in window.stream.columns], dictionary)
        places = {field.name: place for place, field in enumerate(window.stream.columns)}
        condition = conjunction(sorted(window.conditions, key=repr))
        compiler = ExpressionCompiler(places, dictionary)
        self._predicate: Predicate | None = None if condition is None else compiler.predicate(condition)
        self._queue = RowQueue()
        self._counting = _counting(window, places)
        self._counted: Any = None if self._counting is None else self._counting.fresh_state()

    def __len__(self) -> int:
        return len(self._queue) if self._counting is None else len(self._counted)

    def take(self, rows: Batch, segment: Segment) -> None:
        """The rows of a segment come, and those that are too old leave."""
        if self._predicate is not None:
            rows = rows.take(self._predicate(rows))
        if self._counting is not None:
            self._counting.step(self._counted, (rows,), segment)
            return
        assert self.window.length is not None
        self._queue.push(rows.with_lifetimes(rows.ts, rows.ts + self.window.length))
        self._queue.pop_ended(segment.end, self._none)

    def found(self, plan: Windowed, at: int, first_row: int) -> FoundRows:
        """The rows for a window that is covered; `first_row` is the time of the first one of the stream."""
        rows = self._rows()
        covered = self.covered_from
        if self._counting is not None:
            is_full = not self.window.partition and len(rows) >= (self.window.count or 0)
            dropped = int(rows.ts[0]) + 1 if is_full and len(rows) else covered
        else:
            dropped = at - (self.window.length or 0) + 1
        return FoundRows(rows, covered if self._reaches(plan, dropped, first_row) else max(covered, dropped))

    def _reaches(self, plan: Windowed, dropped: int, first_row: int) -> bool:
        """Whether nothing that has left can be needed."""
        reach, slide = reach_of(plan.window), plan.window.slide
        if reach is None or self.window.length is None:
            return dropped <= first_row or (self._counting is not None and bool(self.window.partition))
        return reach + (slide if isinstance(slide, int) else 0) <= self.window.length or dropped <= first_row

    def _rows(self) -> Batch:
        """In the order of the stream."""
        if self._counting is None:
            rows = self._queue.rows(self._none)
        else:
            rows = self._counting.alive(self._counted, (self._none,), FOREVER).sorted_by_time()
        return rows.with_lifetimes(rows.ts, np.full(len(rows), FOREVER, np.int64))


def _counting(window: KeptWindow, places: dict[str, int]) -> RowsWindow | PartitionWindow | None:
    if window.count is None:
        return None
    if not window.partition:
        return RowsWindow(window.count)
    return PartitionWindow(tuple(places[name] for name in window.partition), window.count)


def completed(plan: Windowed, covered_from: int, at: int, rows: int) -> int:
    """From when on a window that was filled is complete; one that is counted at once, if it has enough rows."""
    needed = rows_of(plan.window)
    if needed is not None and not plan.window.partition and rows >= needed and covered_from != BEGINNING:
        return at
    return complete_from(plan.window, covered_from)


class KeptWindows:
    """The declared windows of an engine, by their names in lower case."""

    def __init__(self, dictionary: Dictionary) -> None:
        self._dictionary = dictionary
        self._windows: dict[str, KeptRows] = {}

    def __len__(self) -> int:
        """How many rows are kept."""
        return sum(map(len, self._windows.values()))

    def items(self) -> list[tuple[str, KeptRows]]:
        return list(self._windows.items())

    def add(self, name: str, window: KeptWindow, covered_from: int) -> None:
        self._windows[name] = KeptRows(window, self._dictionary, covered_from)

    def remove(self, name: str) -> None:
        """If there is one of this name."""
        self._windows.pop(name, None)

    @property
    def streams(self) -> frozenset[str]:
        """Of which rows are kept, in lower case."""
        return frozenset(kept.window.stream.name.lower() for kept in self._windows.values())

    def take(self, stream: str, rows: Batch, segment: Segment) -> None:
        """Rows of a stream that have become final."""
        for kept in self._windows.values():
            if kept.window.stream.name == stream:
                kept.take(rows, segment)

    def covering(self, plan: Windowed, conditions: Conditions) -> KeptRows | None:
        """The window that has the rows of another one, of several the one that has them for longest."""
        able = [kept for kept in self._windows.values() if kept.window.covers(plan, conditions)]
        return min(able, key=lambda kept: (kept.covered_from, -(kept.window.length or 0)), default=None)
