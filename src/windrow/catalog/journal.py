"""The catalog's folder: one append-only file of records, each with its checksum.

A record is one line: CRC-32 in hex, a space, JSON. A crash in the middle of a write leaves an incomplete last line,
which is dropped on the next start; a damaged line anywhere else is an error that names it. When most records are out of
date the file is written anew beside the old one and put in its place in one step.
"""

from __future__ import annotations

import fcntl
import json
import os
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from windrow.errors import CatalogError

Record = dict[str, Any]
VERSION = 1
_FILE = "catalog.log"


class Journal:
    """Records in the order they were written; one process at a time holds the folder."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / _FILE
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = (folder / "catalog.lock").open("w")
        except OSError as error:
            raise CatalogError(f"the catalog folder {folder} cannot be used: {error.strerror}") from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            hint = "stop the other one, or give this one a folder of its own"
            raise CatalogError(f"the catalog folder {folder} is in use by another process", hint) from None
        try:
            self.records = self._load()
        except CatalogError:
            self._lock.close()
            raise
        self._file = self._path.open("ab")

    def append(self, record: Record) -> None:
        """Add a record; it is safe when `sync` returns."""
        self._file.write(_line(record))
        self.records.append(record)

    def sync(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())

    def rewrite(self, records: Iterable[Record]) -> None:
        """Replace everything by these records, in one step."""
        fresh = self._path.with_suffix(".new")
        complete = [{"version": VERSION}, *records]
        with fresh.open("wb") as file:
            file.writelines(_line(record) for record in complete)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self._path)
        self._sync_folder()
        self._file.close()
        self.records = complete
        self._file = self._path.open("ab")

    def close(self) -> None:
        self.sync()
        self._file.close()
        self._lock.close()

    def _sync_folder(self) -> None:
        folder = os.open(self._path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def _load(self) -> list[Record]:
        if not self._path.exists():
            return self._start()
        data = self._path.read_bytes()
        complete = data.rfind(b"\n") + 1
        lines = data[:complete].splitlines()
        records = [self._record(line, number) for number, line in enumerate(lines, 1)]
        if complete < len(data):
            os.truncate(self._path, complete)
        return self._checked(records) if records else self._start()

    def _start(self) -> list[Record]:
        first = {"version": VERSION}
        with self._path.open("wb") as file:
            file.write(_line(first))
            file.flush()
            os.fsync(file.fileno())
        self._sync_folder()
        return [first]

    def _record(self, line: bytes, number: int) -> Record:
        checksum, _, body = line.partition(b" ")
        if checksum != _checksum(body):
            hint = "restore the folder from a copy, or remove it and create everything again"
            raise CatalogError(f"{self._path}, line {number} is damaged: its checksum does not fit", hint)
        record: Record = json.loads(body)
        return record

    def _checked(self, records: list[Record]) -> list[Record]:
        version = records[0].get("version")
        if version != VERSION:
            hint = f"this Windrow reads version {VERSION}; use the one that wrote the folder"
            raise CatalogError(f"{self._path} has version {version}", hint)
        return records


def _line(record: Record) -> bytes:
    body = json.dumps(record, separators=(",", ":"), ensure_ascii=False).encode()
    return _checksum(body) + b" " + body + b"\n"


def _checksum(body: bytes) -> bytes:
    return b"%08x" % zlib.crc32(body)
