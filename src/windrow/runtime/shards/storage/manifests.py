"""What a shard's state consists of after a batch: the names of its parts, and where every piece of them lies.

A manifest is written as what has changed since the one before it, so that a batch writes as much as it has changed,
however much is kept. Such files make a chain that begins with a whole manifest; the chain begins anew when it has
become long, or half as large as what it began with. Invariant: `applied(changes(before, now), before) == now`, with the
pieces in the same order.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from windrow.errors import CheckpointError
from windrow.runtime.shards.batch_spec import ShardVersion
from windrow.runtime.shards.storage.bundles import Address
from windrow.runtime.shards.storage.codec import decoded, encoded
from windrow.runtime.shards.storage.files.folder import Folder
from windrow.runtime.shards.storage.records import RESTORE

_LONGEST, _LONGEST_FAR = 32, 4  # files of a chain; all of them are read one after the other


@dataclass(frozen=True)
class StateManifest:
    queries: frozenset[str] = frozenset()  # the keys of those that ran
    parts: frozenset[str] = frozenset()  # also those that had nothing to write
    tables_changed: int = 0
    strings: int = 0  # that the dictionary had when it was written without those that nobody used
    pieces: dict[str, Address] = field(default_factory=dict)
    bundles: dict[str, int] = field(default_factory=dict)  # those that the pieces lie in, and how long they are

    @property
    def size(self) -> int:
        return sum(address.length for address in self.pieces.values())

    def well_used(self) -> dict[str, Address]:
        """The pieces that lie in bundles of which at least half is still in use; the others are written again."""
        used = dict.fromkeys(self.bundles, 0)
        for address in self.pieces.values():
            used[address.bundle] += address.length
        return {name: a for name, a in self.pieces.items() if 2 * used[a.bundle] >= self.bundles[a.bundle]}


class RunOfPieces(NamedTuple):
    """The pieces at some places of the manifest before, and how many of the added ones come after them."""

    first: int
    end: int
    added: int


@dataclass(frozen=True)
class ManifestChanges:
    """A manifest by what differs from the one before it; None stands for what does not."""

    before: tuple[str, int]  # its file and checksum
    queries: frozenset[str] | None
    parts: frozenset[str] | None
    tables_changed: int
    strings: int
    kept: list[RunOfPieces]
    pieces: dict[str, Address]  # that are added
    bundles: dict[str, int]  # that are added


class ManifestFile(NamedTuple):
    """One of a chain."""

    name: str
    checksum: int
    entries: int  # that a reader has to go through


Chain = tuple[ManifestFile, ...]  # the whole manifest first


def changes(before: StateManifest, now: StateManifest, file: ManifestFile) -> ManifestChanges:
    """From a manifest, which is in a file, to the next one."""
    places = {name: place for place, name in enumerate(before.pieces)}
    kept, added = [RunOfPieces(0, 0, 0)], {}
    for name, address in now.pieces.items():
        first, end, count = kept[-1]
        place = places[name] if before.pieces.get(name) == address else None
        if place is None:
            added[name] = address
            kept[-1] = RunOfPieces(first, end, count + 1)
        elif place == end and not count:
            kept[-1] = RunOfPieces(first, end + 1, 0)
        else:
            kept.append(RunOfPieces(place, place + 1, 0))
    return ManifestChanges(
        (file.name, file.checksum),
        None if now.queries == before.queries else now.queries,
        None if now.parts == before.parts else now.parts,
        now.tables_changed,
        now.strings,
        kept,
        added,
        {name: length for name, length in now.bundles.items() if name not in before.bundles},
    )


def applied(made: ManifestChanges, before: StateManifest) -> StateManifest:
    """The manifest after changes."""
    known, added = list(before.pieces.items()), iter(made.pieces.items())
    pieces: dict[str, Address] = {}
    for run in made.kept:
        pieces.update(known[run.first : run.end])
        pieces.update(islice(added, run.added))
    queries = before.queries if made.queries is None else made.queries
    parts = before.parts if made.parts is None else made.parts
    bundles = bundles_of(pieces, {**before.bundles, **made.bundles})
    return StateManifest(queries, parts, made.tables_changed, made.strings, pieces, bundles)


def bundles_of(pieces: Mapping[str, Address], lengths: Mapping[str, int]) -> dict[str, int]:
    """The bundles that pieces lie in, and how long these are."""
    return {address.bundle: lengths[address.bundle] for address in pieces.values()}


def write_manifest(
    folder: Folder, name: str, now: StateManifest, before: StateManifest, chain: Chain
) -> tuple[Chain, int]:
    """Write a manifest after the one at the end of a chain; its own chain, and how many bytes were written."""
    content, entries = encoded(now) if not chain else b"", len(now.pieces)
    if chain:
        made = changes(before, now, chain[-1])
        more = len(made.kept) + len(made.pieces)
        is_long = len(chain) >= (_LONGEST if folder.is_near else _LONGEST_FAR)
        if is_long or 2 * (more + sum(file.entries for file in chain[1:])) > chain[0].entries:
            chain, content = (), encoded(now)
        else:
            content, entries = encoded(made), more
    folder.write(name, content)
    return (*chain, ManifestFile(name, zlib.crc32(content), entries)), len(content)


def read_manifest(folder: Folder, version: ShardVersion) -> StateManifest:
    return read_chain(folder, version)[0]


def read_chain(folder: Folder, version: ShardVersion) -> tuple[StateManifest, Chain]:
    """A manifest, and the files that it consists of."""
    found: list[ManifestChanges] = []
    files: list[ManifestFile] = []
    file: tuple[str, int] | None = version.manifest, version.checksum
    while file is not None:
        one = _read(folder, *file)
        if isinstance(one, StateManifest):
            files.append(ManifestFile(*file, len(one.pieces)))
            manifest, file = one, None
        else:
            files.append(ManifestFile(*file, len(one.kept) + len(one.pieces)))
            found.append(one)
            file = one.before
    for made in reversed(found):
        manifest = applied(made, manifest)
    return manifest, tuple(reversed(files))


def _read(folder: Folder, name: str, checksum: int) -> StateManifest | ManifestChanges:
    try:
        content = folder.read(name)
    except OSError as error:
        raise CheckpointError(f"{name} of the checkpoint cannot be read: {error}", RESTORE) from None
    if zlib.crc32(content) != checksum:
        raise CheckpointError(f"{name} of the checkpoint is damaged", RESTORE)
    found: StateManifest | ManifestChanges = decoded(content)
    return found
