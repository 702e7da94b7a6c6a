"""The loops of `asw`: a synopsis's lookup, or update, once for each of many inputs, and the sum of the results."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.baselines import landmark, materialized, search_tree
from windrow.batch.arrays import Bools, Int64s
from windrow.batch.compiled import compiled
from windrow.synopses.positions import basic_interval, interval, nested_landmarks, quantile, running, two_stacks
from windrow.synopses.positions.words import ADD

RUNNING, INTERVAL, NESTED_LANDMARKS, SEARCH_TREE, BASIC_INTERVAL = range(5)  # which synopsis a loop calls


@compiled
def insert_one(
    kind: int, p: int, added: Int64s, i: int, operation: int,
    offset: Int64s, size: Int64s, first: Int64s, rows: Int64s,
) -> None:  # fmt: skip
    none = offset[:0]
    if kind == RUNNING:
        running.insert_one(0, p, True, added, i, 1, offset, size, rows)
    elif kind == INTERVAL:
        interval.insert_one(0, p, True, added, i, operation, 1, none, offset, size, rows)
    elif kind == NESTED_LANDMARKS:
        nested_landmarks.insert_one(0, p, True, added, i, operation, 1, none, offset, size, first, rows)
    elif kind == SEARCH_TREE:
        search_tree.insert_one(0, p, True, added, i, operation, 1, none, offset, size, rows)
    else:
        basic_interval.insert_one(0, p, True, added, i, operation, 1, none, offset, size, rows)


@compiled
def lookup_one(
    kind: int, begin: int, end: int, operation: int, offset: Int64s, size: Int64s, rows: Int64s, found: Int64s
) -> int:
    """The sum, or extreme, over the elements at [begin, end)."""
    none = offset[:0]
    found[0, 0] = found[0, 1] = 0
    if kind == RUNNING:
        running.lookup_one(0, begin, end, 1, offset, size, rows, found, 0)
    elif kind == INTERVAL:
        interval.lookup_one(0, begin, end, operation, 1, none, offset, size, rows, found, 0)
    elif kind == NESTED_LANDMARKS:
        nested_landmarks.lookup_one(0, begin, end, operation, 1, none, offset, size, rows, found, 0)
    elif kind == SEARCH_TREE:
        search_tree.lookup_one(0, begin, end, operation, 1, none, offset, size, rows, found, 0)
    else:
        basic_interval.lookup_one(0, begin, end, operation, 1, none, offset, size, rows, found, 0)
    return int(found[0, 1])


@compiled
def mixed(
    is_update: Bools, value: Int64s, width: Int64s, kind: int, longest: int,
    offset: Int64s, size: Int64s, first: Int64s, next: Int64s, rows: Int64s,
) -> int:  # fmt: skip
    found, total = np.zeros((1, 2), np.int64), 0
    for i in range(len(is_update)):
        if is_update[i]:
            insert_one(kind, next[0], value, i, ADD, offset, size, first, rows)
            next[0] += 1
            first[0] = next[0] - longest
        elif width[i] > 0:
            total += lookup_one(kind, next[0] - width[i], next[0], ADD, offset, size, rows, found)
    return total


@compiled
def mixed_landmark(
    is_update: Bools, value: Int64s, width: Int64s, which: Int64s, smallest: Int64s, reach: Int64s,
    offset: Any, size: Any, first: Any, next: Any, time: Any, opened: Any, closed: Any, back: Any, forward: Any,
) -> int:  # fmt: skip
    found, total, none = np.zeros((1, 2), np.int64), 0, which[:0]
    for i in range(len(is_update)):
        if is_update[i]:
            for n in range(len(smallest)):
                landmark.insert_one(
                    0, next[n][0], value, i, 0, 1, none, smallest[n], True, True,
                    offset[n], size[n], first[n], next[n], time[n], opened[n], closed[n], back[n], forward[n],
                )  # fmt: skip
                next[n][0] += 1
                first[n][0] = max(0, next[n][0] - reach[n])
        elif width[i] > 0:
            n = which[width[i]]
            found[0, 1] = 0
            end = next[n][0]
            landmark.lookup_one(
                0, end - width[i], end, end - width[i], 0, 1, none, smallest[n], True, True,
                offset[n], size[n], first[n], next[n], time[n], opened[n], closed[n], back[n], forward[n], found, 0,
            )  # fmt: skip
            total += found[0, 1]
    return total


@compiled
def mixed_two_stacks(
    is_update: Bools, value: Int64s, width: Int64s, operators: int,
    offset: Int64s, size: Int64s, first: Int64s, next: Int64s, rows: Int64s, middle: Int64s, back: Int64s,
) -> int:  # fmt: skip
    found, total, none = np.zeros((1, 2), np.int64), 0, offset[:0]
    for i in range(len(is_update)):
        if is_update[i]:
            for g in range(1, operators):
                two_stacks.insert_one(g, next[g], True, value, i, 0, 1, none, offset, size, first, rows, middle, back)
                next[g] += 1
                first[g] = max(0, next[g] - g)
        elif width[i] > 0:
            found[0, 1] = 0
            g = width[i]
            two_stacks.lookup_one(
                g, first[g], next[g], 0, 1, none, offset, size, first, next, rows, middle, back, found, 0
            )
            total += found[0, 1]
    return total


@compiled
def mixed_materialized(
    is_update: Bools, value: Int64s, width: Int64s, widths: Int64s,
    offset: Int64s, size: Int64s, next: Int64s, rows: Int64s, answers: Int64s,
) -> int:  # fmt: skip
    total, none = 0, offset[:0]
    for i in range(len(is_update)):
        if is_update[i]:
            basic_interval.insert_one(0, next[0], True, value, i, 0, 1, none, offset, size, rows)
            materialized.update_one(0, next[0], widths, 0, 1, none, offset, size, rows, answers)
            next[0] += 1
        else:
            total += answers[width[i], 1]
    return total


@compiled
def updates(
    kind: int, operation: int, value: Int64s,
    offset: Int64s, size: Int64s, first: Int64s, next: Int64s, rows: Int64s,
) -> None:  # fmt: skip
    for i in range(len(value)):
        insert_one(kind, next[0], value, i, operation, offset, size, first, rows)
        next[0] += 1


@compiled
def updates_quantile(
    value: Int64s, start: Int64s, offset: Int64s, size: Int64s, next: Int64s, runs: Int64s, nulls: Int64s
) -> None:
    for i in range(len(value)):
        quantile.insert_one(0, next[0], value[i], True, start, offset, size, runs, nulls)
        next[0] += 1


@compiled
def lookups(
    kind: int, operation: int, begin: Int64s, end: Int64s,
    offset: Int64s, size: Int64s, first: Int64s, next: Int64s, rows: Int64s,
) -> int:  # fmt: skip
    found, total = np.zeros((1, 2), np.int64), 0
    for i in range(len(begin)):
        total += lookup_one(kind, begin[i], end[i], operation, offset, size, rows, found)
    return total


@compiled
def lookups_quantile(
    begin: Int64s, end: Int64s, rank: Int64s,
    start: Int64s, offset: Int64s, size: Int64s, next: Int64s, runs: Int64s, nulls: Int64s,
) -> int:  # fmt: skip
    room, total = np.empty((5, 130), np.int64), 0
    for i in range(len(begin)):
        total += quantile.rank_one(
            0, begin[i], end[i], rank[i], start, size, runs, room[0], room[1], room[2], room[3], room[4]
        )
    return total
