"""Bundles: immutable files of named pieces, written once, found wrong by their checksums.

A micro-batch writes one bundle a shard, with the pieces of state that are new. Where a piece lies is its *address*; a
manifest is a mapping from names of pieces to addresses. The folder may be on any file system that Arrow reaches.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.fs

from windrow.batch import Dictionary
from windrow.errors import CheckpointError
from windrow.runtime.shards.storage.codec import decode_piece, encode_piece
from windrow.runtime.shards.storage.disk_cache import CACHE


class Address(NamedTuple):
    bundle: str
    offset: int
    length: int
    checksum: int


Manifest = Mapping[str, Address]


@dataclass(frozen=True)
class Folder:
    """A folder on some file system, by its address."""

    uri: str

    @property
    def is_near(self) -> bool:
        """On a disk of this machine, or mounted as if it were."""
        return self.uri.startswith("file:")

    def _open(self) -> tuple[pa.fs.FileSystem, str]:
        found: tuple[pa.fs.FileSystem, str] = pa.fs.FileSystem.from_uri(self.uri)
        return found

    def write(self, name: str, content: bytes) -> None:
        """At once or not at all: under another name first."""
        files, root = self._open()
        path = f"{root}/{name}"
        files.create_dir(path.rpartition("/")[0], recursive=True)
        hidden = f"{path}.{zlib.crc32(content):08x}.part"
        with files.open_output_stream(hidden) as file:
            file.write(content)
        files.move(hidden, path)

    def read(self, name: str) -> bytes:
        files, root = self._open()
        with files.open_input_file(f"{root}/{name}") as file:
            content: bytes = file.read()
        return content

    def read_parts(self, name: str, addresses: Iterable[Address]) -> list[bytes]:
        files, root = self._open()
        with files.open_input_file(f"{root}/{name}") as file:
            return [file.read_at(address.length, address.offset) for address in addresses]

    def exists(self, name: str) -> bool:
        files, root = self._open()
        return bool(files.get_file_info(f"{root}/{name}").type != pa.fs.FileType.NotFound)

    def names(self, under: str, hidden: bool = False) -> list[str]:
        """The files directly below a folder of the folder, with or without those that are being written."""
        files, root = self._open()
        found = files.get_file_info(pa.fs.FileSelector(f"{root}/{under}", allow_not_found=True))
        return sorted(
            info.base_name for info in found if info.is_file and (hidden or not info.base_name.endswith(".part"))
        )

    def delete(self, name: str) -> None:
        files, root = self._open()
        try:
            files.delete_file(f"{root}/{name}")
        except FileNotFoundError:
            return  # gone already: a collection that was cut off goes on


def bundle_name(batch: int, stage: int, shard: int, token: str) -> str:
    """Of what a shard writes at a stage of a micro-batch; a batch that runs again has another token."""
    return f"{batch:09}-{stage}-{shard}-{token[:8]}"


def writing_shard(bundle: str) -> int:
    """The shard in the name of a bundle."""
    return int(bundle.split("-")[2])


def write_bundle(folder: Folder, bundle: str, contents: Mapping[str, bytes]) -> dict[str, Address]:
    """Write contents one after the other; where each of them lies."""
    addresses, offset = {}, 0
    for name, content in contents.items():
        addresses[name] = Address(bundle, offset, len(content), zlib.crc32(content))
        offset += len(content)
    if contents:
        content = b"".join(contents.values())
        folder.write(bundle, content)
        if not folder.is_near and bundle.startswith("pieces/"):  # the rest is for others to read
            CACHE.write(folder.uri, bundle, content)
    return addresses


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
    content = None if folder.is_near else CACHE.read(folder.uri, bundle)
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
            parts = folder.read_parts(bundle, addresses)
        else:
            content = folder.read(bundle)
            parts = [content[address.offset : address.offset + address.length] for address in addresses]
    except OSError as error:
        raise CheckpointError(f"{bundle} of the checkpoint cannot be read: {error}", RESTORE) from None
    for name, part in zip(names, parts, strict=True):
        if zlib.crc32(part) != manifest[name].checksum:
            raise CheckpointError(f"{bundle} of the checkpoint is damaged (piece {name})", RESTORE)
    if not folder.is_near:
        CACHE.write(folder.uri, bundle, content)
    return dict(zip(names, parts, strict=True))


RESTORE = "restore the checkpoint from a copy, or start again with an empty one"


def piece_to_bytes(piece: object) -> bytes:
    """Arrays as they are; strings as codes of the shard's dictionary, which is kept beside them."""
    parts = buffers_of(piece)
    lengths = pickle.dumps([part.nbytes for part in parts])
    return b"".join([len(lengths).to_bytes(4, "little"), lengths, *parts])


def buffers_of(piece: object) -> list[memoryview]:
    """What is not an array first, then the arrays."""
    buffers: list[pickle.PickleBuffer] = []
    header = encode_piece(piece, buffers.append)
    return [memoryview(header), *(memoryview(buffer.raw()) for buffer in buffers)]


def piece_from_bytes(content: bytes, dictionary: Dictionary) -> Any:
    start = 4 + int.from_bytes(content[:4], "little")
    parts, view = [], memoryview(bytearray(content))  # a copy of our own: state is changed in place
    for length in pickle.loads(content[4:start]):
        parts.append(view[start : start + length])
        start += length
    return decode_piece(parts[0], parts[1:], dictionary)
