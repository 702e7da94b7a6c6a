"""Collective indexes CI-MAX and CI-MIN: which groups have had a value beyond a threshold, exactly.

Of a group only the elements count that no later one equals or exceeds: from the newest to the oldest their values rise.
MAX > v over a window means that the newest of them with a value above v is in the window. That one is told by v alone:
each of them answers for the thresholds from the next lower value up to its own, and these ranges do not overlap. So the
question is which ranges v lies in, among those whose element is not too old.

A tree over thresholds holds each range in the few nodes that make it up, and a node's ranges are a heap, newest first.
A threshold has one path to the root, and of each heap on it only what is new enough is looked at. With N elements that
count: memory N log N, a lookup log N and what it finds, an element log N changes of heaps; these are skew heaps, for
another log N. (Arasu and Widom give these bounds in their figure 1, and no algorithm.)

Leaves of the tree are stretches of values, drawn anew from the elements when these have doubled in number; a range is
rounded to leaves, and what is found is compared with its true ends. For suffix windows of time, MAX > v and MIN < v.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from windrow.batch.arrays import Int64s, grown
from windrow.batch.compiled import compiled
from windrow.state.snapshot import OnePiece, Piece
from windrow.synopses.positions.elements import EMPTY

_LOWEST = -(2**63)
_CHUNK = 4096  # elements for which room is made at a time

# Fields of an element that counts, of a group and of an entry in a heap; number 0 is none of any.
_GROUP, _TIME, _LOW, _VALUE, _OLDER, _NEWER, _FIRST = range(7)
_NEWEST, _OLDEST = range(2)
_ELEMENT, _NODE, _LEFT, _RIGHT, _PARENT, _SIBLING = range(6)


class Forest(NamedTuple):
    """Elements that count, filed under the nodes of the tree over thresholds, for a compiled loop."""

    elements: Int64s
    entries: Int64s
    roots: Int64s
    tally: Int64s


class CollectiveExtremes(OnePiece):
    """CI-MAX over integers in the order of values; CI-MIN with `largest` false."""

    def __init__(self, largest: bool = True) -> None:
        self.largest = largest
        self._clear(EMPTY)

    def _clear(self, edges: Int64s) -> None:
        """Nothing is kept, under leaves with other edges."""
        self.edges = edges  # leaf n begins at edges[n - 1]
        self.groups: Int64s = np.zeros((0, 2), np.int64)
        self.elements: Int64s = np.zeros((1, 7), np.int64)
        self.entries: Int64s = np.zeros((1, 6), np.int64)
        self.roots: Int64s = np.zeros(2 * (len(edges) + 1), np.int64)
        self.tally: Int64s = np.array([1, 0, 1, 0, 0])  # elements made, free ones, entries made, free ones, alive

    def __len__(self) -> int:
        return int(self.tally[4])

    @property
    def nbytes(self) -> int:
        arrays = (self.edges, self.groups, self.elements, self.entries, self.roots)
        return sum(array.nbytes for array in arrays)

    @property
    def forest(self) -> Forest:
        return Forest(self.elements, self.entries, self.roots, self.tally)

    def insert(self, group: Int64s, time: Int64s, value: Int64s) -> None:
        """Elements in the order of time; values as integers in their order (`batch.column.order_of`)."""
        self._changes += 1
        values = value if self.largest else ~value
        for start in range(0, len(group), _CHUNK):
            part = slice(start, start + _CHUNK)
            self._insert(group[part], time[part], values[part])

    def beyond(self, begin: int, threshold: int) -> Int64s:
        """The groups with a value above (of MIN: below) the threshold since `begin`, each once."""
        limit = threshold if self.largest else ~threshold
        result = np.empty(len(self), np.int64)
        waiting = np.empty(max(1, int(self.tally[2])), np.int64)
        leaf = int(np.searchsorted(self.edges, limit, side="right"))
        count = _beyond(begin, limit, leaf, self.forest, waiting, result)
        return np.sort(result[:count])

    def expire_until(self, time: int) -> None:
        self._changes += 1
        _expire(time, self.groups, self.forest)

    def forget(self, group: Int64s) -> None:
        self._changes += 1
        _forget(group, self.groups, self.forest)

    def _insert(self, group: Int64s, time: Int64s, value: Int64s) -> None:
        if len(self) + len(group) > 4 * (len(self.edges) + 1):
            self._redraw(value)
        self._fill(group, time, value)

    def _fill(self, group: Int64s, time: Int64s, value: Int64s) -> None:
        """Room for as many entries as there could be, then the elements."""
        self.groups = grown(self.groups, int(group.max()) + 1 if len(group) else 0)
        self.elements = grown(self.elements, int(self.tally[0]) + len(group))
        height = (len(self.edges) + 1).bit_length()
        self.entries = grown(self.entries, int(self.tally[2]) + 4 * (height + 1) * len(group))
        _insert(group, time, value, self.edges, self.groups, self.forest)

    def _redraw(self, coming: Int64s) -> None:
        """Leaves with about as many of the elements each, and all elements under them."""
        group, time, value = self._alive()
        values = np.sort(np.concatenate([value, coming]))
        leaves = 1 << int(max(1, len(values) - 1)).bit_length()
        edges = values[np.linspace(0, len(values) - 1, leaves - 1).astype(np.int64)]
        groups = len(self.groups)
        self._clear(edges)
        self.groups = np.zeros((groups, 2), np.int64)
        for start in range(0, len(group), _CHUNK):
            part = slice(start, start + _CHUNK)
            self._fill(group[part], time[part], value[part])

    def _alive(self) -> tuple[Int64s, Int64s, Int64s]:
        """The elements that count, in the order of time, older before newer within a group."""
        rows = _listed(self.groups, self.elements, len(self))
        rows = rows[np.argsort(rows[:, 1], kind="stable")]
        return tuple(np.ascontiguousarray(rows[:, n]) for n in range(3))  # type: ignore[return-value]

    def _piece(self) -> Piece:
        group, time, value = self._alive()
        return Piece({"group": group, "time": time, "value": value})

    def _read(self, piece: Piece) -> None:
        group, time, value = (piece.arrays[key] for key in ("group", "time", "value"))
        for start in range(0, len(group), _CHUNK):
            part = slice(start, start + _CHUNK)
            self._insert(group[part], time[part], value[part])


@compiled
def _meld(a: int, b: int, elements: Int64s, entries: Int64s) -> int:
    """Two heaps in one: along the right sides, whose children are swapped on the way."""
    if a == 0 or b == 0:
        return a + b
    if elements[entries[a, _ELEMENT], _TIME] < elements[entries[b, _ELEMENT], _TIME]:
        a, b = b, a
    top = a
    while True:
        right = entries[a, _RIGHT]
        entries[a, _RIGHT] = entries[a, _LEFT]
        if right == 0:
            entries[a, _LEFT], entries[b, _PARENT] = b, a
            return top
        if elements[entries[right, _ELEMENT], _TIME] < elements[entries[b, _ELEMENT], _TIME]:
            right, b = b, right
        entries[a, _LEFT], entries[right, _PARENT] = right, a
        a = right


@compiled
def _file(element: int, node: int, forest: Forest) -> None:
    """An element's entry in the heap of a node."""
    elements, entries, roots, tally = forest
    if tally[3] != 0:
        entry = tally[3]
        tally[3] = entries[entry, _SIBLING]
    else:
        entry = tally[2]
        tally[2] += 1
    entries[entry, _ELEMENT], entries[entry, _NODE] = element, node
    entries[entry, _LEFT] = entries[entry, _RIGHT] = entries[entry, _PARENT] = 0
    entries[entry, _SIBLING] = elements[element, _FIRST]
    elements[element, _FIRST] = entry
    root = _meld(roots[node], entry, elements, entries)
    roots[node], entries[root, _PARENT] = root, 0


