"""The checkpoint: everything that has to outlive the driver, in one folder that all machines reach.

    format              what wrote it, and how many shards there are
    statements/k        what users have said, in order
    plans/v             versions of the running plan
    batches/n           the plan of micro-batch n, written before it runs: a replay runs the same
    commits/n           what batch n came to; the batch has happened when this file is there, and not before
    pieces/, manifests/ state of shards; changes/, aside/: what came out, late and rejected rows
    spark/              Spark's own: offsets of sources

Commit records are kept for the last `KEPT_BATCHES` batches, and with them what the batches gave out.
"""

from __future__ import annotations

import json
import pickle
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from windrow.errors import CheckpointError
from windrow.runtime.progress import Progress
from windrow.runtime.spark.batch_spec import BatchSpec, ShardVersion
from windrow.runtime.spark.bundles import Address, Folder
from windrow.runtime.spark.running import Metric, RunningPlan

FORMAT = 1
VERSION = version("windrow")
KEPT_BATCHES = 1_000


@dataclass(frozen=True)
class Commit:
    """What a micro-batch came to."""

    number: int
    plan_version: int
    statements: int  # how many of the statements have taken effect
    progress: Progress
    versions: Mapping[tuple[int, int], ShardVersion]
    changes: Mapping[str, Sequence[Address]] = field(default_factory=dict)  # by query, one a shard
    told: Mapping[str, Sequence[Address]] = field(default_factory=dict)
    aside: Mapping[str, Address] = field(default_factory=dict)
    garbage: Sequence[str] = ()
    metrics: Sequence[Metric] = ()
    state_bytes: int = 0
    seconds: float = 0.0
    ended: bool = False


class Checkpoint:
    def __init__(self, place: str) -> None:
        self.uri = place if "://" in place else Path(place).resolve().as_uri()
        self.folder = Folder(f"{self.uri}/windrow")

    @property
    def spark_folder(self) -> str:
        return f"{self.uri}/spark"

    def open(self, shards: int) -> int:
        """The number of shards: that of the checkpoint when there is one."""
        if not self.folder.exists("format"):
            described = {"format": FORMAT, "windrow": VERSION, "shards": shards}
            self.folder.write("format", json.dumps(described).encode())
            return shards
        described = json.loads(self.folder.read("format"))
        if described["format"] != FORMAT or described["windrow"] != VERSION:
            raise CheckpointError(
                f"the checkpoint was written by Windrow {described['windrow']} (format {described['format']}), "
                f"this is {VERSION} (format {FORMAT})",
                "run it with the version that wrote it, or start with an empty checkpoint",
            )
        return int(described["shards"])

    def log_statement(self, number: int, statement: object) -> None:
        self._write(f"statements/{number:09}", statement)

    def statements(self) -> Iterator[Any]:
        """What has been said, in order."""
        for name in self.folder.names("statements"):
            yield self._read(f"statements/{name}")

    def log_plan(self, plan: RunningPlan) -> None:
        self._write(f"plans/{plan.version:09}", plan)

    def plan(self, version: int) -> RunningPlan:
        plan: RunningPlan = self._read(f"plans/{version:09}")
        return plan

    def log_batch(self, spec: BatchSpec, statements: int) -> None:
        self._write(f"batches/{spec.number:09}", (spec, statements))

    def logged_batch(self, number: int) -> tuple[BatchSpec, int] | None:
        name = f"batches/{number:09}"
        if not self.folder.exists(name):
            return None
        found: tuple[BatchSpec, int] = self._read(name)
        return found

    def commit(self, record: Commit) -> None:
        """The batch has happened; then what nobody needs any more is thrown away."""
        self._write(f"commits/{record.number:09}", record)
        self._collect(record.number)

    def commits(self, after: int = -1) -> Iterator[Commit]:
        for name in self.folder.names("commits"):
            if int(name) > after:
                yield self._read(f"commits/{name}")

    def committed(self, number: int) -> bool:
        return self.folder.exists(f"commits/{number:09}")

    def last_commit(self) -> Commit | None:
        names = self.folder.names("commits")
        found: Commit | None = self._read(f"commits/{names[-1]}") if names else None
        return found

    def _collect(self, number: int) -> None:
        """Pieces that the commit before last has left, so that nobody is reading them; old batches altogether."""
        before = f"commits/{number - 1:09}"
        if number > 0 and self.folder.exists(before):
            for name in self._read(before).garbage:
                self.folder.delete(name)
        older = f"commits/{number - 2:09}"
        if number > 1 and self.folder.exists(older):
            for version in self._read(older).versions.values():
                self.folder.delete(version.manifest)
        self._forget(number - KEPT_BATCHES)

    def _forget(self, number: int) -> None:
        name = f"commits/{number:09}"
        if number < 0 or not self.folder.exists(name):
            return
        record: Commit = self._read(name)
        addresses = [a for of in (record.changes, record.told) for each in of.values() for a in each]
        for bundle in {address.bundle for address in [*addresses, *record.aside.values()]}:
            self.folder.delete(bundle)
        self.folder.delete(f"batches/{number:09}")
        self.folder.delete(name)

    def sweep(self, record: Commit | None) -> None:
        """Throw away what a driver that died left behind: pieces that no manifest names."""
        from windrow.runtime.spark.shard import read_manifest

        versions = [] if record is None else list(record.versions.values())
        used = {address.bundle for v in versions for address in read_manifest(self.folder, v)[0].values()}
        for name in self.folder.names("pieces"):
            if f"pieces/{name}" not in used:
                self.folder.delete(f"pieces/{name}")

    def _write(self, name: str, content: object) -> None:
        pickled = pickle.dumps(content, protocol=5)
        self.folder.write(name, zlib.crc32(pickled).to_bytes(4, "little") + pickled)

    def _read(self, name: str) -> Any:
        content = self.folder.read(name)
        if zlib.crc32(content[4:]) != int.from_bytes(content[:4], "little"):
            hint = "restore the checkpoint from a copy, or start again with an empty one"
            raise CheckpointError(f"{name} of the checkpoint is damaged", hint)
        return pickle.loads(content[4:])
