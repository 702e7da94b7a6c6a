"""The row that each key shows at present, if any: what a group-by replaces (thesis 3.5.2, the exception)."""

from __future__ import annotations

import numpy as np

from windrow.batch.arrays import Bools, Int64s, grown
from windrow.batch.batch import inserts
from windrow.batch.column import Column
from windrow.state.changed_places import PLACES, ChangedPlaces
from windrow.state.snapshot import Piece
from windrow.state.stored_columns import StoredColumns


class ShownRows(ChangedPlaces):
    """Rows by the id of their key; ids without a row read as nothing."""

    def __init__(self) -> None:
        super().__init__()
        self._present: Bools = np.zeros(0, np.bool_)
        self._touched: Bools = np.zeros(0, np.bool_)  # ids that have another row, or none, since the last snapshot
        self._columns = StoredColumns()

    def look_up(self, ids: Int64s, like: tuple[Column, ...]) -> tuple[Bools, tuple[Column, ...]]:
        """Whether each id shows a row, and the rows; where there is none the values mean nothing."""
        if not len(self._present):
            first = np.zeros(len(ids), np.int64)
            return np.zeros(len(ids), np.bool_), tuple(column.take(first) for column in like)
        self._reserve(ids, like)
        return self._present[ids], self._columns.take(ids)

    def replace(self, ids: Int64s, present: Bools, columns: tuple[Column, ...]) -> None:
        """Show rows from now on, or nothing where they are not present; each id is listed once."""
        self._reserve(ids, columns)
        self._present[ids] = present
        self._columns.put(ids, columns, len(self._present))
        self._touched[ids] = True

    def present(self) -> Int64s:
        """The ids that show a row."""
        return np.flatnonzero(self._present)

    def clear(self, ids: Int64s) -> None:
        """Show nothing any more for ids that are known."""
        self._present[ids] = False
        self._touched[ids] = True

    def _changed(self) -> Int64s:
        places = np.flatnonzero(self._touched)
        self._touched[places] = False
        return places

    def _used(self) -> Int64s:
        return self.present()

    def _piece(self, places: Int64s) -> Piece:
        """The rows of some ids; the others show nothing."""
        ids = places[self._present[places]]
        rows = inserts(self._columns.take(ids), np.zeros(len(ids), np.int64))
        return Piece({PLACES: places, "ids": ids}, rows)

    def _read(self, piece: Piece) -> Int64s:
        ids = piece.arrays["ids"]
        places = piece.arrays.get(PLACES, ids)  # earlier versions wrote all of them
        self._present[places[places < len(self._present)]] = False
        if len(ids):
            assert piece.rows is not None
            self.replace(ids, np.ones(len(ids), np.bool_), piece.rows.columns)
        return places

    def _reserve(self, ids: Int64s, columns: tuple[Column, ...]) -> None:
        highest = int(ids.max()) + 1 if len(ids) else 0
        if highest > len(self._present):
            self._present = grown(self._present, highest)
            self._touched = grown(self._touched, len(self._present))
            self._columns.put(ids[:0], tuple(column.slice(0, 0) for column in columns), len(self._present))
