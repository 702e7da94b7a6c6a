"""Numbered records of a checkpoint: put once, never replaced, and only by whom the checkpoint belongs to.

A record is a file `kind/number-epoch`, where the epoch is that of its writer's lease. Whoever takes a checkpoint over
looks at what is there and writes down how far each kind has come, its *fence*; records of earlier epochs beyond that do
not count, whenever they are written. So an engine that was paused while another took over can write what it likes.
Invariant: of every kind and number at most one record counts, for all who read, now and later.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from windrow.errors import CheckpointError
from windrow.runtime.shards.storage.files.folder import Folder

KINDS = ("batches", "commits", "plans", "resumed", "statements")
RESTORE = "restore the checkpoint from a copy, or start again with an empty one"
_NAME = re.compile(r"[0-9]{9,}-[0-9]{6,}")
_FENCES_KNOWN = 200  # who was passed over before that will not come back


def with_checksum(content: bytes) -> bytes:
    return zlib.crc32(content).to_bytes(4, "little") + content


def checked(folder: Folder, name: str) -> bytes:
    """The content of a file that has its checksum in front."""
    try:
        content = folder.read(name)
    except OSError as error:
        raise CheckpointError(f"{name} of the checkpoint cannot be read: {error}", RESTORE) from error
    if len(content) <= 4 or zlib.crc32(content[4:]) != int.from_bytes(content[:4], "little"):
        raise CheckpointError(f"{name} of the checkpoint is damaged", RESTORE)
    return content[4:]


class _Fence(NamedTuple):
    epoch: int  # of the one who took over
    reached: Mapping[str, int]  # the last number of each kind that counts of those before


class Records:
    """The owner knows all that is there after `take_over`; anybody else looks every time."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._epoch = 0
        self._known: dict[str, dict[int, str]] = {}  # by kind and number; the owner's

    def take_over(self, epoch: int) -> None:
        """From here on the records of the epoch count, and none that an earlier one still writes."""
        fences = self._fences()
        self._known = {kind: _counting(self._folder.names(kind), kind, fences) for kind in KINDS}
        reached = {kind: max(names, default=-1) for kind, names in self._known.items()}
        fences = [*fences, _Fence(epoch, reached)][-_FENCES_KNOWN:]
        content = json.dumps([fence._asdict() for fence in fences]).encode()
        self._folder.create(f"fences/{epoch:09}", content)
        for name in self._folder.names("fences")[:-2]:  # somebody may be reading the last but one
            self._folder.delete(f"fences/{name}")
        self._epoch = epoch

    def check_complete(self) -> None:
        """That no kind has lost its end: what was there when it was taken over last is there still."""
        fences = self._fences()
        for kind in ("commits", "plans", "resumed", "statements") if fences else ():
            reached = fences[-1].reached.get(kind, -1)
            if max(self.numbers(kind), default=-1) < reached:
                raise CheckpointError(f"{kind}/{reached:09} of the checkpoint is missing", RESTORE)

    def numbers(self, kind: str) -> list[int]:
        return sorted(self._names(kind))

    def newest(self, kind: str) -> int:
        """The highest number; -1 when there is none. Names are known in the order of their numbers."""
        return next(reversed(self._names(kind)), -1)

    def has(self, kind: str, number: int) -> bool:
        return number in self._names(kind)

    def file(self, kind: str, number: int) -> str:
        """The name of a record's file; that of one that is not there is as it would be without an epoch."""
        return f"{kind}/{self._names(kind).get(number, f'{number:09}')}"

    def put(self, kind: str, number: int, content: bytes, is_synced: bool = True) -> None:
        name = f"{number:09}-{self._epoch:06}"
        try:
            self._folder.create(f"{kind}/{name}", with_checksum(content), is_synced)
        except FileExistsError:
            hint = "one engine writes to a checkpoint at a time: close the others"
            raise CheckpointError(f"{kind}/{name} of the checkpoint is there already", hint) from None
        self._known[kind][number] = name

    def read(self, kind: str, number: int) -> bytes:
        """The content, which is as it was written."""
        return checked(self._folder, self.file(kind, number))

    def delete(self, kind: str, number: int) -> None:
        name = self._known[kind].get(number)
        if name is not None:
            self._folder.delete(f"{kind}/{name}")
            del self._known[kind][number]

    def _names(self, kind: str) -> dict[int, str]:
        if self._epoch:
            return self._known[kind]
        names = self._folder.names(kind)  # before the fences: one that comes in between says more about them
        return _counting(names, kind, self._fences())

    def _fences(self) -> list[_Fence]:
        """All that are known; the last file has those before it too."""
        while names := self._folder.names("fences"):
            try:
                return [_Fence(**fence) for fence in json.loads(self._folder.read(f"fences/{names[-1]}"))]
            except FileNotFoundError:
                continue  # others have taken over meanwhile
            except (OSError, ValueError, TypeError):
                raise CheckpointError(f"fences/{names[-1]} of the checkpoint is damaged", RESTORE) from None
        return []


def _counting(names: Sequence[str], kind: str, fences: Sequence[_Fence]) -> dict[int, str]:
    """The records that count, by number."""
    found: dict[int, str] = {}
    for name in filter(_NAME.fullmatch, names):
        number, epoch = map(int, name.split("-"))
        if all(number <= fence.reached.get(kind, -1) for fence in fences if fence.epoch > epoch):
            found[number] = name
    return found
