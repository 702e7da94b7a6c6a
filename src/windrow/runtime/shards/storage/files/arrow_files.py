"""Files on other file systems that Arrow reaches, HDFS first: `create` builds on its rename, which does not replace."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence

import pyarrow as pa
import pyarrow.fs

from windrow.runtime.shards.storage.files.local_files import HIDDEN


class ArrowFiles:
    is_near = False

    def __init__(self, place: str) -> None:
        self._files, self._root = pa.fs.FileSystem.from_uri(place)

    def write(self, name: str, content: bytes, is_synced: bool = True) -> None:
        hidden = self._written(name, content)
        if self.exists(name):
            self.delete(name)
        self._files.move(hidden, self._path(name))

    def create(self, name: str, content: bytes, is_synced: bool = True) -> None:
        hidden = self._written(name, content)
        try:
            if not self.exists(name):
                self._files.move(hidden, self._path(name))
                return
        except OSError:
            if not self.exists(name):
                raise
        self._files.delete_file(hidden)
        raise FileExistsError(f"{name} is there already")

    def sync(self, names: Iterable[str]) -> None:
        """What is written is durable."""

    def read(self, name: str) -> bytes:
        with self._files.open_input_file(self._path(name)) as file:
            content: bytes = file.read()
        return content

    def read_parts(self, name: str, spans: Iterable[tuple[int, int]]) -> list[bytes]:
        with self._files.open_input_file(self._path(name)) as file:
            return [file.read_at(length, offset) for offset, length in spans]

    def exists(self, name: str) -> bool:
        return bool(self._files.get_file_info(self._path(name)).type != pa.fs.FileType.NotFound)

    def names(self, under: str) -> Sequence[str]:
        return [info.base_name for info in self._listed(under) if info.is_file]

    def folders(self, under: str) -> Sequence[str]:
        return [info.base_name for info in self._listed(under) if not info.is_file]

    def delete(self, name: str) -> None:
        self._files.delete_file(self._path(name))

    def identity(self, name: str) -> str:
        """Arrow does not say whether a file is a copy."""
        return ""

    def is_open_to_others(self, name: str) -> bool:
        """Arrow does not say whose a file is."""
        return False

    def make(self) -> None:
        self._files.create_dir(self._root, recursive=True)

    def _listed(self, under: str) -> Sequence[pa.fs.FileInfo]:
        found: Sequence[pa.fs.FileInfo] = self._files.get_file_info(
            pa.fs.FileSelector(self._path(under), allow_not_found=True)
        )
        return found

    def _written(self, name: str, content: bytes) -> str:
        path = self._path(name)
        self._files.create_dir(path.rpartition("/")[0], recursive=True)
        hidden = f"{path}.{secrets.token_hex(8)}{HIDDEN}"
        with self._files.open_output_stream(hidden) as file:
            file.write(content)
        return hidden

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"
