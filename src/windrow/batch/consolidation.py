"""Consolidation: the same changelog in fewer tuples.

Tuples with the same row, ts and exp are summed; those that cancel go. The answer at every instant is unchanged.
Costs one hash of each row.
"""

from __future__ import annotations

import numpy as np

from windrow.batch.batch import Batch
from windrow.batch.key_table import KeyTable
from windrow.batch.words import words_of


def consolidate(batch: Batch) -> Batch:
    """Without tuples that cancel each other; a batch without negative tuples is returned as it is."""
    if not len(batch) or bool((batch.sign > 0).all()):
        return batch
    ids = KeyTable().intern(words_of(batch.columns, len(batch), batch.ts, batch.exp))
    count = int(ids.max()) + 1
    sums = np.zeros(count, np.int64)
    np.add.at(sums, ids, batch.sign)
    if len(ids) == count:
        return batch
    first = np.full(count, -1, np.int64)
    first[ids[::-1]] = np.arange(len(ids))[::-1]
    kept = np.repeat(first, np.abs(sums))
    merged = batch.take(kept)
    return Batch(merged.columns, merged.ts, merged.exp, np.repeat(np.sign(sums), np.abs(sums)).astype(np.int8))
