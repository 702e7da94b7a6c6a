"""Values of groups in order: for each group a balanced search tree that knows how many values lie below each node.

The k-th smallest value of a group is found in a logarithm of the group's size. A value that leaves stays as an empty
node, and all trees are built anew when more than half of the nodes are empty. The trees are treaps: a node's depth
follows from a number hashed from its place, so a tree is balanced whatever order values come in.

Invariant: `size[n]` is the sum of `count` over the subtree of n. Values are integers in the order of what they stand
for, or numbers whose order is looked up in rows of `ranks` (codes of strings, ids of whole rows); the order of two of
them never changes, so a tree stays sorted while its dictionary grows. A second and a third word break ties.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from windrow.batch.arrays import Int64s, grown
from windrow.batch.compiled import compiled
from windrow.numbers.group_events import GroupEvents
from windrow.state.snapshot import OnePiece, Piece, copied

_NONE = 0  # node 0 is no node
_DEEPEST = 512
VALUE, SECOND, COUNT, SIZE, _LEFT, _RIGHT, THIRD = range(7)  # fields of a node
_FIELDS = 7
_WORDS = (VALUE, SECOND, THIRD)
MEDIAN = -1
NO_RANKS: Int64s = np.zeros((0, 1), np.int64)


class Ranks(NamedTuple):
    """How the first and the second words are compared: by rows of ranks, or as they are where there are none."""

    first: Int64s = NO_RANKS
    second: Int64s = NO_RANKS


class Entry(NamedTuple):
    """What a node stands for: a value, and what breaks ties."""

    value: int
    second: int
    third: int


class EntryWords(NamedTuple):
    """Columns of entries."""

    value: Int64s
    second: Int64s
    third: Int64s


class Trees(NamedTuple):
    """The trees of all groups, as kernels take them; `path` is scratch."""

    roots: Int64s
    nodes: Int64s
    tally: Int64s
    path: Int64s


class OrderedValues(OnePiece):
    """Multisets of (value, second word, third word), one a group."""

    def __init__(self) -> None:
        self.roots: Int64s = np.zeros(0, np.int64)
        self.nodes: Int64s = np.zeros((64, _FIELDS), np.int64)
        self.tally: Int64s = np.array([1, 0], np.int64)  # nodes taken (node 0 among them), empty nodes

    def sweep(self, events: GroupEvents, words: EntryWords, ranks: Ranks, fractions: Int64s) -> tuple[Int64s, Int64s]:
        """Go through events; the values found after each last one of an instant, and how many the group then has.

        A fraction φ is a pair (numerator, denominator) and asks for the element at position max(1, ⌈φN⌉), with the
        numerator MEDIAN for the two in the middle, with the denominator negated for the two around φ(N − 1). Found is,
        by fraction and instant: the three words of the element, and those of the next one of two (else the same again).
        """
        self.reserve(events.capacity, len(events.group))
        found, sizes = _sweep(events, words, ranks, fractions, self.trees)
        self.tidy(ranks)
        return found, sizes

    @property
    def trees(self) -> Trees:
        return Trees(self.roots, self.nodes, self.tally, np.empty(_DEEPEST, np.int64))

    def reserve(self, groups: int, values: int) -> None:
        """Room for groups, and for this many more values; called once a step, before anything is changed."""
        self._changes += 1
        self.roots = grown(self.roots, groups)
        self.nodes = grown(self.nodes, int(self.tally[0]) + values)

    def clear(self, groups: Int64s) -> None:
        """Let go of whole groups; their nodes are empty from now on."""
        self._changes += 1
        self.tally[1] += _filled(self.roots[groups], self.nodes)
        self.roots[groups] = _NONE

    def tidy(self, ranks: Ranks) -> bool:
        """Build the trees anew when most of their nodes are empty; whether that was done."""
        due = bool(2 * self.tally[1] > self.tally[0] > 64)
        if due:
            self._rebuild(ranks)
        return due

    def _piece(self) -> Piece:
        return Piece(copied({"roots": self.roots, "nodes": self.nodes[: self.tally[0]], "tally": self.tally}))

    def _read(self, piece: Piece) -> None:
        arrays = copied(piece.arrays)
        self.roots, self.nodes, self.tally = arrays["roots"], arrays["nodes"], arrays["tally"]

    def _rebuild(self, ranks: Ranks) -> None:
        old, roots = self.nodes, self.roots
        self.nodes = np.zeros((max(64, int(self.tally[0])), _FIELDS), np.int64)
        self.roots = np.zeros(len(roots), np.int64)
        self.tally = np.array([1, 0], np.int64)
        _copy_filled(old, roots, ranks, self.trees)


@compiled
def _filled(roots: Int64s, nodes: Int64s) -> int:
    """How many nodes of some trees have values."""
    count = 0
    waiting = np.empty(_DEEPEST, np.int64)
    for root in roots:
        depth = 0
        if root != _NONE:
            waiting[0] = root
            depth = 1
        while depth > 0:
            depth -= 1
            node = waiting[depth]
            count += nodes[node, COUNT] != 0
            for child in (nodes[node, _LEFT], nodes[node, _RIGHT]):
                if child != _NONE:
                    waiting[depth] = child
                    depth += 1
    return count


@compiled
def _order(entry: Entry, node: int, ranks: Int64s, second_ranks: Int64s, nodes: Int64s) -> int:
    """Below 0 when an entry comes before that of a node, 0 when they are the same."""
    side = _side(entry.value, nodes[node, VALUE], ranks)
    if side == 0:
        side = _side(entry.second, nodes[node, SECOND], second_ranks)
    if side == 0 and entry.third != nodes[node, THIRD]:
        return -1 if entry.third < nodes[node, THIRD] else 1
    return side


@compiled
def _side(a: int, b: int, ranks: Int64s) -> int:
    if a == b:
        return 0
    if len(ranks) == 0:
        return -1 if a < b else 1
    for i in range(ranks.shape[1]):
        if ranks[a, i] != ranks[b, i]:
            return -1 if ranks[a, i] < ranks[b, i] else 1
    return 0


@compiled
def _depth_number(node: int) -> int:
    mixed = np.uint64(node) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(32)
    mixed *= np.uint64(0xD6E8FEB86659FD93)
    return mixed ^ (mixed >> np.uint64(32))  # type: ignore[no-any-return]


@compiled
def change_count(
    root: int,
    entry: Entry,
    by: int,
    ranks: Int64s,
    second_ranks: Int64s,
    nodes: Int64s,
    tally: Int64s,
    path: Int64s,
) -> int:
    """Count a value up or down; the root of the group's tree afterwards.

    Called for every event, so it takes arrays: one taken out of a tuple is counted as in use, and released again.
    """
    depth, node = 0, root
    while node != _NONE:
        side = _order(entry, node, ranks, second_ranks, nodes)
        nodes[node, SIZE] += by
        if side == 0:
            before = nodes[node, COUNT]
            nodes[node, COUNT] = before + by
            if before == 0:
                tally[1] -= 1
            elif before + by == 0:
                tally[1] += 1
            return root
        path[depth] = node
        depth += 1
        node = nodes[node, _LEFT] if side < 0 else nodes[node, _RIGHT]
    new = _new_node(entry, by, nodes, tally)
    if depth == 0:
        return new
    parent = path[depth - 1]
    if _order(entry, parent, ranks, second_ranks, nodes) < 0:
        nodes[parent, _LEFT] = new
    else:
        nodes[parent, _RIGHT] = new
    while depth > 0 and _depth_number(path[depth - 1]) < _depth_number(new):
        depth -= 1
        _rotate_up(new, path[depth], nodes)
        if depth > 0:
            above = path[depth - 1]
            if nodes[above, _LEFT] == path[depth]:
                nodes[above, _LEFT] = new
            else:
                nodes[above, _RIGHT] = new
    return new if depth == 0 else root


@compiled
def _new_node(entry: Entry, by: int, nodes: Int64s, tally: Int64s) -> int:
    """A node without children for a value that is not there yet."""
    new = tally[0]
    tally[0] += 1
    nodes[new, VALUE], nodes[new, SECOND], nodes[new, THIRD] = entry.value, entry.second, entry.third
    nodes[new, COUNT] = nodes[new, SIZE] = by
    nodes[new, _LEFT] = nodes[new, _RIGHT] = _NONE
    return new  # type: ignore[no-any-return]


@compiled
def _rotate_up(node: int, parent: int, nodes: Int64s) -> None:
    if nodes[parent, _LEFT] == node:
        nodes[parent, _LEFT] = nodes[node, _RIGHT]
        nodes[node, _RIGHT] = parent
    else:
        nodes[parent, _RIGHT] = nodes[node, _LEFT]
        nodes[node, _LEFT] = parent
    nodes[node, SIZE] = nodes[parent, SIZE]
    left, right = nodes[parent, _LEFT], nodes[parent, _RIGHT]
    nodes[parent, SIZE] = nodes[parent, COUNT] + nodes[left, SIZE] + nodes[right, SIZE]


@compiled
def element_at(root: int, position: int, nodes: Int64s) -> int:
    """The node of the element at a position, counted from 1."""
    node = root
    while True:
        below = nodes[nodes[node, _LEFT], SIZE]
        if position <= below:
            node = nodes[node, _LEFT]
        elif position <= below + nodes[node, COUNT]:
            return node
        else:
            position -= below + nodes[node, COUNT]
            node = nodes[node, _RIGHT]


@compiled
def position_of(root: int, value: int, ranks: Int64s, nodes: Int64s) -> int:
    """The position of the first element that is not before a value, counted from 1; for values without other words."""
    position, node = 1, root
    while node != _NONE:
        side = _side(value, nodes[node, VALUE], ranks)
        if side <= 0:
            node = nodes[node, _LEFT]
        else:
            position += nodes[nodes[node, _LEFT], SIZE] + nodes[node, COUNT]
            node = nodes[node, _RIGHT]
    return position


@compiled
def _sweep(
    events: GroupEvents, words: EntryWords, ranks: Ranks, fractions: Int64s, trees: Trees
) -> tuple[Int64s, Int64s]:
    group, change, is_last = events.group, events.change, events.is_last
    value, second, third = words.value, words.second, words.third
    roots, nodes, tally, path = trees.roots, trees.nodes, trees.tally, trees.path
    by_value, by_second = ranks.first, ranks.second
    found = np.zeros((len(fractions), events.instants, 2, 3), np.int64)
    sizes = np.zeros(events.instants, np.int64)
    place = 0
    for i in range(len(group)):
        if change[i] != 0:
            entry = Entry(value[i], second[i], third[i])
            roots[group[i]] = change_count(roots[group[i]], entry, change[i], by_value, by_second, nodes, tally, path)
        if is_last[i]:
            root = roots[group[i]]
            size = nodes[root, SIZE]
            sizes[place] = size
            if size > 0:
                for question in range(len(fractions)):
                    numerator, denominator = fractions[question]
                    if numerator == MEDIAN:
                        first, after = (size + 1) // 2, size // 2 + 1
                    elif denominator < 0:
                        first = numerator * (size - 1) // -denominator + 1
                        after = first + (numerator * (size - 1) % -denominator != 0)
                    else:
                        first = max(1, -(-numerator * size // denominator))
                        after = first
                    node = element_at(root, first, nodes)
                    next_node = node if after == first else element_at(root, after, nodes)
                    for word in range(3):
                        found[question, place, 0, word] = nodes[node, _WORDS[word]]
                        found[question, place, 1, word] = nodes[next_node, _WORDS[word]]
            place += 1
    return found, sizes


@compiled
def _copy_filled(old: Int64s, old_roots: Int64s, ranks: Ranks, trees: Trees) -> None:
    roots, nodes, tally, path = trees.roots, trees.nodes, trees.tally, trees.path
    by_value, by_second = ranks.first, ranks.second
    waiting = np.empty(_DEEPEST, np.int64)
    for group in range(len(old_roots)):
        depth, node = 0, old_roots[group]
        while depth > 0 or node != _NONE:
            while node != _NONE:
                waiting[depth] = node
                depth += 1
                node = old[node, _LEFT]
            depth -= 1
            node = waiting[depth]
            if old[node, COUNT] != 0:
                entry = Entry(old[node, VALUE], old[node, SECOND], old[node, THIRD])
                roots[group] = change_count(
                    roots[group], entry, old[node, COUNT], by_value, by_second, nodes, tally, path
                )
            node = old[node, _RIGHT]
