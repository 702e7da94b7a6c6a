"""Consolidation: the same changelog in fewer tuples.

Tuples with the same row, ts and exp and opposite signs go together. The answer at every instant is unchanged.
Costs one hash of each row; only the negative tuples are put into a table.
"""

from __future__ import annotations

import numpy as np

from windrow.batch.arrays import Bools, Int64s
from windrow.batch.batch import Batch, concat
from windrow.batch.compiled import compiled
from windrow.batch.key_table import KeyTable
from windrow.batch.words import words_of
from windrow.units import FOREVER


def consolidate(batch: Batch) -> Batch:
    """Without tuples that cancel each other; a batch without negative tuples is returned as it is."""
    if batch.is_positive:
        return batch
    negative = batch.sign < 0
    taken_back, given = batch.take(negative), batch.take(~negative)
    table = KeyTable()
    ids = table.intern(words_of(taken_back.columns, len(taken_back), taken_back.ts, taken_back.exp))
    waiting = np.bincount(ids)
    stays = _left_over(table.find(words_of(given.columns, len(given), given.ts, given.exp)), waiting)
    return concat([given.take(stays), taken_back.take(_left_over(ids, np.bincount(ids) - waiting))])


def last_change(changes: Batch) -> int:
    """The latest instant at which the answer that a changelog stands for becomes another one; -FOREVER for none.

    A begin and an end of the same row at the same instant change nothing, nor does an end that was taken back.
    """
    ended = changes.take(changes.exp != FOREVER)
    level = np.zeros(len(changes) + len(ended), np.int64)
    events = concat([changes, ended.negated()])
    times = np.concatenate([changes.ts, ended.exp])
    return int(consolidate(events.with_lifetimes(times, level)).ts.max(initial=-FOREVER))


@compiled
def _left_over(ids: Int64s, waiting: Int64s) -> Bools:
    """The rows for whose id nothing waits; each of the others takes one of those that wait."""
    stays = np.ones(len(ids), np.bool_)
    for i in range(len(ids)):
        if ids[i] >= 0 and waiting[ids[i]] > 0:
            waiting[ids[i]] -= 1
            stays[i] = False
    return stays


def closed_by_negatives(batch: Batch) -> Batch:
    """The same answers in fewer tuples: a negative tuple ends the first of the same row and end that is still there.

    + [a, e) and - [b, e) are + [a, b). A negative tuple that finds none with its end stays: in a join it stands for a
    stretch of time, and what it takes from lives longer.
    """
    negative = batch.sign < 0
    if not negative.any():
        return batch
    ends = np.unique(batch.exp[negative])
    concerned = np.isin(batch.exp, ends)
    part = batch.take(concerned)
    ids = KeyTable().intern(words_of(part.columns, len(part), part.exp))
    order = np.lexsort((part.ts, part.sign < 0, ids))
    sign, ids = part.sign[order], ids[order]
    given, taken = order[sign > 0], order[sign < 0]
    # The k-th that is taken back of a row ends the k-th that was given, if there is one and it came before.
    of_given, of_taken = ids[sign > 0], ids[sign < 0]
    place = np.searchsorted(of_given, of_taken) + _rank_in_run(of_taken)
    met = place < np.searchsorted(of_given, of_taken, side="right")
    met[met] = part.ts[given[place[met]]] <= part.ts[taken[met]]
    exp = part.exp.copy()
    exp[given[place[met]]] = part.ts[taken[met]]
    closed = part.take(given).with_lifetimes(part.ts[given], exp[given])
    return concat([batch.take(~concerned), closed.take(closed.ts < closed.exp), part.take(taken[~met])])


def _rank_in_run(values: Int64s) -> Int64s:
    """0, 1, 2, ... within each run of equal values."""
    starts = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
    return np.arange(len(values)) - np.repeat(starts, np.diff(np.append(starts, len(values))))
