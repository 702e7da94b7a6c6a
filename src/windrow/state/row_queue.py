"""Rows that wait in line: put in at the back, taken out at the front, by count or by time.

Invariant: ts never decreases from front to back. Everything costs a constant a row that moves.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Mapping

import numpy as np

from windrow.batch.batch import Batch, concat
from windrow.state.snapshot import Piece, Snapshot, restored_batches, snapshot_batches

_SMALL = 256  # rows up to which the last batch takes in the next


class RowQueue:
    def __init__(self) -> None:
        self._batches: deque[tuple[str, Batch]] = deque()
        self._count = 0
        self._named = 0

    def __len__(self) -> int:
        return self._count

    def push(self, rows: Batch) -> None:
        if not len(rows):
            return
        self._count += len(rows)
        if self._batches and len(self._batches[-1][1]) < _SMALL:
            rows = concat([self._batches.pop()[1], rows])
        self._batches.append((self._name(), rows))

    def pop_before(self, time: int, like: Batch) -> Batch:
        """The rows with ts < time leave; `like` gives the columns when there are none."""
        return self._pop_while(lambda rows: int(np.searchsorted(rows.ts, time)), like)

    def pop_ended(self, time: int, like: Batch) -> Batch:
        """The rows with exp ≤ time leave; ends are in order too."""
        return self._pop_while(lambda rows: int(np.searchsorted(rows.exp, time, side="right")), like)

    def pop(self, count: int, like: Batch) -> Batch:
        """The first `count` rows leave."""
        taken = [like.slice(0, 0)]
        while count:
            first = self._pop_from_first(min(count, len(self._batches[0][1])))
            taken.append(first)
            count -= len(first)
        return concat(taken)

    def rows(self, like: Batch) -> Batch:
        """All that wait, in order; they stay."""
        return concat([like.slice(0, 0), *(rows for _, rows in self._batches)])

    def snapshot(self, known: Container[str]) -> Snapshot:
        return snapshot_batches(self._named, self._batches, known)

    def restore(self, pieces: Mapping[str, Piece]) -> None:
        self._named, batches = restored_batches(pieces)
        self._batches.extend(batches)
        self._count += sum(len(rows) for _, rows in batches)

    def _pop_while(self, leaving: Callable[[Batch], int], like: Batch) -> Batch:
        taken = [like.slice(0, 0)]
        while self._batches:
            rows = self._batches[0][1]
            count = leaving(rows)
            taken.append(self._pop_from_first(count))
            if count < len(rows):
                break
        return concat(taken)

    def _pop_from_first(self, count: int) -> Batch:
        name, rows = self._batches.popleft()
        if count < len(rows):
            self._batches.appendleft((self._name() if count else name, rows.slice(count, len(rows))))
        self._count -= count
        return rows.slice(0, count)

    def _name(self) -> str:
        self._named += 1
        return str(self._named)
