"""Join synopses BIJ, IJ and RJ: aggregates over joins of windows of several lengths, from one structure (thesis 8.3.2).

The results of a join do not end in the order in which they begin: one ends with the older of its two tuples. So the
intervals of a synopsis are by the slice of the older tuple, and a result that is made now is merged into the interval
that it belongs to, however far back. A join of two windows of n slices each is then the newest n intervals: merged one
by one (BIJ), from dyadic intervals (IJ), or as a difference of running ones (RJ).

For windows of unequal lengths n1 < n2 there are also results whose second tuple is up to n2 slices old while the first
is within n1. Every interval therefore knows its results by which tuple is the older one, and by how many slices, up to
g: then lengths may differ by up to g. (The thesis keeps three values in the g oldest intervals, which tells lengths
apart that differ by one slice; and it wants n1, n2 ≥ b − g, which is not needed here.)

Costs: BIJ an update and n merges a lookup, IJ log b and log b, RJ b and a constant; and g more of each for unequal
windows.

Snapshots hold the slices of groups, a block of groups a piece; what is above the slices is merged again. A block to
which nothing was added is not written again: slices that have left since are left out when it is read.
"""

from __future__ import annotations

import enum
from collections.abc import Container, Mapping
from typing import NamedTuple

import numpy as np

from windrow.batch.arrays import Int64s, grown
from windrow.batch.column import Column
from windrow.batch.compiled import compiled, inlined
from windrow.errors import WindrowError
from windrow.state.snapshot import Piece, Snapshot
from windrow.synopses.positions.interval import node
from windrow.synopses.positions.word_aggregates import WordAggregate
from windrow.synopses.positions.words import Layout, Operation, Words, merge, subtract, widened

_NEVER = -(2**62)
_HEAD = "head."
_BLOCK = 1 << 10  # groups in a piece


class JoinSynopsisForm(enum.IntEnum):
    BASIC = 0  # BIJ
    INTERVAL = 1  # IJ
    RUNNING = 2  # RJ


_BASIC, _INTERVAL, _RUNNING = (int(form) for form in JoinSynopsisForm)  # for compiled loops


class PairSlices(NamedTuple):
    """What is known of the slices of groups, for a compiled loop."""

    form: int
    difference: int
    longest: int
    size: int
    end: int
    cells: Int64s
    above: Int64s


