"""Rows that end in the order in which they came: a queue of basic windows (thesis 3.5.2, figure 2.4).

Rows are numbered as they come, and lie in arrays in this order: new ones are put behind the last, and sliding on moves
the number of the oldest that is kept; the middle is never touched. When the arrays are full, the rows that are left
move to the front, or the arrays get longer; many rows also move before memory is touched that has not been used yet.
A basic window is a stretch of some thousand rows: it is written once, and left out when its last row has gone.

Invariant: read from the front, the ends never decrease, and nothing is taken back. Everything costs a constant a row.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Mapping
from itertools import pairwise

import numpy as np

from windrow.batch.arrays import Int64s, grown, ones
from windrow.batch.batch import Batch
from windrow.batch.compiled import compiled
from windrow.state.chains import EXP, KEY, NEXT, TS, Chains, Probe, ProbedPairs, link_in_order, overlapping
from windrow.state.snapshot import Piece, Snapshot
from windrow.state.stored_columns import StoredColumns, move_to_front
from windrow.state.structure import KeyedRows, Matches

_SMALLEST = 64
_BASIC_WINDOW = 4096  # rows after which the next insert begins a new one
_MANY = 1 << 17  # rows that are worth some copying, for the memory they take
_CLOCK = "clock"
_NEVER = 2**63 - 1
_FIELDS = 3  # of a row, see `chains`; one more from the first probe on


class FifoOfBasicWindows:
    """For weakest patterns."""

    def __init__(self) -> None:
        self._columns = StoredColumns()
        self._rows: Int64s = np.empty((_SMALLEST, _FIELDS), np.int64)
        self._base = 0  # the number of the row at the first place
        self._oldest = 0  # the number of the first row that is kept
        self._next = 0  # the number of the next row to come
        self._windows: deque[int] = deque()  # the numbers of the first rows of basic windows
        self._torn: dict[int, int] = {}  # by basic window: the change that took the last row out of its middle
        self._forgotten = 0  # rows that left before their ends and still have a number
        self._changes = 0
        self._heads: Int64s | None = None  # from the first probe on
        self._touched = 0  # places of the arrays that have ever been used

    def __len__(self) -> int:
        return self._next - self._oldest - self._forgotten

    def insert(self, keys: Int64s, rows: Batch) -> None:
        if not len(rows):
            return
        assert rows.is_positive, "a FIFO is for rows that nothing takes back"
        if bool((rows.exp[1:] < rows.exp[:-1]).any()):  # of rows that begin together
            order = np.argsort(rows.exp, kind="stable")
            keys, rows = keys[order], rows.take(order)
        if not self._windows or self._next - self._windows[-1] >= _BASIC_WINDOW:
            self._windows.append(self._next)
        self._append(keys, rows)

    def expire_until(self, time: int) -> KeyedRows:
        first = self._oldest
        end = self._end_of_expired(time)
        gone = self._between(first, end)
        self._leave_out(end, len(gone.keys))
        return gone

    def drop_until(self, time: int) -> None:
        end = self._end_of_expired(time)
        fields = self._rows[self._oldest - self._base : end - self._base, TS]
        self._leave_out(end, int(np.count_nonzero(fields != _NEVER)) if self._forgotten else len(fields))

    def _end_of_expired(self, time: int) -> int:
        """The number of the first row that ends later."""
        return _ended(self._rows, self._oldest - self._base, self._next - self._base, time) + self._base

    def _leave_out(self, end: int, rows: int) -> None:
        """All rows with numbers below `end`, of which so many had not been forgotten."""
        self._forgotten -= end - self._oldest - rows
        self._oldest = end
        while len(self._windows) > 1 and self._windows[1] <= self._oldest:
            self._torn.pop(self._windows.popleft(), None)

    def forget(self, keys: Int64s) -> KeyedRows:
        """Their rows stay where they are, with a begin that never comes, until they are half of all."""
        always = np.full(len(keys), -_NEVER, np.int64), np.full(len(keys), _NEVER, np.int64)
        places = np.sort(self._overlapping(keys, *always).places)
        rows = self._at(places)
        self._rows[places, TS] = _NEVER
        self._forgotten += len(places)
        if len(places):
            self._changes += 1
        windows = list(self._windows)
        for number in np.unique(np.searchsorted(windows, places + self._base, side="right") - 1):
            self._torn[windows[number]] = self._changes
        if 2 * self._forgotten > self._next - self._oldest:
            self._number_anew()
        return rows

    def probe(self, keys: Int64s, ts: Int64s, exp: Int64s) -> Matches:
        found = self._overlapping(keys, ts, exp)
        columns = self._columns.take(found.places)
        return Matches(found.positions, Batch(columns, found.begins, found.ends, ones(len(found.places))))

    def scan(self) -> KeyedRows:
        return self._between(self._oldest, self._next)

    def keys(self) -> Int64s:
        rows = self._rows[self._oldest - self._base : self._next - self._base]
        return np.array(rows[rows[:, TS] != _NEVER, KEY] if self._forgotten else rows[:, KEY])

    def snapshot(self, known: Container[str]) -> Snapshot:
        """A basic window is named by the numbers of its first row and of the first after it, and by its last change."""
        pieces, manifest = {}, []
        for first, end in pairwise([*self._windows, self._next]):
            if end <= self._oldest:
                continue
            name = f"{first}.{end}.{self._torn.get(first, 0)}"
            manifest.append(name)
            if name not in known:
                kept = self._at(np.arange(max(first, self._oldest), end) - self._base)
                pieces[name] = Piece({"keys": kept.keys}, kept.rows)
        # Without rows: rows of a piece that have ended since come back when it is read, and go at once.
        clock = f"{_CLOCK}.{self._oldest}.{self._next}.{self._changes}"
        return Snapshot((*manifest, clock), pieces if clock in known else {**pieces, clock: Piece({})})

    def restore(self, pieces: Mapping[str, Piece]) -> None:
        for name, piece in pieces.items():
            if name.startswith(_CLOCK):
                self._oldest, self._next, self._changes = (int(part) for part in name.split(".")[1:])
                continue
            first, end, torn = (int(part) for part in name.split("."))
            assert piece.rows is not None
            if not self._windows:
                self._base = self._oldest = self._next = end - len(piece.rows)
            self._windows.append(first)
            if torn:
                self._torn[first] = torn
            self._append(piece.arrays["keys"], piece.rows)
        kept = self._rows[self._oldest - self._base : self._next - self._base]
        self._forgotten = int(np.count_nonzero(kept[:, TS] == _NEVER))

    def _overlapping(self, keys: Int64s, ts: Int64s, exp: Int64s) -> ProbedPairs:
        if self._heads is None:
            self._heads = np.zeros(_SMALLEST, np.int64)
            if self._rows.shape[1] == _FIELDS:
                self._rows = _with_links(self._rows, self._next - self._base)
            self._link(self._oldest)
        chains = Chains(self._heads, self._rows, self._base, self._oldest)
        return overlapping(Probe(keys, ts, exp), chains)

    def _number_anew(self) -> None:
        """Without the rows that were forgotten."""
        keys, rows = self.scan()
        self._oldest, self._forgotten, self._heads = self._next, 0, None
        self._windows.clear()
        self._torn.clear()
        for first in range(0, len(rows), _BASIC_WINDOW):
            last = min(first + _BASIC_WINDOW, len(rows))
            self.insert(keys[first:last], rows.slice(first, last))

    def _append(self, keys: Int64s, rows: Batch) -> None:
        self._make_room(len(rows))
        first = self._next - self._base
        places = slice(first, first + len(rows))
        assert not len(self) or rows.exp[0] >= self._rows[first - 1, EXP], "ends come in order"
        self._columns.put(places, rows.columns, len(self._rows))
        _write(self._rows, first, rows.ts, rows.exp, keys)
        before = self._next
        self._next += len(rows)
        if self._heads is not None:
            self._link(before)

    def _make_room(self, count: int) -> None:
        """Rows move to the front when at least as many have left, many when a quarter has; else the arrays get longer.

        Moving a row is cheap beside all else that is done for it; memory of rows that have left is good for nothing.
        """
        first, last = self._oldest - self._base, self._next - self._base
        kept, needed = last - first, last + count
        if needed > (self._touched if kept >= _MANY else len(self._rows)):
            if first >= kept + count or (kept >= _MANY and 4 * first >= kept):
                move_to_front(self._rows, first, last)
                self._columns.move_to_front(first, last)
                self._base, needed = self._oldest, kept + count
            self._rows = grown(self._rows, needed)
        self._touched = max(self._touched, needed)

    def _link(self, first: int) -> None:
        """Rows from a number on, before those of their keys."""
        assert self._heads is not None
        places = slice(first - self._base, self._next - self._base)
        if places.start == places.stop:
            return
        self._heads = grown(self._heads, int(self._rows[places, KEY].max()) + 1)
        link_in_order(self._rows, places.start, places.stop, self._heads, self._base)

    def _between(self, first: int, end: int) -> KeyedRows:
        """The rows with these numbers, but those that were forgotten."""
        places = np.arange(first - self._base, end - self._base)
        return self._at(places[self._rows[places, TS] != _NEVER] if self._forgotten else places)

    def _at(self, places: Int64s) -> KeyedRows:
        ts, exp, keys = (self._rows[places, field] for field in (TS, EXP, KEY))
        return KeyedRows(keys, Batch(self._columns.take(places), ts, exp, ones(len(places))))


def _with_links(rows: Int64s, used: int) -> Int64s:
    """Rows at the first places that are used, with room for links."""
    wider = np.zeros((len(rows), NEXT + 1), np.int64)
    wider[:used, :_FIELDS] = rows[:used]
    return wider


@compiled
def _write(rows: Int64s, first: int, ts: Int64s, exp: Int64s, keys: Int64s) -> None:
    for i in range(len(ts)):
        rows[first + i, TS], rows[first + i, EXP], rows[first + i, KEY] = ts[i], exp[i], keys[i]


@compiled
def _ended(rows: Int64s, first: int, last: int, time: int) -> int:
    """The first place in [first, last) whose row ends after `time`."""
    while first < last:
        middle = (first + last) // 2
        if rows[middle, EXP] <= time:
            first = middle + 1
        else:
            last = middle
    return first
