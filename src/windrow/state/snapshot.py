"""Snapshots in pieces: what a checkpoint writes, and how it is put together again.

A state is a list of named pieces, its manifest. A piece never changes: when its content does, it comes under a new
name. So a snapshot that is told which names are already stored hands over only what is new, and sliding on means
writing the newest pieces and leaving the oldest out of the manifest.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from windrow.batch.arrays import Array
from windrow.batch.batch import Batch

_COUNTER = "named."


@dataclass(frozen=True, eq=False)
class Piece:
    """Named arrays, and rows where there are any."""

    arrays: Mapping[str, Array]
    rows: Batch | None = None


@dataclass(frozen=True, eq=False)
class Snapshot:
    manifest: tuple[str, ...]
    pieces: Mapping[str, Piece] = field(default_factory=dict)  # of the manifest, those not stored before


class Part(Protocol):
    """Something that can be written in pieces and read back."""

    def snapshot(self, known: Container[str]) -> Snapshot:
        """The manifest, and the pieces of it that are not among the `known`."""
        ...

    def restore(self, pieces: Mapping[str, Piece]) -> None:
        """Become what the pieces of a manifest say; called on a fresh object, in the manifest's order."""
        ...


class OnePiece:
    """A part that is written as a whole when it has changed: who changes it counts `_changes` up."""

    _changes = 0

    def snapshot(self, known: Container[str]) -> Snapshot:
        name = str(self._changes)
        return Snapshot((name,), {} if name in known else {name: self._piece()})

    def restore(self, pieces: Mapping[str, Piece]) -> None:
        for name, piece in pieces.items():
            self._read(piece)
            self._changes = int(name)

    def _piece(self) -> Piece:
        """All there is, in arrays and rows that nobody changes any more."""
        raise NotImplementedError

    def _read(self, piece: Piece) -> None:
        """Become what a piece says; called on a fresh object."""
        raise NotImplementedError


def copied(arrays: Mapping[str, Array]) -> dict[str, Array]:
    return {name: array.copy() for name, array in arrays.items()}


class Parts:
    """A state made of named parts."""

    def parts(self) -> Mapping[str, Part]:
        raise NotImplementedError

    def snapshot(self, known: Container[str] = ()) -> Snapshot:
        return snapshot_parts(self.parts(), known)

    def restore(self, pieces: Mapping[str, Piece]) -> None:
        restore_parts(self.parts(), pieces)


class NoState(Parts):
    """The state of an operator that needs none."""

    def __len__(self) -> int:
        return 0

    def parts(self) -> Mapping[str, Part]:
        return {}


def snapshot_parts(parts: Mapping[str, Part], known: Container[str]) -> Snapshot:
    """One snapshot of several parts; each part's pieces are named after it."""
    manifest: list[str] = []
    pieces: dict[str, Piece] = {}
    for name, part in parts.items():
        below = part.snapshot(_Under(name, known))
        manifest += (f"{name}/{piece}" for piece in below.manifest)
        pieces |= {f"{name}/{piece}": content for piece, content in below.pieces.items()}
    return Snapshot(tuple(manifest), pieces)


def restore_parts(parts: Mapping[str, Part], pieces: Mapping[str, Piece]) -> None:
    for name, part in parts.items():
        part.restore({piece[len(name) + 1 :]: pieces[piece] for piece in _named(name, pieces)})


def snapshot_batches(named: int, batches: Iterable[tuple[str, Batch]], known: Container[str]) -> Snapshot:
    """A piece a batch; an empty one says how many names have been given, so that none is given twice."""
    pieces = {f"{_COUNTER}{named}": Piece({})} | {name: Piece({}, rows) for name, rows in batches}
    return Snapshot(tuple(pieces), {name: piece for name, piece in pieces.items() if name not in known})


def restored_batches(pieces: Mapping[str, Piece]) -> tuple[int, list[tuple[str, Batch]]]:
    """How many names have been given, and the batches."""
    counters = [int(name[len(_COUNTER) :]) for name, piece in pieces.items() if piece.rows is None]
    return max(counters, default=0), [(name, piece.rows) for name, piece in pieces.items() if piece.rows is not None]


def _named(name: str, pieces: Iterable[str]) -> Iterable[str]:
    return (piece for piece in pieces if piece.startswith(f"{name}/"))


@dataclass(frozen=True)
class _Under:
    """The known names below one part."""

    name: str
    known: Container[str]

    def __contains__(self, piece: object) -> bool:
        return f"{self.name}/{piece}" in self.known
