"""Files on a disk of this machine, or mounted as if they were: for this user alone, and synced before they count.

A file is there as a whole or not at all, and when the verb that made it has returned it outlives a loss of power. One
that was written without being synced does when `sync` has returned.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from pathlib import Path

HIDDEN = ".part"  # how names of files end that are being written
_SIDE_BY_SIDE = 8  # syncs
_NO_HARD_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)


class LocalFiles:
    is_near = True

    def __init__(self, root: str) -> None:
        self._root = Path(root)

    def write(self, name: str, content: bytes, is_synced: bool = True) -> None:
        self.write_parts(name, [content], is_synced)

    def write_parts(self, name: str, parts: Sequence[bytes | memoryview], is_synced: bool = True) -> None:
        path = self._root / name
        hidden = _written(path, parts, is_synced)
        hidden.replace(path)
        if is_synced:
            _sync(path.parent)

    def create(self, name: str, content: bytes, is_synced: bool = True) -> None:
        path = self._root / name
        hidden = _written(path, [content], is_synced)
        try:
            _link(hidden, path)
        finally:
            hidden.unlink(missing_ok=True)
        if is_synced:
            _sync(path.parent)

    def sync(self, names: Iterable[str]) -> None:
        """Files and folders side by side: a journal takes them together."""
        paths = [self._root / name for name in names]
        folders = dict.fromkeys(path.parent for path in paths)
        for _ in _syncing(os.getpid()).map(_sync, [*paths, *folders]):
            pass  # an error is raised when it is asked for

    def read(self, name: str) -> bytes:
        return (self._root / name).read_bytes()

    def read_parts(self, name: str, spans: Iterable[tuple[int, int]]) -> list[bytes]:
        with (self._root / name).open("rb") as file:
            return [_part(file.fileno(), offset, length) for offset, length in spans]

    def exists(self, name: str) -> bool:
        return (self._root / name).exists()

    def names(self, under: str) -> Sequence[str]:
        try:
            with os.scandir(self._root / under) as found:
                return [entry.name for entry in found if entry.is_file()]
        except (FileNotFoundError, NotADirectoryError):
            return []

    def folders(self, under: str) -> Sequence[str]:
        try:
            with os.scandir(self._root / under) as found:
                return [entry.name for entry in found if entry.is_dir()]
        except (FileNotFoundError, NotADirectoryError):
            return []

    def delete(self, name: str) -> None:
        (self._root / name).unlink()

    def identity(self, name: str) -> str:
        """A copy of a file has another one, a file that was moved within its file system the same."""
        return str((self._root / name).stat().st_ino)

    def is_open_to_others(self, name: str) -> bool:
        about = (self._root / name).stat()
        return about.st_uid != os.geteuid() or bool(about.st_mode & (stat.S_IWGRP | stat.S_IWOTH))

    def make(self) -> None:
        make_folder(self._root)


def make_folder(path: Path) -> None:
    """Make a folder that is not there, for this user alone, with those above it."""
    if path.is_dir():
        return
    make_folder(path.parent)
    with suppress(FileExistsError):  # somebody else was quicker
        path.mkdir(mode=0o700)
    _sync(path.parent)


def _written(path: Path, parts: Sequence[bytes | memoryview], is_synced: bool) -> Path:
    """Parts of a content, one after the other, under another name that nobody can guess."""
    make_folder(path.parent)
    hidden = path.with_name(f"{path.name}.{secrets.token_hex(8)}{HIDDEN}")
    descriptor = os.open(hidden, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(parts)
            file.flush()
            if is_synced:
                os.fsync(file.fileno())
    except BaseException:
        hidden.unlink(missing_ok=True)  # a full disk gets the half back
        raise
    return hidden


def _link(hidden: Path, path: Path) -> None:
    """Give a file its name unless another has it."""
    try:
        os.link(hidden, path)
    except OSError as error:
        if isinstance(error, FileExistsError) or error.errno not in _NO_HARD_LINKS:
            raise
        if path.exists():  # without hard links two who ask in the same moment are not told apart
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path)) from None
        hidden.replace(path)


def _part(descriptor: int, offset: int, length: int) -> bytes:
    """What is there of it: a file that was cut is found out by its checksum."""
    read = bytearray()
    while len(read) < length and (more := os.pread(descriptor, length - len(read), offset + len(read))):
        read += more
    return bytes(read)


@cache
def machine() -> str:
    """The same for processes that see files through one cache, where one may sync what another has written.

    That is those of one kernel with the same mounts. Empty where this cannot be told.
    """
    try:
        booted = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{booted} {Path('/proc/self/ns/mnt').readlink()}"
    except OSError:
        return ""


@cache
def _syncing(process: int) -> ThreadPoolExecutor:
    """Of this process: threads do not go along when it forks."""
    return ThreadPoolExecutor(_SIDE_BY_SIDE, thread_name_prefix="windrow-sync")


def _sync(path: Path) -> None:
    """A file, or the names in a folder; if there is one."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EBADF, errno.ENOTSUP):  # some mounts do it by themselves
            raise
    finally:
        os.close(descriptor)
