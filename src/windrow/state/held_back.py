"""What an operator holds back of an input that is ahead of its others: changes that are not final for it yet.

They come in the order of time and leave in it. A snapshot has one piece a batch; a batch that is not larger than the
one after it is put together with it, so that there are few however long they wait, and each change is written a
logarithmic number of times.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from windrow.batch.batch import Batch, concat
from windrow.state.batches import Batches
from windrow.state.snapshot import Piece


class HeldBack(Batches):
    def put(self, rows: Batch) -> None:
        """Changes that are later than all before."""
        while len(rows) and self._batches:
            name, last = next(reversed(self._batches.items()))
            if len(last) > len(rows):
                break
            rows = concat([self._batches.pop(name), rows])
        super().put(rows)

    def pop_before(self, time: int) -> list[Batch]:
        """The changes with ts < time leave."""
        due: list[Batch] = []
        rest: dict[str, Batch] = {}
        for name, rows in self._batches.items():
            cut = 0 if rest else int(np.searchsorted(rows.ts, time))
            if cut:
                due.append(rows.slice(0, cut))
            if cut < len(rows):
                rest[self._new_name() if cut else name] = rows.slice(cut, len(rows))
        self._batches = rest
        return due

    def restore(self, pieces: Mapping[str, Piece]) -> None:
        super().restore(pieces)
        self._batches = dict(sorted(self._batches.items(), key=lambda named: int(named[1].ts[0])))
