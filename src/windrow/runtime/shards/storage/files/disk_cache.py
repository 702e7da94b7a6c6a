"""Bundles of far checkpoints on this machine's disk, so that a worker that was started anew need not fetch them.

Nothing here is needed: readers check what they get, and fetch what is missing or wrong. Bundles never change, so there
is nothing to keep up to date. The folder is WINDROW_CACHE, or one in the system's folder for temporary files; when it
holds more than `CACHE_BYTES`, those that were not asked for the longest go.
"""

from __future__ import annotations

import getpass
import hashlib
import os
import tempfile
from pathlib import Path

from windrow.runtime.shards.storage.files.local_files import LocalFiles, make_folder

CACHE_BYTES = 8 << 30


class DiskCache:
    def read(self, place: str, bundle: str) -> bytes | None:
        path = self._path(place, bundle)
        try:
            self._check_own()
            content = path.read_bytes()
            os.utime(path)
        except OSError:
            return None
        return content

    def write(self, place: str, bundle: str, content: bytes) -> None:
        """Keep a bundle, if there is room on the disk."""
        path = self._path(place, bundle)
        try:
            make_folder(path.parent)
            self._check_own()
            LocalFiles(str(path.parent)).write(path.name, content)
            self._make_room()
        except OSError:
            return

    def _path(self, place: str, bundle: str) -> Path:
        checkpoint = hashlib.sha1(place.encode(), usedforsecurity=False).hexdigest()
        return self._folder() / checkpoint / bundle.replace("/", "-")

    def _folder(self) -> Path:
        given = os.environ.get("WINDROW_CACHE")
        return Path(given) if given else Path(tempfile.gettempdir()) / f"windrow-cache-{getpass.getuser()}"

    def _check_own(self) -> None:
        """The folder for temporary files is everybody's: what somebody else put there is not read."""
        if self._folder().stat().st_uid != os.getuid():
            raise PermissionError(f"{self._folder()} belongs to somebody else")

    def _make_room(self) -> None:
        cached = [(path.stat(), path) for path in self._folder().glob("*/*")]
        size = sum(stat.st_size for stat, _ in cached)
        for stat, path in sorted(cached, key=lambda entry: entry[0].st_mtime_ns):
            if size <= CACHE_BYTES:
                return
            path.unlink(missing_ok=True)
            size -= stat.st_size


CACHE = DiskCache()
