"""Parts that are written as what has changed: a piece holds places (blocks of arrays, ids of keys) as they are now.

A later piece has the newer content of a place. Invariant: a piece has more than twice as many places as the next one,
so there are few, what is stored is at most twice what there is, and a place that changed once is written again as often
as a logarithm says. A piece that is stored no more is put together with those after it.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import NamedTuple

import numpy as np

from windrow.batch.arrays import Int64s
from windrow.state.snapshot import Piece, Snapshot

PLACES = "places."  # no array of an owner is called so


class _Stored(NamedTuple):
    name: str
    places: Int64s


class ChangedPlaces:
    """Who has places says which have changed, and writes and reads some of them."""

    def __init__(self) -> None:
        self._stored: list[_Stored] = []  # oldest first
        self._named = 0

    def snapshot(self, known: Container[str]) -> Snapshot:
        stored, places = self._stored, self._changed()
        while stored and (
            0 < len(places) >= len(stored[-1].places) / 2 or any(one.name not in known for one in stored)
        ):
            places = np.union1d(places, stored.pop().places)
        if not stored:
            places = self._used()  # the first piece has no use for what is as it was in the beginning
        pieces: dict[str, Piece] = {}
        if len(places) or (self._named and not stored):  # an empty piece says how many names have been given
            self._named += 1
            stored.append(_Stored(str(self._named), places))
            pieces[str(self._named)] = self._piece(places)
        return Snapshot(tuple(one.name for one in stored), pieces)

    def restore(self, pieces: Mapping[str, Piece]) -> None:
        for name, piece in pieces.items():
            self._stored.append(_Stored(name, self._read(piece)))
            self._named = max(self._named, int(name))
        self._changed()  # all of it is stored

    def _changed(self) -> Int64s:
        """The places that have changed since this was asked last, each once, in order."""
        raise NotImplementedError

    def _used(self) -> Int64s:
        """The places that are not as they are in a fresh object."""
        raise NotImplementedError

    def _piece(self, places: Int64s) -> Piece:
        """What is at places, in arrays and rows that nobody changes any more."""
        raise NotImplementedError

    def _read(self, piece: Piece) -> Int64s:
        """Put back what a piece has; the places."""
        raise NotImplementedError
