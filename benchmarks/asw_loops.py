"""The loops of `asw`: a synopsis's lookup, or update, once for each of many inputs, and the sum of the results."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from benchmarks.baselines import landmark, materialized, search_tree
from windrow.batch.arrays import Bools, Int64s
from windrow.batch.compiled import compiled, inlined
from windrow.synopses.positions import basic_interval, interval, nested_landmarks, quantile, running, two_stacks
from windrow.synopses.positions.elements import Rings
from windrow.synopses.positions.words import Operation

RUNNING, INTERVAL, NESTED_LANDMARKS, SEARCH_TREE, BASIC_INTERVAL = range(5)  # which synopsis a loop calls


class Input(NamedTuple):
    """Updates and lookups mixed: a value that comes, or the width of the window that is looked up."""

    is_update: Bools
    value: Int64s  # rows of one word, and a count of one
    width: Int64s


@inlined
def insert_one(kind: int, p: int, added: Int64s, i: int, operation: Operation, rings: Rings) -> None:
    if kind == RUNNING:
        running.insert_one(0, p, True, added, i, operation.plain, rings)
    elif kind == INTERVAL:
        interval.insert_one(0, p, True, added, i, operation, rings)
    elif kind == NESTED_LANDMARKS:
        nested_landmarks.insert_one(0, p, True, added, i, operation, rings)
    elif kind == SEARCH_TREE:
        search_tree.insert_one(0, p, True, added, i, operation, rings)
    else:
        basic_interval.insert_one(0, p, True, added, i, operation, rings)


@inlined
def lookup_one(kind: int, begin: int, end: int, operation: Operation, rings: Rings, found: Int64s) -> int:
    """The sum, or extreme, over the elements at [begin, end)."""
    found[0, 0] = found[0, 1] = 0
    if kind == RUNNING:
        running.lookup_one(0, begin, end, operation.plain, rings, found, 0)
    elif kind == INTERVAL:
        interval.lookup_one(0, begin, end, operation, rings, found, 0)
    elif kind == NESTED_LANDMARKS:
        nested_landmarks.lookup_one(0, begin, end, operation, rings, found, 0)
    elif kind == SEARCH_TREE:
        search_tree.lookup_one(0, begin, end, operation, rings, found, 0)
    else:
        basic_interval.lookup_one(0, begin, end, operation, rings, found, 0)
    return int(found[0, 1])


@compiled
def mixed(inputs: Input, kind: int, longest: int, operation: Operation, rings: Rings) -> int:
    is_update, value, width = inputs
    first, next = rings.first, rings.next
    found, total = np.zeros((1, 2), np.int64), 0
    for i in range(len(width)):
        if is_update[i]:
            insert_one(kind, next[0], value, i, operation, rings)
            next[0] += 1
            first[0] = next[0] - longest
        elif width[i] > 0:
            total += lookup_one(kind, next[0] - width[i], next[0], operation, rings, found)
    return total


@compiled
def mixed_landmark(
    inputs: Input, which: Int64s, reach: Int64s, operation: Operation, partitions: tuple[landmark.Landmarks, ...]
) -> int:
    is_update, value, width = inputs
    found, total = np.zeros((1, 2), np.int64), 0
    for i in range(len(width)):
        if is_update[i]:
            for n in range(len(partitions)):
                where = partitions[n]
                landmark.insert_one(0, where.next[0], value, i, operation, where)
                where.next[0] += 1
                where.first[0] = max(0, where.next[0] - reach[n])
        elif width[i] > 0:
            where = partitions[which[width[i]]]
            found[0, 1] = 0
            end = where.next[0]
            landmark.lookup_one(0, landmark.Window(end - width[i], end, end - width[i]), operation, where, found, 0)
            total += found[0, 1]
    return total


@compiled
def mixed_two_stacks(inputs: Input, operators: int, operation: Operation, stacks: two_stacks.Stacks) -> int:
    is_update, value, width = inputs
    first, next = stacks.first, stacks.next
    found, total = np.zeros((1, 2), np.int64), 0
    for i in range(len(width)):
        if is_update[i]:
            for g in range(1, operators):
                two_stacks.insert_one(g, next[g], True, value, i, operation, stacks)
                next[g] += 1
                first[g] = max(0, next[g] - g)
        elif width[i] > 0:
            found[0, 1] = 0
            g = width[i]
            two_stacks.lookup_one(g, first[g], next[g], operation, stacks, found, 0)
            total += found[0, 1]
    return total


@compiled
def mixed_materialized(inputs: Input, widths: Int64s, operation: Operation, rings: Rings, answers: Int64s) -> int:
    is_update, value, width = inputs
    next, total = rings.next, 0
    for i in range(len(width)):
        if is_update[i]:
            basic_interval.insert_one(0, next[0], True, value, i, operation, rings)
            materialized.update_one(0, next[0], widths, operation, rings, answers)
            next[0] += 1
        else:
            total += answers[width[i], 1]
    return total


@compiled
def updates(kind: int, value: Int64s, operation: Operation, rings: Rings) -> None:
    for i in range(len(value)):
        insert_one(kind, rings.next[0], value, i, operation, rings)
        rings.next[0] += 1


@compiled
def updates_quantile(value: Int64s, next: Int64s, runs: quantile.Runs) -> None:
    for i in range(len(value)):
        quantile.insert_one(0, next[0], value[i], True, runs)
        next[0] += 1


@compiled
def lookups(kind: int, begin: Int64s, end: Int64s, operation: Operation, rings: Rings) -> int:
    found, total = np.zeros((1, 2), np.int64), 0
    for i in range(len(begin)):
        total += lookup_one(kind, begin[i], end[i], operation, rings, found)
    return total


@compiled
def lookups_quantile(begin: Int64s, end: Int64s, rank: Int64s, runs: quantile.Runs) -> int:
    room, total = quantile.empty_room(), 0
    for i in range(len(begin)):
        total += quantile.rank_one(0, begin[i], end[i], rank[i], runs, room)
    return total
