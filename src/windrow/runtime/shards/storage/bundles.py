"""Bundles: immutable files of named pieces, written once, found wrong by their checksums.

A micro-batch writes one bundle a shard, with the pieces of state that are new. Where a piece lies is its *address*; a
manifest is a mapping from names of pieces to addresses. The folder may be on any file system that Arrow reaches.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from windrow.batch import Dictionary
from windrow.errors import CheckpointError
from windrow.runtime.shards.storage.codec import decode_piece, encode_piece
from windrow.runtime.shards.storage.files.disk_cache import CACHE
from windrow.runtime.shards.storage.files.folder import Folder
from windrow.runtime.shards.storage.records import RESTORE


class Address(NamedTuple):
    bundle: str
    offset: int
    length: int
    checksum: int


Manifest = Mapping[str, Address]
Content = Sequence[bytes | memoryview]  # in parts, each a buffer of bytes


def bundle_name(batch: int, stage: int, shard: int, token: str) -> str:
    """Of what a shard writes at a stage of a micro-batch; a batch that runs again has another token."""
    return f"{batch:09}-{stage}-{shard}-{token[:8]}"


def files_written(bundle: str) -> list[str]:
    """All that a shard may have written under a name."""
    return [f"{under}/{bundle}" for under in ("pieces", "manifests", "changes", "side_outputs")]


def writing_shard(bundle: str) -> int:
    """The shard in the name of a bundle."""
    return int(bundle.split("-")[2])


def writing_attempt(bundle: str) -> str:
    """What tells apart those who ran the same step of a shard, in the name of a bundle."""
    return bundle.rpartition("-")[2]


def write_bundle(folder: Folder, bundle: str, contents: Mapping[str, Content]) -> dict[str, Address]:
    """Write contents one after the other, without putting them together first; where each of them lies."""
    addresses, offset = {}, 0
    for name, content in contents.items():
        length, checksum = 0, 0
        for part in content:
            length, checksum = length + len(part), zlib.crc32(part, checksum)
        addresses[name] = Address(bundle, offset, length, checksum)
        offset += length
    if contents:
        parts = [part for content in contents.values() for part in content]
        folder.write_parts(bundle, parts)
        if not folder.is_near and bundle.startswith("pieces/"):  # the rest is for others to read
            CACHE.write(folder.place, bundle, b"".join(parts))
    return addresses


def in_one_part(contents: Mapping[str, bytes]) -> dict[str, Content]:
    return {name: (content,) for name, content in contents.items()}


def read_contents(folder: Folder, manifest: Manifest) -> dict[str, bytes]:
    """All contents of a manifest, each checked; a bundle is opened once."""
    by_bundle: dict[str, list[str]] = {}
    for name, address in manifest.items():
        by_bundle.setdefault(address.bundle, []).append(name)
    contents: dict[str, bytes] = {}
    for bundle, names in by_bundle.items():
        contents |= _cached(folder, bundle, names, manifest) or _read(folder, bundle, names, manifest)
    return {name: contents[name] for name in manifest}


def _cached(folder: Folder, bundle: str, names: list[str], manifest: Manifest) -> dict[str, bytes] | None:
    """From this machine's disk; None when it is not there, or not as it should be."""
    content = None if folder.is_near else CACHE.read(folder.place, bundle)
    if content is None:
        return None
    ends = ((name, manifest[name].offset, manifest[name].offset + manifest[name].length) for name in names)
    parts = {name: content[start:end] for name, start, end in ends}
    return parts if all(zlib.crc32(part) == manifest[name].checksum for name, part in parts.items()) else None


def _read(folder: Folder, bundle: str, names: list[str], manifest: Manifest) -> dict[str, bytes]:
    """From the folder itself; a whole bundle when it is far away, which is then kept near."""
    addresses = [manifest[name] for name in names]
    try:
        if folder.is_near:
            parts = folder.read_parts(bundle, [(address.offset, address.length) for address in addresses])
        else:
            content = folder.read(bundle)
            parts = [content[address.offset : address.offset + address.length] for address in addresses]
    except OSError as error:
        raise CheckpointError(f"{bundle} of the checkpoint cannot be read: {error}", RESTORE) from None
    for name, part in zip(names, parts, strict=True):
        if zlib.crc32(part) != manifest[name].checksum:
            raise CheckpointError(f"{bundle} of the checkpoint is damaged (piece {name})", RESTORE)
    if not folder.is_near:
        CACHE.write(folder.place, bundle, content)
    return dict(zip(names, parts, strict=True))


def piece_content(piece: object) -> Content:
    """Arrays as they are; strings as codes of the shard's dictionary, which is kept beside them.

    What is not an array comes first, after the lengths of all parts.
    """
    buffers: list[pickle.PickleBuffer] = []
    header = encode_piece(piece, buffers.append)
    arrays = [buffer.raw() for buffer in buffers]
    lengths = np.array([len(header), *(array.nbytes for array in arrays)], "<i8").tobytes()
    return [len(lengths).to_bytes(4, "little") + lengths + header, *arrays]


def piece_from_bytes(content: bytes, dictionary: Dictionary) -> Any:
    start = 4 + int.from_bytes(content[:4], "little")
    parts, view = [], memoryview(bytearray(content))  # a copy of our own: state is changed in place
    for length in np.frombuffer(content[4:start], "<i8").tolist():
        parts.append(view[start : start + length])
        start += length
    return decode_piece(parts[0], parts[1:], dictionary)