@compiled
def _unfile(element: int, forest: Forest) -> None:
    """Take all entries of an element out of their heaps."""
    elements, entries, roots, tally = forest
    entry = elements[element, _FIRST]
    while entry != 0:
        following = entries[entry, _SIBLING]
        below = _meld(entries[entry, _LEFT], entries[entry, _RIGHT], elements, entries)
        parent = entries[entry, _PARENT]
        if below != 0:
            entries[below, _PARENT] = parent
        if parent == 0:
            roots[entries[entry, _NODE]] = below
        elif entries[parent, _LEFT] == entry:
            entries[parent, _LEFT] = below
        else:
            entries[parent, _RIGHT] = below
        entries[entry, _SIBLING] = tally[3]
        tally[3] = entry
        entry = following
    elements[element, _FIRST] = 0


@compiled
def _file_range(element: int, edges: Int64s, forest: Forest) -> None:
    """File an element under the nodes that make up its range of thresholds."""
    elements = forest.elements
    if elements[element, _LOW] >= elements[element, _VALUE]:
        return
    leaves = len(edges) + 1
    left = leaves + np.searchsorted(edges, elements[element, _LOW], side="right")
    right = leaves + np.searchsorted(edges, elements[element, _VALUE] - 1, side="right") + 1
    while left < right:
        if left & 1:
            _file(element, left, forest)
            left += 1
        if right & 1:
            right -= 1
            _file(element, right, forest)
        left >>= 1
        right >>= 1


