"""What a shard's state consists of after a batch: the names of its parts, and where every piece of them lies."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field

from windrow.errors import CheckpointError
from windrow.runtime.shards.batch_spec import ShardVersion
from windrow.runtime.shards.storage.bundles import Address
from windrow.runtime.shards.storage.codec import decoded, encoded
from windrow.runtime.shards.storage.files.folder import Folder
from windrow.runtime.shards.storage.records import RESTORE


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


def write_manifest(folder: Folder, name: str, manifest: StateManifest) -> tuple[str, int, int]:
    """The file, its checksum, and how long it is."""
    content = encoded(manifest)
    folder.write(name, content)
    return name, zlib.crc32(content), len(content)


def read_manifest(folder: Folder, version: ShardVersion) -> StateManifest:
    try:
        content = folder.read(version.manifest)
    except OSError as error:
        raise CheckpointError(f"{version.manifest} of the checkpoint cannot be read: {error}", RESTORE) from None
    if zlib.crc32(content) != version.checksum:
        raise CheckpointError(f"{version.manifest} of the checkpoint is damaged", RESTORE)
    manifest: StateManifest = decoded(content)
    return manifest
