"""Merging many states in few calls: reductions, running merges, powers, and merges over stretches of instants.

All of them go level by level through binary trees, so that the number of calls is a logarithm of the number of states
and each call merges as many pairs as there are. They need merge to be associative, and its order not to matter.
"""

from __future__ import annotations

import numpy as np

from windrow.aggregates.user.user_functions import ABSENT, States, UserFunctions
from windrow.batch.arrays import Bools, Int64s


def reduced(functions: UserFunctions, states: States, keys: Int64s) -> tuple[Int64s, States]:
    """One state for each different key; keys are sorted."""
    while True:
        place = _place_in_run(_starts(keys))
        left = np.flatnonzero(place % 2 == 0)
        if len(left) == len(keys):
            return keys, states
        paired = np.append(place[1:], 0)[left] % 2 == 1
        states, keys = _paired(functions, states, left, paired), keys[left]


def running(functions: UserFunctions, states: States, starts: Bools) -> States:
    """Each state merged with all before it in its run; a run begins where `starts` is true. Twice as many merges."""
    place = _place_in_run(starts)
    left = np.flatnonzero(place % 2 == 0)
    if len(left) == len(place):
        return states
    paired = np.append(place[1:], 0)[left] % 2 == 1
    up_to = running(functions, _paired(functions, states, left, paired), starts[left])
    result = states.copy()
    odd = np.flatnonzero(place % 2 == 1)
    number = np.cumsum(place % 2 == 0) - 1  # of the pair that a place is in
    result = result.put(odd, up_to.take(number[odd]))
    later = np.flatnonzero((place % 2 == 0) & (place > 0))
    return result.put(later, functions.merged(up_to.take(number[later] - 1), states.take(later)))


def powers(functions: UserFunctions, states: States, counts: Int64s) -> States:
    """Each state merged with itself until it stands for so many equal rows."""
    result, square, left = functions.absent(len(states)), states.copy(), counts.copy()
    while (left > 0).any():
        odd = np.flatnonzero(left & 1)
        result = result.put(odd, functions.merged(result.take(odd), square.take(odd)))
        left >>= 1
        more = np.flatnonzero(left > 0)
        square = square.put(more, functions.merged(square.take(more), square.take(more)))
    return result


def over_instants(functions: UserFunctions, states: States, begins: Int64s, ends: Int64s, instants: int) -> States:
    """For each of the instants 0, 1, ... the merge of the states that are there; state i from begins[i] to ends[i].

    A stretch is cut into a logarithm of nodes of a binary tree over the instants; what is in a node goes to all
    instants below it.
    """
    size = 1 << max(0, int(instants - 1).bit_length())
    nodes, places = _covering(begins + size, ends + size)
    order = np.argsort(nodes, kind="stable")
    found, merged = reduced(functions, states.take(places[order]), nodes[order])
    tree = functions.absent(2 * size).put(found, merged)
    level = 1
    while level < size:
        below = np.arange(2 * level, 4 * level)
        below = below[tree.status[below // 2] != ABSENT]
        tree = tree.put(below, functions.merged(tree.take(below // 2), tree.take(below)))
        level *= 2
    return tree.take(np.arange(size, size + instants))


def _covering(begins: Int64s, ends: Int64s) -> tuple[Int64s, Int64s]:
    """The nodes that cover stretches of leaves, and which stretch each is for."""
    nodes, places = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    which = np.flatnonzero(begins < ends)
    begins, ends = begins[which], ends[which]
    while len(which):
        odd = begins % 2 == 1
        nodes.append(begins[odd])
        places.append(which[odd])
        begins = begins + odd
        odd = (ends % 2 == 1) & (begins < ends)
        nodes.append(ends[odd] - 1)
        places.append(which[odd])
        begins, ends = begins // 2, ends // 2
        going = begins < ends
        which, begins, ends = which[going], begins[going], ends[going]
    return np.concatenate(nodes), np.concatenate(places)


def _starts(keys: Int64s) -> Bools:
    starts = np.ones(len(keys), np.bool_)
    starts[1:] = keys[1:] != keys[:-1]
    return starts


def _place_in_run(starts: Bools) -> Int64s:
    places = np.arange(len(starts))
    return places - np.maximum.accumulate(np.where(starts, places, 0))


def _paired(functions: UserFunctions, states: States, left: Int64s, paired: Bools) -> States:
    """The states at `left`, merged with the next one where there is a pair."""
    result, with_next = states.take(left), left[paired]
    return result.put(np.flatnonzero(paired), functions.merged(states.take(with_next), states.take(with_next + 1)))