@compiled
def _drop(element: int, forest: Forest) -> None:
    _unfile(element, forest)
    tally = forest.tally
    forest.elements[element, _OLDER] = tally[1]
    tally[1] = element
    tally[4] -= 1


@compiled
def _insert_one(g: int, now: int, value: int, edges: Int64s, groups: Int64s, forest: Forest) -> None:
    """A new element of a group: those that it equals or exceeds do not count any more."""
    elements, tally = forest.elements, forest.tally
    older = groups[g, _NEWEST]
    while older != 0 and elements[older, _VALUE] <= value:
        following = elements[older, _OLDER]
        _drop(older, forest)
        older = following
    if older != 0:
        _unfile(older, forest)
        elements[older, _LOW] = value
        _file_range(older, edges, forest)
    if tally[1] != 0:
        element = tally[1]
        tally[1] = elements[element, _OLDER]
    else:
        element = tally[0]
        tally[0] += 1
    tally[4] += 1
    elements[element, _GROUP], elements[element, _TIME] = g, now
    elements[element, _LOW], elements[element, _VALUE] = _LOWEST, value
    elements[element, _OLDER], elements[element, _NEWER], elements[element, _FIRST] = older, 0, 0
    if older != 0:
        elements[older, _NEWER] = element
    else:
        groups[g, _OLDEST] = element
    groups[g, _NEWEST] = element
    _file_range(element, edges, forest)


@compiled
def _insert(group: Int64s, time: Int64s, value: Int64s, edges: Int64s, groups: Int64s, forest: Forest) -> None:
    for i in range(len(group)):
        _insert_one(group[i], time[i], value[i], edges, groups, forest)


@compiled
def _beyond(begin: int, threshold: int, leaf: int, forest: Forest, waiting: Int64s, result: Int64s) -> int:
    """Groups whose newest value above a threshold is not older, into `result`; how many there are."""
    elements, entries, roots, _ = forest
    count, node = 0, len(roots) // 2 + leaf
    while node > 0:
        depth = 0
        if roots[node] != 0:
            waiting[0] = roots[node]
            depth = 1
        while depth > 0:
            depth -= 1
            entry = waiting[depth]
            element = entries[entry, _ELEMENT]
            if elements[element, _TIME] < begin:
                continue
            if elements[element, _LOW] <= threshold < elements[element, _VALUE]:
                result[count] = elements[element, _GROUP]
                count += 1
            for child in (entries[entry, _LEFT], entries[entry, _RIGHT]):
                if child != 0:
                    waiting[depth] = child
                    depth += 1
        node >>= 1
    return count


@compiled
def _drop_oldest(g: int, groups: Int64s, forest: Forest) -> None:
    elements = forest.elements
    oldest = groups[g, _OLDEST]
    newer = elements[oldest, _NEWER]
    _drop(oldest, forest)
    groups[g, _OLDEST] = newer
    if newer == 0:
        groups[g, _NEWEST] = 0
    else:
        elements[newer, _OLDER] = 0


@compiled
def _expire(until: int, groups: Int64s, forest: Forest) -> None:
    elements = forest.elements
    for g in range(len(groups)):
        while groups[g, _OLDEST] != 0 and elements[groups[g, _OLDEST], _TIME] < until:
            _drop_oldest(g, groups, forest)


@compiled
def _forget(group: Int64s, groups: Int64s, forest: Forest) -> None:
    for g in group:
        while groups[g, _OLDEST] != 0:
            _drop_oldest(g, groups, forest)


@compiled
def _listed(groups: Int64s, elements: Int64s, count: int) -> Int64s:
    rows, place = np.empty((count, 3), np.int64), 0
    for g in range(len(groups)):
        element = groups[g, _OLDEST]
        while element != 0:
            rows[place, 0], rows[place, 1], rows[place, 2] = g, elements[element, _TIME], elements[element, _VALUE]
            place += 1
            element = elements[element, _NEWER]
    return rows
