"""The landmark synopsis, L-INT: two merges for any declared window (Arasu and Widom, 3.1.2).

For windows whose widths are within a factor of two, landmarks lie the smallest width W apart. A window then contains a
landmark, and is made of what lies before it, back to the window's begin, and what lies behind it, up to its end. Of
every position the aggregates from the last landmark and from the one before it are kept (a window reaches past at most
one more landmark), and once its block is complete also the aggregate from it to the next landmark.

Widths are dealt to γ partitions, each within a factor of two and each with landmarks and elements of its own: an update
costs γ, a lookup two merges. Where all windows end now, the aggregates from landmarks are needed at the newest position
only, and a partition keeps no more elements than its own longest window holds: all partitions together keep about as
many as the longest window, rather than γ times as many.

Widths are numbers of elements, or of ticks. Other windows than the declared ones are refused.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from windrow.batch.arrays import Array, Int64s, grown
from windrow.batch.column import Column
from windrow.batch.compiled import compiled, inlined
from windrow.errors import WindrowError
from windrow.state.snapshot import Part, Parts, Piece, Snapshot
from windrow.synopses.positions.elements import Arrivals, Elements, RingMoves, Spans, move_rings, places
from windrow.synopses.positions.word_aggregates import WordAggregate
from windrow.synopses.positions.words import Layout, Operation, Words, merge, widened

SPREAD = 2  # the factor between the widths of a partition
_REACH = 2  # landmarks that a position has aggregates from
_Rows = Int64s


class Landmarks(NamedTuple):
    """The elements and rows of a partition, for a compiled loop; its landmarks are `width` apart."""

    width: int
    by_rows: bool
    is_suffix: bool
    offset: Int64s
    size: Int64s
    first: Int64s
    next: Int64s
    time: Int64s
    opened: Int64s
    closed: Int64s
    back: Int64s
    forward: Int64s


class Window(NamedTuple):
    """Positions [begin, end) of a window that starts at a time or position."""

    begin: int
    end: int
    start: int


def partitions(widths: Sequence[int]) -> list[tuple[int, int]]:
    """The smallest and the largest width of each partition, as few of them as can be."""
    result: list[tuple[int, int]] = []
    for width in sorted(set(widths)):
        if result and width <= SPREAD * result[-1][0]:
            result[-1] = (result[-1][0], width)
        else:
            result.append((width, width))
    return result


class Landmark(Parts):
    """Windows of the declared widths; `by_rows` they are numbers of elements, else ticks.

    With `longest` windows may also end earlier, as long as they begin within so much of the end of the stream.
    """

    def __init__(
        self, aggregate: WordAggregate, widths: Sequence[int], by_rows: bool, longest: int | None = None
    ) -> None:
        if not widths or min(widths) < 1:
            raise WindrowError("a landmark synopsis needs the widths of its windows", "give one or more, from 1 on")
        self.aggregate, self.by_rows = aggregate, by_rows
        bounds = partitions(widths)
        self.partitions = [_Partition(aggregate, *bound, by_rows, longest) for bound in bounds]
        self._largest = np.array([largest for _, largest in bounds])
        self._smallest = np.array([smallest for smallest, _ in bounds])

    @property
    def nbytes(self) -> int:
        return sum(partition.nbytes for partition in self.partitions)

    def insert(self, group: Int64s, time: Int64s, values: tuple[Column, ...]) -> None:
        came = self.aggregate.encode(values, len(group))
        for partition in self.partitions:
            partition.insert(group, time, came)

    def expire(self, now: int) -> None:
        """Let go of what no window that ends at `now`, or later, needs; by rows nothing depends on the time."""
        for partition in self.partitions:
            partition.expire(now)

    def lookup_by_time(self, group: Int64s, begin: Int64s, end: Int64s) -> Column:
        """The aggregate over [begin, end)."""
        assert not self.by_rows, "this one is for windows of rows"
        return self._lookup(group, begin, end, end - begin)

    def lookup_by_rows(self, group: Int64s, oldest: Int64s, newest: Int64s) -> Column:
        """The aggregate over the last `oldest` elements without the last `newest`."""
        assert self.by_rows, "this one is for windows of time"
        return self._lookup(group, oldest, newest, oldest - newest)

    def _lookup(self, group: Int64s, begin: Int64s, end: Int64s, width: Int64s) -> Column:
        which = np.searchsorted(self._largest, width)
        inside = which < len(self._largest)
        inside &= self._smallest[np.minimum(which, len(self._smallest) - 1)] <= width
        if not inside.all():
            what = f"a window is {int(width[~inside][0])} wide, which was not declared"
            raise WindrowError(what, f"widths are within {[(p.smallest, p.largest) for p in self.partitions]}")
        layout = self.aggregate.empty
        for partition in self.partitions:
            layout = layout.covering(partition.layout)
        result = np.zeros((len(group), layout.width), np.int64)
        for number, partition in enumerate(self.partitions):
            mine = which == number
            rows = partition.lookup(group[mine], begin[mine], end[mine])
            result[mine] = widened(rows, partition.layout, layout)
        return self.aggregate.finish(Words(layout, result))

    def parts(self) -> Mapping[str, Part]:
        return {str(n): partition for n, partition in enumerate(self.partitions)}


class _Partition:
    """Windows between two widths, at most a factor of two apart."""

    def __init__(
        self, aggregate: WordAggregate, smallest: int, largest: int, by_rows: bool, longest: int | None
    ) -> None:
        self.smallest, self.largest, self.by_rows = smallest, largest, by_rows
        self.is_suffix = longest is None
        self.reach = largest if longest is None else max(longest, largest)
        self.aggregate, self.layout = aggregate, aggregate.empty
        self.elements = Elements()
        self.back = self._no_rows()  # a row a place: the element, once its block is complete the rest of its block
        self.forward = self._no_rows()  # two rows a place, or a group when windows end now
        self.opened: Int64s = np.zeros(0, np.int64)  # the first position of a group's newest block
        self.closed: Int64s = np.zeros(0, np.int64)  # the first position that still has its element in `back`
        self._number = 0

    def _no_rows(self) -> _Rows:
        return np.zeros((0, self.layout.width), np.int64)

    @property
    def nbytes(self) -> int:
        return self.elements.nbytes + self.back.nbytes + self.forward.nbytes + self.opened.nbytes + self.closed.nbytes

    def insert(self, group: Int64s, time: Int64s, came: Words) -> None:
        self._number += 1
        self._cover(came.layout)
        self._reserve(group)
        rows = widened(came.rows, came.layout, self.layout)
        arrivals = self.elements.insert(group, time)
        _insert(arrivals, rows, self.operation, self.where)
        if self.by_rows:
            self.elements.keep_newest(self.reach)

    def expire(self, now: int) -> None:
        if not self.by_rows:
            self._number += 1
            self.elements.expire_until(now - self.reach)
        packing = self.elements.packing()
        if packing is not None:
            self._follow(packing)

    def lookup(self, group: Int64s, begin: Int64s, end: Int64s) -> _Rows:
        elements = self.elements
        spans = elements.by_rows(group, begin, end) if self.by_rows else elements.by_time(group, begin, end)
        known = group < elements.groups
        if self.is_suffix and bool((spans.end[known] < elements.next[group[known]]).any()):
            raise WindrowError("a window ends earlier than now", "declare how far back windows reach (longest)")
        first = spans.begin if self.by_rows else begin
        return np.asarray(_lookup(spans, first, self.operation, self.where))

    @property
    def operation(self) -> Operation:
        return Operation(self.layout.operation, self.layout.plain, self.aggregate.ranks)

    @property
    def where(self) -> Landmarks:
        e = self.elements
        return Landmarks(
            self.smallest, self.by_rows, self.is_suffix, e.offset, e.size, e.first, e.next, e.time,
            self.opened, self.closed, self.back, self.forward,
        )  # fmt: skip

    def _cover(self, came: Layout) -> None:
        layout = self.layout.covering(came)
        self.back, self.forward = (widened(rows, self.layout, layout) for rows in (self.back, self.forward))
        self.layout = layout

    def _reserve(self, group: Int64s) -> None:
        self._follow(self.elements.reserve(group))
        self.opened, self.closed = (grown(one, self.elements.groups) for one in (self.opened, self.closed))
        if self.is_suffix:
            self.forward = grown(self.forward, _REACH * self.elements.groups)

    def _follow(self, moves: RingMoves) -> None:
        if not len(moves.group) and not moves.packed:
            return
        self.back = self._moved(moves, self.back, 1)
        if not self.is_suffix:
            self.forward = self._moved(moves, self.forward, _REACH)
        self.elements.move(moves)

    def _moved(self, moves: RingMoves, rows: _Rows, rows_per_place: int) -> _Rows:
        places = rows_per_place * moves.places
        new = np.zeros((places, self.layout.width), np.int64) if moves.packed else grown(rows, places)
        move_rings(moves, self.elements.first, self.elements.next, rows_per_place, rows, new)
        return new

    def snapshot(self, known: Container[str]) -> Snapshot:
        name = str(self._number)
        if name in known:
            return Snapshot((name,))
        e = self.elements
        arrays: dict[str, Array] = {"first": e.first, "next": e.next, "opened": self.opened, "closed": self.closed}
        arrays |= {"time": e.times(e.everything()), "back": self._held(self.back, 1)}
        arrays["forward"] = self.forward if self.is_suffix else self._held(self.forward, _REACH)
        arrays["layout"] = np.array((*self.layout, e.covered_since), np.int64)
        return Snapshot((name,), {name: Piece({key: array.copy() for key, array in arrays.items()})})

    def restore(self, pieces: Mapping[str, Piece]) -> None:
        ((name, piece),) = pieces.items()
        self._number, arrays, e = int(name), piece.arrays, self.elements
        *layout, e.covered_since = arrays["layout"].tolist()
        self.layout = Layout(*layout)
        self.back, self.forward = self._no_rows(), self._no_rows()
        groups = np.arange(len(arrays["first"]))
        e.reserve_groups(len(groups))
        e.start_at(groups, arrays["first"])
        group = np.repeat(groups, arrays["next"] - arrays["first"])
        self._reserve(group)
        e.insert(group, arrays["time"])
        self.opened, self.closed = arrays["opened"].copy(), arrays["closed"].copy()
        self.back[self._places()] = arrays["back"]
        if self.is_suffix:
            self.forward = arrays["forward"].copy()
        else:
            width = self.layout.width
            self.forward.reshape(-1, _REACH, width)[self._places()] = arrays["forward"].reshape(-1, _REACH, width)

    def _held(self, rows: _Rows, rows_per_place: int) -> _Rows:
        return rows.reshape(-1, rows_per_place, rows.shape[1])[self._places()].reshape(-1, rows.shape[1])

    def _places(self) -> Int64s:
        e = self.elements
        return places(e.everything(), e.offset, e.size)


@inlined
def _place(g: int, p: int, where: Landmarks) -> int:
    return int(where.offset[g] + (p & (where.size[g] - 1)))


@inlined
def _block(g: int, p: int, where: Landmarks) -> int:
    """The landmark that a position lies behind, counted from the first."""
    return (p if where.by_rows else where.time[_place(g, p, where)]) // where.width


@compiled
def insert_one(g: int, p: int, added: Int64s, i: int, operation: Operation, where: Landmarks) -> None:
    """Row i of `added` as the element at position p."""
    first, opened, closed, back, forward = where.first[g], where.opened, where.closed, where.back, where.forward
    here, block, has_before = _place(g, p, where), _block(g, p, where), p > first
    before = _block(g, p - 1, where) if has_before else block
    if has_before and before == block:
        if closed[g] == p:  # a window was looked up that reaches beyond now
            for q in range(max(opened[g], first), p):
                merge(back, _place(g, q, where), added, i, operation)
            closed[g] = p + 1
    else:
        if has_before:
            _close(g, p, operation, where)
        opened[g] = closed[g] = p
    target, source = (2 * g, 2 * g) if where.is_suffix else (2 * here, 2 * _place(g, p - 1, where))
    for word in range(back.shape[1]):
        back[here, word] = added[i, word]
        # From the landmark before the last one, then from the last one: the first may need the second's old value.
        if has_before and before == block:
            forward[target + 1, word] = forward[source + 1, word]
            forward[target, word] = forward[source, word]
        elif has_before and before == block - 1:
            forward[target + 1, word] = forward[source, word]
            forward[target, word] = 0
        else:
            forward[target + 1, word] = 0
            forward[target, word] = 0
    merge(forward, target + 1, added, i, operation)
    merge(forward, target, added, i, operation)


@compiled
def _close(g: int, end: int, operation: Operation, where: Landmarks) -> None:
    """The block before `end` is complete: each of its elements is merged with those behind it."""
    for q in range(end - 2, max(where.closed[g], where.first[g]) - 1, -1):
        merge(where.back, _place(g, q, where), where.back, _place(g, q + 1, where), operation)
    where.closed[g] = end


@compiled
def lookup_one(g: int, window: Window, operation: Operation, where: Landmarks, result: Int64s, i: int) -> None:
    """The aggregate over a window, into row i of `result`."""
    begin, end, start = window
    mark = (start + where.width - 1) // where.width  # the first landmark that is not before the window
    if _block(g, begin, where) < mark:
        if where.closed[g] <= begin:
            _close(g, where.next[g], operation, where)
        merge(result, i, where.back, _place(g, begin, where), operation)
    block = _block(g, end - 1, where)
    if block >= mark:
        base = 2 * g if where.is_suffix else 2 * _place(g, end - 1, where)
        merge(result, i, where.forward, base + min(block - mark, 1), operation)


@compiled
def _insert(arrivals: Arrivals, added: Int64s, operation: Operation, where: Landmarks) -> None:
    for i in range(len(added)):
        insert_one(arrivals.group[i], arrivals.position[i], added, i, operation, where)


@compiled
def _lookup(spans: Spans, start: Int64s, operation: Operation, where: Landmarks) -> Int64s:
    result = np.zeros((len(start), where.back.shape[1]), np.int64)
    for i in range(len(start)):
        if spans.begin[i] < spans.end[i]:
            window = Window(spans.begin[i], spans.end[i], start[i])
            lookup_one(spans.group[i], window, operation, where, result, i)
    return result
