"""A synopsis that queries share: elements of groups, and what is kept of them for several aggregates.

It belongs to the running plan, not to a query: any number of windows, of any lengths up to what is kept, are asked from
the same one (thesis 8.3.1, rule SS1), and aggregates over the same elements share positions and times (rule SS2).
Windows are time-based or tuple-based, and end now (suffix) or earlier (historical).

Its snapshot has one piece for every few thousand elements, which is written once, and one for what changes: how
far each group has come, and the positions that still take elements.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from windrow.batch.arrays import Array, Int64s
from windrow.batch.column import Column
from windrow.batch.radix_order import radix_order
from windrow.state.snapshot import Piece, Snapshot
from windrow.synopses.positions.elements import EMPTY, Arrivals, Elements, RingMoves, Spans
from windrow.synopses.positions.synopsis import Synopsis

_PIECE = 4096  # elements after which a piece is not written again
_HEAD = "head"


@dataclass(frozen=True, eq=False)
class _Written:
    """A piece of elements, and up to which position of each group it goes."""

    name: str
    spans: Spans

    @property
    def length(self) -> int:
        return int((self.spans.end - self.spans.begin).sum())


class SharedSynopsis:
    """`synopses` are over the same elements; with a `slice`, elements of a slice share a position."""

    def __init__(self, synopses: Sequence[Synopsis], slice: int = 0) -> None:
        self.synopses = tuple(synopses)
        self.elements = Elements(slice)
        self._pieces: list[_Written] = []
        self._number = 0

    @property
    def nbytes(self) -> int:
        return self.elements.nbytes + sum(synopsis.nbytes for synopsis in self.synopses)

    def insert(self, group: Int64s, time: Int64s, values: Sequence[tuple[Column, ...]]) -> None:
        """Elements in the order of time, and for each of the synopses the columns of its argument."""
        self._number += 1
        arrivals = self._arrivals(group, time)
        for synopsis, columns in zip(self.synopses, values, strict=True):
            synopsis.insert(self.elements, arrivals, columns)

    def roll(self, group: Int64s, time: Int64s, values: Sequence[tuple[Column, ...]], length: int) -> list[Column]:
        """Insert elements, and look up for each the window of `length` ticks that ends with it, as one by one would.

        What came before the windows of these groups is not kept any more; that of others goes with `expire_until`.
        """
        self._number += 1
        # Group by group: what is kept of a group is then in the cache for all of its elements.
        order = radix_order(group, int(group.max(initial=0)) + 1)
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        group, time = group[order], time[order]
        arrivals = self._arrivals(group, time)
        spans = self.elements.ending_with(arrivals, time, length)
        given = {id(column): column for columns in values for column in columns}
        taken = {which: column.take(order) for which, column in given.items()}
        result = [
            synopsis.roll(self.elements, arrivals, tuple(taken[id(column)] for column in columns), spans)
            for synopsis, columns in zip(self.synopses, values, strict=True)
        ]
        if len(time):
            self.elements.expire_before(spans, int(time.max()) - length + 1)
        return [column.take(back) for column in result]

    def expire_until(self, time: int) -> None:
        """Windows that begin before `time` are not asked for any more."""
        self._number += 1
        self.elements.expire_until(time)
        self._pack()

    def keep_newest(self, rows: int) -> None:
        """Only the newest elements of each group are asked for."""
        self._number += 1
        self.elements.keep_newest(rows)
        self._pack()

    def forget(self, group: Int64s) -> None:
        self._number += 1
        self.elements.forget(group)

    def lookup_by_time(self, group: Int64s, begin: Int64s, end: Int64s) -> list[Column]:
        """For each of the synopses its value over [begin, end) of each group; FOREVER ends a suffix window."""
        return self.lookup(self.elements.by_time(group, begin, end))

    def lookup(self, spans: Spans) -> list[Column]:
        return [synopsis.lookup(self.elements, spans) for synopsis in self.synopses]

    def converted(self, synopses: Sequence[Synopsis]) -> SharedSynopsis:
        """The same elements in other synopses of the same aggregates, which go on where these are."""
        other = SharedSynopsis(synopses, self.elements.slice)
        other._number = self._number
        other._arrivals(EMPTY, EMPTY, self.elements.groups)
        other._read(self._piece(self.elements.everything()).arrays)
        other.elements.covered_since = self.elements.covered_since
        return other

    def snapshot(self, known: Container[str]) -> Snapshot:
        elements = self.elements
        self._pieces = [
            piece for piece in self._pieces if bool((piece.spans.end > elements.first[piece.spans.group]).any())
        ]
        fresh = self._unwritten()
        if bool((fresh.end > fresh.begin).any()):
            self._pieces.append(_Written(f"elements {self._number}", fresh))
        pieces = {piece.name: self._piece(piece.spans) for piece in self._pieces if piece.name not in known}
        head = f"{_HEAD} {self._number}"
        if head not in known:
            pieces[head] = self._head()
        return Snapshot((head, *(piece.name for piece in self._pieces)), pieces)

    def restore(self, pieces: Mapping[str, Piece]) -> None:
        (head_name,) = (name for name in pieces if name.startswith(_HEAD))
        head = pieces[head_name].arrays
        self._number = int(head_name.split()[1])
        for name, piece in pieces.items():
            if name != head_name:
                self._pieces.append(_Written(name, self._read(piece.arrays)))
        self._read(head)
        elements, groups = self.elements, len(head["first"])
        self._arrivals(EMPTY, EMPTY, groups)
        elements.first[:groups], elements.next[:groups] = head["first"], head["next"]
        elements.covered_since = int(head["covered_since"][0])

    def _arrivals(self, group: Int64s, time: Int64s, groups: int = 0) -> Arrivals:
        self.elements.reserve_groups(groups)
        self._follow(self.elements.reserve(group))
        return self.elements.insert(group, time)

    def _pack(self) -> None:
        packing = self.elements.packing()
        if packing is not None:
            self._follow(packing)

    def _follow(self, moves: RingMoves) -> None:
        if len(moves.group) or moves.packed:
            for synopsis in self.synopses:
                synopsis.move(self.elements, moves)
            self.elements.move(moves)

    def _unwritten(self) -> Spans:
        """Elements since the last full piece; one that is not full is written again with what came since."""
        elements = self.elements
        begin = elements.first.copy()
        if self._pieces and self._pieces[-1].length < _PIECE:
            self._pieces.pop()
        for piece in self._pieces:
            begin[piece.spans.group] = np.maximum(begin[piece.spans.group], piece.spans.end)
        end = np.maximum(self._closed(), begin)
        some = np.flatnonzero(end > begin)
        return Spans(some, begin[some], end[some])

    def _closed(self) -> Int64s:
        """Up to where positions do not change any more."""
        return self.elements.next - (1 if self.elements.slice else 0)

    def _head(self) -> Piece:
        elements = self.elements
        open_begin = np.maximum(self._closed(), elements.first)
        some = np.flatnonzero(open_begin < elements.next)
        positions = {"first": elements.first.copy(), "next": elements.next.copy()}
        covered_since = np.array([elements.covered_since], np.int64)
        opened = self._piece(Spans(some, open_begin[some], elements.next[some]))
        return Piece({**opened.arrays, **positions, "covered_since": covered_since})

    def _piece(self, spans: Spans) -> Piece:
        """What of the spans is still there; the rest has expired since they were written."""
        begin = np.minimum(np.maximum(spans.begin, self.elements.first[spans.group]), spans.end)
        spans = Spans(spans.group, begin, spans.end)
        arrays: dict[str, Array] = {"group": spans.group, "begin": spans.begin, "end": spans.end}
        arrays["time"] = self.elements.times(spans)
        for number, synopsis in enumerate(self.synopses):
            arrays |= {f"{number} {name}": array for name, array in synopsis.written(self.elements, spans).items()}
        return Piece(arrays)

    def _read(self, arrays: Mapping[str, Array]) -> Spans:
        spans = Spans(arrays["group"], arrays["begin"], arrays["end"])
        group = np.repeat(spans.group, spans.end - spans.begin)
        elements = self.elements
        elements.reserve_groups(int(group.max()) + 1 if len(group) else 0)
        # Between two pieces elements may have come and gone, and with them all that was before.
        has_gap = elements.next[spans.group] != spans.begin
        elements.start_at(spans.group[has_gap], spans.begin[has_gap])
        arrivals = self._arrivals(group, arrays["time"])
        for number, synopsis in enumerate(self.synopses):
            mark = f"{number} "
            own = {name[len(mark) :]: array for name, array in arrays.items() if name.startswith(mark)}
            synopsis.read(elements, arrivals, own)
        return spans
