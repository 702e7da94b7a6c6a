"""The loops of `asw`: a synopsis's lookup, or update, once for each of many inputs, and the sum of the results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks.baselines import landmark, materialized, search_tree
from windrow.batch.arrays import Bools, Int64s
from windrow.batch.compiled import compiled
from windrow.synopses.positions import basic_interval, interval, nested_landmarks, quantile, running, two_stacks
from windrow.synopses.positions.elements import Rings
from windrow.synopses.positions.words import Operation


class Input(NamedTuple):
    """Updates and lookups mixed: a value that comes, or the width of the window that is looked up."""

    is_update: Bools
    value: Int64s  # rows of one word, and a count of one
    width: Int64s


class Loops(NamedTuple):
    """Over inputs, over values that come, and over windows that are looked up: of one synopsis."""

    mixed: Callable[[Input, int, Operation, Rings], int]
    updates: Callable[[Int64s, Operation, Rings], None]
    lookups: Callable[[Int64s, Int64s, Operation, Rings], int]


def loops_of(synopsis: Any) -> Loops:
    """`synopsis` is a module with `insert_one` and `lookup_one`: a loop of its own for each, so that none pays for
    the choice between them."""

    @compiled
    def mixed(inputs: Input, longest: int, operation: Operation, rings: Rings) -> int:
        is_update, value, width = inputs
        first, next = rings.first, rings.next
        result, total = np.zeros((1, 2), np.int64), 0
        for i in range(len(width)):
            if is_update[i]:
                synopsis.insert_one(0, next[0], True, value, i, operation, rings)
                next[0] += 1
                first[0] = next[0] - longest
            elif width[i] > 0:
                result[0, 0] = result[0, 1] = 0
                synopsis.lookup_one(0, next[0] - width[i], next[0], operation, rings, result, 0)
                total += result[0, 1]
        return total

    @compiled
    def updates(value: Int64s, operation: Operation, rings: Rings) -> None:
        next = rings.next
        for i in range(len(value)):
            synopsis.insert_one(0, next[0], True, value, i, operation, rings)
            next[0] += 1

    @compiled
    def lookups(begin: Int64s, end: Int64s, operation: Operation, rings: Rings) -> int:
        result, total = np.zeros((1, 2), np.int64), 0
        for i in range(len(begin)):
            result[0, 0] = result[0, 1] = 0
            synopsis.lookup_one(0, begin[i], end[i], operation, rings, result, 0)
            total += result[0, 1]
        return total

    return Loops(mixed, updates, lookups)


RUNNING = loops_of(running)
INTERVAL = loops_of(interval)
NESTED_LANDMARKS = loops_of(nested_landmarks)
SEARCH_TREE = loops_of(search_tree)
BASIC_INTERVAL = loops_of(basic_interval)


@compiled
def mixed_landmark(
    inputs: Input, which: Int64s, reach: Int64s, operation: Operation, partitions: tuple[landmark.Landmarks, ...]
) -> int:
    is_update, value, width = inputs
    result, total = np.zeros((1, 2), np.int64), 0
    for i in range(len(width)):
        if is_update[i]:
            for n in range(len(partitions)):
                where = partitions[n]
                landmark.insert_one(0, where.next[0], value, i, operation, where)
                where.next[0] += 1
                where.first[0] = max(0, where.next[0] - reach[n])
        elif width[i] > 0:
            where = partitions[which[width[i]]]
            result[0, 1] = 0
            end = where.next[0]
            landmark.lookup_one(0, landmark.Window(end - width[i], end, end - width[i]), operation, where, result, 0)
            total += result[0, 1]
    return total


@compiled
def mixed_two_stacks(inputs: Input, operators: int, operation: Operation, stacks: two_stacks.Stacks) -> int:
    is_update, value, width = inputs
    first, next = stacks.first, stacks.next
    result, total = np.zeros((1, 2), np.int64), 0
    for i in range(len(width)):
        if is_update[i]:
            for g in range(1, operators):
                two_stacks.insert_one(g, next[g], True, value, i, operation, stacks)
                next[g] += 1
                first[g] = max(0, next[g] - g)
        elif width[i] > 0:
            result[0, 1] = 0
            g = width[i]
            two_stacks.lookup_one(g, first[g], next[g], operation, stacks, result, 0)
            total += result[0, 1]
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
def updates_quantile(value: Int64s, next: Int64s, runs: quantile.Runs) -> None:
    for i in range(len(value)):
        quantile.insert_one(0, next[0], value[i], True, runs)
        next[0] += 1


@compiled
def lookups_quantile(begin: Int64s, end: Int64s, rank: Int64s, runs: quantile.Runs) -> int:
    room, total = quantile.empty_room(), 0
    for i in range(len(begin)):
        total += quantile.rank_one(0, begin[i], end[i], rank[i], runs, room)
    return total
