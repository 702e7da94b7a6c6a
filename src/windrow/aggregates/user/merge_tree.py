"""Merge trees: the states of a group's values, merged in pairs, pairs of pairs, and so on up to the group's root.

When a value comes or goes only the nodes above it are merged anew: a logarithm of the group's values, whatever order
they leave in. Values have numbers within their group, which are given out again. All changes of a step are made
together, level by level, so that there are as few calls of merge as levels.

Invariant: a node (group, level, place) is the merge of (level - 1, 2 · place) and (level - 1, 2 · place + 1), in this
order; one whose state is absent is not in the table. The root of a group has the level that its numbers need.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from windrow.aggregates.user.user_functions import ABSENT, States, UserFunctions
from windrow.batch.arrays import Array, Int64s, UInt64s
from windrow.batch.compiled import compiled
from windrow.batch.key_table import ABSENT as UNKNOWN
from windrow.batch.key_table import KeyTable
from windrow.state.keyed_arrays import KeyedArrays

_LEVEL = np.uint64(40)  # places are below this bit of a node's second word


class MergeTrees:
    """One tree a group."""

    def __init__(self, functions: UserFunctions) -> None:
        self._functions = functions
        self._nodes = KeyTable()
        self._states = functions.absent(0)

    def put(self, group: Int64s, number: Int64s, states: States, height: Int64s) -> None:
        """Write leaves, each at most once, and what is above them; `height` is that of each leaf's group."""
        order = np.lexsort((number, group))
        group, number, height = group[order], number[order], height[order]
        self._write(group, 0, number, states.take(order))
        for level in range(int(height.max()) if len(height) else 0):
            higher = height > level
            group, number, height = group[higher], number[higher] // 2, height[higher]
            first = np.ones(len(group), np.bool_)
            first[1:] = (group[1:] != group[:-1]) | (number[1:] != number[:-1])
            group, number, height = group[first], number[first], height[first]
            left, right = (self.read(group, level, 2 * number + side) for side in (0, 1))
            self._write(group, level + 1, number, self._functions.merged(left, right))

    def read(self, group: Int64s, level: int | Int64s, number: Int64s) -> States:
        """The states of nodes."""
        ids = self._nodes.find(_words(group, level, number))
        known = np.flatnonzero(ids != UNKNOWN)
        return self._functions.absent(len(ids)).put(known, self._states.take(ids[known]))

    def _write(self, group: Int64s, level: int, number: Int64s, states: States) -> None:
        ids = self._nodes.intern(_words(group, level, number))
        self._states = self._states.put(ids, states)
        self._nodes.forget(ids[states.status == ABSENT])


def _words(group: Int64s, level: int | Int64s, number: Int64s) -> UInt64s:
    levels = np.broadcast_to(np.asarray(level, np.int64), len(group)).astype(np.uint64)
    return np.stack([group.astype(np.uint64), levels << _LEVEL | number.astype(np.uint64)], axis=1)


class ValueNumbers:
    """The numbers of values within their groups: the smallest that are free, in the order in which they became so."""

    def __init__(self) -> None:
        self.of_value = KeyedArrays(number=np.int64)
        self.of_group = KeyedArrays(used=np.int64, free=np.int64)
        self.chains = KeyedArrays(number=np.int64, next=np.int64)  # free numbers of groups; link 0 is none
        self.tally = KeyedArrays(count=np.int64)  # links ever made (0 among them), and the first of those not in use
        self.tally.reserve(2)
        self.tally["count"][0] = 1

    def change(self, group: Int64s, value: Int64s, coming: Array, going: Array, groups: int, values: int) -> None:
        """Give numbers to values that come and take those of values that go; values are ids below `values`."""
        self.of_value.reserve(values)
        self.of_group.reserve(groups)
        self.tally.reserve(2)
        self.chains.reserve(int(self.tally["count"][0]) + len(value))
        chains = _Chains(self.of_group["free"], self.chains["number"], self.chains["next"], self.tally["count"])
        moves = _Moves(group, value, coming, going)
        _change(moves, self.of_value["number"], self.of_group["used"], chains)

    def heights(self, group: Int64s) -> Int64s:
        """The levels that a group's tree has above its leaves."""
        used = np.maximum(self.of_group["used"][group] - 1, 0)
        return np.where(used > 0, np.frexp(used.astype(np.float64))[1], 0).astype(np.int64)


class _Moves(NamedTuple):
    """Values of groups, and which of them come and go."""

    group: Int64s
    value: Int64s
    coming: Array
    going: Array


class _Chains(NamedTuple):
    """Free numbers: by group the first link, by link its number and the next link, and the links not in use."""

    first: Int64s
    number: Int64s
    following: Int64s
    tally: Int64s


@compiled
def _change(moves: _Moves, number: Int64s, used: Int64s, chains: _Chains) -> None:
    group, value, coming, going = moves.group, moves.value, moves.coming, moves.going
    free, chain_number, chain_next, tally = chains.first, chains.number, chains.following, chains.tally
    for i in range(len(value)):
        g, v = group[i], value[i]
        if going[i]:
            link = tally[1]
            if link != 0:
                tally[1] = chain_next[link]
            else:
                link = tally[0]
                tally[0] += 1
            chain_number[link], chain_next[link] = number[v], free[g]
            free[g] = link
    for i in range(len(value)):
        g, v = group[i], value[i]
        if coming[i]:
            link = free[g]
            if link == 0:
                number[v] = used[g]
                used[g] += 1
            else:
                number[v] = chain_number[link]
                free[g] = chain_next[link]
                chain_next[link] = tally[1]
                tally[1] = link
