"""Consolidation: the same changelog in fewer tuples.

Tuples with the same row, ts and exp and opposite signs go together. The answer at every instant is unchanged.
Costs a look at the end of each row, and a hash of those rows that end with some negative tuple; only the negative
tuples are put into a table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from windrow.batch.arrays import Bools, Int64s, UInt64s
from windrow.batch.batch import Batch, concat
from windrow.batch.compiled import compiled, inlined
from windrow.batch.key_table import KeyTable
from windrow.batch.words import words_of
from windrow.units import FOREVER

_MARKS = 16  # bits for each negative tuple


def consolidate(batch: Batch) -> Batch:
    """Without tuples that cancel each other; a batch without negative tuples is returned as it is."""
    return concat(_without_pairs([batch], lambda rows: words_of(rows.columns, len(rows), rows.ts, rows.exp)))


def past_consolidated(batches: Sequence[Batch]) -> list[Batch]:
    """The same of changes that have all begun: when they did does not matter. A batch that loses nothing is not copied.

    Strings are codes of one dictionary in all of them.
    """
    return _without_pairs(batches, lambda rows: words_of(rows.columns, len(rows), rows.exp))


def standing(changes: Batch, at: int) -> Batch:
    """What is left at an instant of changes that have all begun before it."""
    later = changes.exp > at
    left = changes if bool(later.all()) else changes.take(later)
    return concat(past_consolidated([left]))


def _without_pairs(batches: Sequence[Batch], key: Callable[[Batch], UInt64s]) -> list[Batch]:
    """Without pairs of a positive and a negative tuple of one key, which holds the end; other negatives are last."""
    negative = [batch.take(batch.sign < 0) for batch in batches if not batch.is_positive]
    if not negative:
        return list(batches)
    taken_back = concat(negative)
    table = KeyTable(len(taken_back))
    ids = table.intern(key(taken_back))
    waiting = np.bincount(ids)
    ends = _marked(taken_back.exp, np.zeros(1 << int(_MARKS * len(taken_back) // 64).bit_length(), np.uint64))
    left = []
    for batch in batches:
        stays = batch.sign > 0
        places = _perhaps(batch.exp, stays, ends)
        some = batch if len(places) == len(batch) else batch.take(places)
        stays[places] = _left_over(table.find(key(some)), waiting)
        left.append(batch if batch.is_positive and bool(stays.all()) else batch.take(stays))
    unmet = _left_over(ids, np.bincount(ids) - waiting)
    return [*left, taken_back.take(unmet)] if bool(unmet.any()) else left


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


@inlined
def _mark(end: int, marks: UInt64s) -> tuple[int, int]:
    """The word and the bit that stand for an end."""
    code = np.uint64(end) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64((code >> np.uint64(32)) & np.uint64(len(marks) - 1)), np.uint64(1) << (code >> np.uint64(58))


@compiled
def _marked(ends: Int64s, marks: UInt64s) -> UInt64s:
    for end in ends:
        word, bit = _mark(end, marks)
        marks[word] |= bit
    return marks


@compiled
def _perhaps(exp: Int64s, positive: Bools, marks: UInt64s) -> Int64s:
    """The places of positive rows with an end that is marked: all that are to be found, and a few more."""
    places = np.empty(len(exp), np.int64)
    count = 0
    for i in range(len(exp)):
        word, bit = _mark(exp[i], marks)
        if positive[i] and marks[word] & bit != 0:
            places[count] = i
            count += 1
    return places[:count]


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


def as_of(batch: Batch, time: int) -> Batch:
    """The same answers from a time on: what began before begins then, what has ended by then is gone."""
    if not len(batch) or int(batch.ts.min()) >= time:
        return batch
    begun = batch.with_lifetimes(np.maximum(batch.ts, time), batch.exp)
    return begun.take(begun.ts < begun.exp)


def _rank_in_run(values: Int64s) -> Int64s:
    """0, 1, 2, ... within each run of equal values."""
    starts = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
    return np.arange(len(values)) - np.repeat(starts, np.diff(np.append(starts, len(values))))
