"""Columns that can be written at any place: rows by slot, keys by id."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from windrow.batch.arrays import Array, Bools, Int64s, grown
from windrow.batch.column import Column
from windrow.batch.dictionary import Dictionary
from windrow.types import Type


class StoredColumns:
    """Columns of the types that are put in first."""

    def __init__(self) -> None:
        self._columns: list[_StoredColumn] | None = None

    def put(self, places: Int64s | slice, columns: Sequence[Column], length: int) -> None:
        """Write columns at places, all below `length`."""
        if self._columns is None:
            self._columns = [
                _StoredColumn(c.type, np.zeros(length, c.values.dtype), None, c.dictionary) for c in columns
            ]
        for stored, column in zip(self._columns, columns, strict=True):
            stored.grow(length)
            stored.put(places, column)

    def take(self, places: Int64s) -> tuple[Column, ...]:
        return tuple(stored.column.take(places) for stored in self._columns or ())

    def move_to_front(self, start: int, end: int) -> None:
        """What is at places [start, end) goes to the first places."""
        for stored in self._columns or ():
            move_to_front(stored.values, start, end)
            if stored.valid is not None:
                move_to_front(stored.valid, start, end)


def move_to_front(array: Array, start: int, end: int) -> None:
    """What is at places [start, end) goes to the first places, by stretches that do not overlap with where they go."""
    for place in range(start, end, start):
        stretch = array[place : min(place + start, end)]
        array[place - start : place - start + len(stretch)] = stretch


@dataclass
class _StoredColumn:
    """One column of all slots; the mask is kept from the first null on."""

    type: Type
    values: Array
    valid: Bools | None
    dictionary: Dictionary | None

    def grow(self, length: int) -> None:
        self.values = grown(self.values, length)
        if self.valid is not None:
            self.valid = grown(self.valid, length)

    @property
    def column(self) -> Column:
        return Column(self.type, self.values, self.valid, self.dictionary)

    def put(self, slots: Int64s | slice, column: Column) -> None:
        if column.is_coded:
            self.dictionary = column.dictionary if self.dictionary is None else self.dictionary
            column = column.recoded(self.dictionary) if self.dictionary is not None else column
        self.values[slots] = column.values
        if column.valid is not None and self.valid is None:
            self.valid = np.ones(len(self.values), np.bool_)
        if self.valid is not None:
            self.valid[slots] = column.valid_mask()
