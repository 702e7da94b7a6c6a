"""Batches kept as they came: rows that wait for the watermark, and the changes that make up an answer.

A snapshot has one piece a batch; a batch never changes, it is only replaced.
"""

from __future__ import annotations

from collections.abc import Container, Mapping

import numpy as np

from windrow.batch.batch import Batch, concat
from windrow.batch.consolidation import closed_by_negatives
from windrow.state.snapshot import Piece, Snapshot, restored_batches, snapshot_batches

SMALL = 1024  # changes up to which an answer is not looked through for pairs


class Batches:
    def __init__(self) -> None:
        self._batches: dict[str, Batch] = {}
        self._named = 0

    def __len__(self) -> int:
        return sum(len(rows) for rows in self._batches.values())

    def put(self, rows: Batch) -> None:
        if len(rows):
            self._batches[self._new_name()] = rows

    def _new_name(self) -> str:
        """A batch never changes: what is left of one has another name."""
        self._named += 1
        return str(self._named)

    def rows(self, like: Batch) -> Batch:
        """All of them; `like` gives the columns when there are none."""
        return concat([like.slice(0, 0), *self._batches.values()])

    def replace(self, rows: Batch) -> None:
        self._batches = {}
        self.put(rows)

    def snapshot(self, known: Container[str]) -> Snapshot:
        return snapshot_batches(self._named, self._batches.items(), known)

    def restore(self, pieces: Mapping[str, Piece]) -> None:
        self._named, batches = restored_batches(pieces)
        self._batches.update(batches)


class PendingRows(Batches):
    """Rows that are not final yet, in any order."""

    def count_before(self, time: int) -> int:
        return sum(int(np.count_nonzero(rows.ts < time)) for rows in self._batches.values())

    def pop_before(self, time: int, like: Batch) -> Batch:
        """The rows with ts < time leave."""
        rows = self.rows(like)
        due = rows.ts < time
        if not due.any():
            return like.slice(0, 0)
        if due.all():
            self.replace(like.slice(0, 0))
            return rows
        self.replace(rows.take(~due))
        return rows.take(due)


class AnswerChangelog(Batches):
    """The changelog of an answer from some time on; pairs that sum to nothing are dropped now and then."""

    def __init__(self) -> None:
        super().__init__()
        self._tidied = 0

    def tidy(self, watermark: int, like: Batch) -> None:
        """Nothing before the last final instant will be asked for any more."""
        if len(self) > 2 * self._tidied + SMALL:
            self.tidy_now(watermark, like)

    def tidy_now(self, watermark: int, like: Batch) -> None:
        """Begins stay as they are: when the answer changed last is asked for when time runs out."""
        rows = closed_by_negatives(self.rows(like))
        self.replace(rows.take(rows.exp >= watermark))  # an end at the watermark has still to be emitted
        self._tidied = len(self)