class PairSynopsis:
    """`longest` is b, the longest window in slices; `difference` is g, how far two lengths may be apart."""

    def __init__(
        self, aggregate: WordAggregate, form: JoinSynopsisForm, slice: int, longest: int, difference: int = 0
    ) -> None:
        if form is JoinSynopsisForm.RUNNING and not aggregate.is_subtractable:
            raise WindrowError(f"{aggregate.name} cannot be subtracted", "keep it in a basic or interval join synopsis")
        self.aggregate, self.form, self.slice = aggregate, form, slice
        self.longest, self.difference = longest, difference
        self.layout = aggregate.empty
        self.end = _NEVER  # the slice after the newest one
        self._size = 1 << longest.bit_length()  # places of a ring of slices; more than there are slices
        self._rows_per_place = 1 + 2 * difference  # all results; those older by c slices or more, first and second
        self.cells = self._zeros(self._size * self._rows_per_place)
        self.above = self._zeros(
            0 if form is JoinSynopsisForm.BASIC else 2 * self._size
        )  # dyadic or running, over all results
        self._number = 0
        self._changed = np.zeros(0, np.int64)  # by block of groups: the number of its last change

    @property
    def nbytes(self) -> int:
        return self.cells.nbytes + self.above.nbytes

    def insert(self, group: Int64s, first: Int64s, second: Int64s, values: tuple[Column, ...]) -> None:
        """Results of the join, with the times of their two tuples."""
        if not len(group):
            return
        self._reserve(int(group.max()) + 1)
        self._number += 1
        self._changed[group // _BLOCK] = self._number
        first, second = first // self.slice, second // self.slice
        self._advance(int(max(first.max(), second.max())) + 1)
        came = self.aggregate.encode(values, len(group))
        self._cover(came.layout)
        rows = widened(came.rows, came.layout, self.layout)
        _insert(group, first, second, rows, self._operation, self._slices)

    def advance(self, time: int) -> None:
        """Windows end at `time` or later from now on, at an edge of a slice."""
        self._number += 1
        self._advance(time // self.slice)

    def lookup(self, group: Int64s, first: Int64s, second: Int64s) -> Column:
        """The aggregate over the join of the last `first` slices with the last `second`, up to the newest slice."""
        if bool(((np.minimum(first, second) < 1) | (np.maximum(first, second) > self.longest)).any()):
            raise WindrowError("a window is longer than the synopsis", f"it covers 1 to {self.longest} slices")
        if bool((np.abs(first - second) > self.difference).any()):
            what = f"two windows differ by more than {self.difference} slices"
            raise WindrowError(what, "keep a synopsis with a larger difference")
        result = _lookup(group, first, second, self._operation, self._slices)
        return self.aggregate.finish(Words(self.layout, np.asarray(result)))

    def converted(self, form: JoinSynopsisForm) -> PairSynopsis:
        """The same slices, with something else above them."""
        other = PairSynopsis(self.aggregate, form, self.slice, self.longest, self.difference)
        other.restore(self.snapshot(()).pieces)
        return other

    @property
    def _slices(self) -> PairSlices:
        shape = int(self.form), self.difference, self.longest, self._size, self.end
        return PairSlices(*shape, self.cells, self.above)

    @property
    def _operation(self) -> Operation:
        return self.aggregate.operation(self.layout)

    def _zeros(self, rows: int) -> Int64s:
        """So many rows a group, for no groups yet."""
        return np.zeros((0, rows, self.layout.width), np.int64)

    def _reserve(self, groups: int) -> None:
        self.cells, self.above = grown(self.cells, groups), grown(self.above, groups)
        self._changed = grown(self._changed, -(-len(self.cells) // _BLOCK))

    def _advance(self, end: int) -> None:
        """Make room for slices up to `end`, in the places of those that have left."""
        if self.end == _NEVER:
            self.end = end
            return
        first = max(self.end, end - self._size)
        for slice in range(first, end):
            place = slice & (self._size - 1)
            self.cells[:, self._rows(slice)] = 0
            if self.form is JoinSynopsisForm.RUNNING:
                self.above[:, place] = self.above[:, (slice - 1) & (self._size - 1)]
            elif self.form is JoinSynopsisForm.INTERVAL:
                level = 0
                while (1 << level) <= self._size and slice & ((1 << level) - 1) == 0:
                    self.above[:, node(0, self._size, level, slice >> level)] = 0
                    level += 1
        if self.form is JoinSynopsisForm.INTERVAL and end - self.end > self._size:
            self.above[:] = 0
        self.end = max(self.end, end)

    def _rows(self, number: int) -> slice:
        """Where a slice is in the cells of a group."""
        place = number & (self._size - 1)
        return slice(place * self._rows_per_place, (place + 1) * self._rows_per_place)

    def _cover(self, came: Layout) -> None:
        layout = self.layout.covering(came)
        if layout == self.layout:
            return
        shape = self.cells.shape, self.above.shape
        cells, above = (array.reshape(-1, self.layout.width) for array in (self.cells, self.above))
        self.cells = widened(cells, self.layout, layout).reshape(*shape[0][:2], layout.width)
        self.above = widened(above, self.layout, layout).reshape(*shape[1][:2], layout.width)
        self.layout = layout
        if self.form is JoinSynopsisForm.RUNNING:  # running sums may have passed the bound of their words
            self._merge_above()

    def _merge_above(self) -> None:
        """What is above the slices, from the slices."""
        if self.form is not JoinSynopsisForm.BASIC:
            _merge_above(self._operation, self._slices)

    def snapshot(self, known: Container[str]) -> Snapshot:
        head = np.array([self.end, *self.layout], np.int64)
        name = f"{_HEAD}{self._number}"
        blocks = {f"{block}.{number}": block for block, number in enumerate(self._changed.tolist()) if number}
        pieces = {} if name in known else {name: Piece({"head": head, "groups": np.array([len(self.cells)])})}
        for changed in (one for one in blocks if one not in known):
            first = blocks[changed] * _BLOCK
            pieces[changed] = Piece({"head": head, "cells": self.cells[first : first + _BLOCK].copy()})
        return Snapshot((name, *blocks), pieces)

    def restore(self, pieces: Mapping[str, Piece]) -> None:
        (head,) = (name for name in pieces if name.startswith(_HEAD))
        self._number = int(head.removeprefix(_HEAD))
        self.end, self.layout = _read_head(pieces[head])
        self.cells = self._zeros(self._size * self._rows_per_place)
        self.above = self._zeros(self.above.shape[1])
        self._reserve(int(pieces[head].arrays["groups"][0]))
        for name, piece in pieces.items():
            if name != head:
                block, number = map(int, name.split("."))
                self._changed[block] = number
                self._restore_block(block * _BLOCK, piece)
        self._merge_above()

    def _restore_block(self, first: int, piece: Piece) -> None:
        end, layout = _read_head(piece)
        cells = piece.arrays["cells"]
        wide = widened(cells.reshape(-1, layout.width), layout, self.layout).reshape(*cells.shape[:2], -1)
        self.cells[first : first + len(wide)] = wide
        for left in range(max(end, self.end - self._size), self.end):
            self.cells[first : first + len(wide), self._rows(left)] = 0


def _read_head(piece: Piece) -> tuple[int, Layout]:
    end, *layout = piece.arrays["head"].tolist()
    return end, Layout(*layout)


@inlined
def _is_in_place(slice: int, level: int, size: int, end: int) -> bool:
    """Whether the interval of a slice is still the one in its row: a later one takes the row when its time begins."""
    return (1 << level) <= size and ((slice >> level) << level) + size >= end


@compiled
def _insert(
    group: Int64s, first: Int64s, second: Int64s, added: Int64s, operation: Operation, slices: PairSlices
) -> None:
    each, mask, difference = 1 + 2 * slices.difference, slices.size - 1, slices.difference
    for i in range(len(group)):
        older, distance = min(first[i], second[i]), abs(first[i] - second[i])
        if older < slices.end - slices.longest:
            continue
        own, place = slices.cells[group[i]], older & mask
        merge(own, place * each, added, i, operation)
        side = 0 if first[i] < second[i] else difference
        for c in range(1, min(distance, difference) + 1):
            merge(own, place * each + side + c, added, i, operation)
        upper = slices.above[group[i]]
        if slices.form == _INTERVAL:
            level = 0
            while _is_in_place(older, level, slices.size, slices.end):
                merge(upper, node(0, slices.size, level, older >> level), added, i, operation)
                level += 1
        elif slices.form == _RUNNING:
            for slice in range(older, slices.end):
                merge(upper, slice & mask, added, i, operation)


@compiled
def _lookup(group: Int64s, first: Int64s, second: Int64s, operation: Operation, slices: PairSlices) -> Int64s:
    each, mask, end = 1 + 2 * slices.difference, slices.size - 1, slices.end
    result = np.zeros((len(group), slices.cells.shape[2]), np.int64)
    for i in range(len(group)):
        if group[i] >= len(slices.cells):
            continue
        own, upper = slices.cells[group[i]], slices.above[group[i]]
        shorter, longer = min(first[i], second[i]), max(first[i], second[i])
        if slices.form == _BASIC:
            for slice in range(end - shorter, end):
                merge(result, i, own, (slice & mask) * each, operation)
        elif slices.form == _INTERVAL:
            _merge_intervals(end - shorter, end, upper, slices.size, operation, result, i)
        else:
            merge(result, i, upper, (end - 1) & mask, operation)
            subtract(result, i, upper, (end - shorter - 1) & mask, operation.plain)
        # Beyond the shorter window: the tuple of the longer one is the older, the other within the shorter.
        side = slices.difference if first[i] < second[i] else 0
        for slice in range(end - longer, end - shorter):
            merge(result, i, own, (slice & mask) * each + side + end - shorter - slice, operation)
    return result


@compiled
def _merge_intervals(
    left: int, right: int, upper: Int64s, size: int, operation: Operation, result: Int64s, i: int
) -> None:
    """The dyadic intervals that slices [left, right) are made of, into row i of `result`."""
    level = 0
    while left < right:
        if left & 1:
            merge(result, i, upper, node(0, size, level, left), operation)
            left += 1
        if right & 1:
            right -= 1
            merge(result, i, upper, node(0, size, level, right), operation)
        left >>= 1
        right >>= 1
        level += 1


@compiled
def _merge_above(operation: Operation, slices: PairSlices) -> None:
    each, size, cells, above = 1 + 2 * slices.difference, slices.size, slices.cells, slices.above
    above[:] = 0
    for g in range(len(cells)):
        for slice in range(slices.end - slices.longest, slices.end):
            place = slice & (size - 1)
            if slices.form == _RUNNING:
                above[g, place] = above[g, (slice - 1) & (size - 1)]
                merge(above[g], place, cells[g], place * each, operation)
                continue
            level = 0
            while _is_in_place(slice, level, size, slices.end):
                merge(above[g], node(0, size, level, slice >> level), cells[g], place * each, operation)
                level += 1
