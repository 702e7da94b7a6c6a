"""The checkpoint: everything that has to outlive the driver, in one folder that all machines reach.

    format              what wrote it, and how many shards there are
    statements/k        what users have stated, in order
    aggregates/         functions of the user's own that queries call
    resumed             which statements of a file that is run have been recorded
    plans/v             versions of the running plan
    batches/n           the plan of micro-batch n, written before it runs: a replay runs the same
    positions           how far sinks have come in the log; sinks/: answers and differences of those that fail
    commits/n           what batch n came to; the batch has happened when this file is there, and not before
    pieces/, manifests/ state of shards; changes/, side_outputs/: what came out, late and rejected rows
    spark/              Spark's own: offsets of sources

Commit records stay for the last `RETAINED_BATCHES` batches, and with them what the batches gave out; of state, what the
last two commits name; of plans the last; of statements those that are not over. The rest is collected: what a commit
leaves behind with the next one, and what died unfinished by a sweep at every start and every `SWEPT_EVERY` batches.
"""

from __future__ import annotations

import json
import logging
import pickle
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import cloudpickle

from windrow.errors import CheckpointError
from windrow.plan.user_aggregate import UserAggregate
from windrow.runtime.progress import Progress
from windrow.runtime.shards.batch_spec import BatchSpec, ShardVersion, plan_to_bytes
from windrow.runtime.shards.running_plan import RunningPlan
from windrow.runtime.shards.storage.bundles import RESTORE, Address, Folder
from windrow.runtime.shards.storage.codec import decoded, encoded
from windrow.runtime.shards.storage.manifests import read_manifest
from windrow.runtime.shards.tasks.stage_run import Metric

FORMAT = 4
VERSION = version("windrow")
RETAINED_BATCHES = 1_000
SWEPT_EVERY = 100  # batches
LOG = logging.getLogger("windrow")


@dataclass(frozen=True)
class Commit:
    """What a micro-batch came to."""

    number: int
    source_batch: int  # the number of the source's last micro-batch that is in here
    plan_version: int
    statements: int  # the number of the last statement that has taken effect
    progress: Progress
    refreshed_until: Mapping[str, int]  # by query: refreshes from here on have not been emitted
    last_changes: Mapping[str, int]  # of the answers of queries whose sources have ended with this batch
    versions: Mapping[tuple[int, int], ShardVersion]
    emitted: Mapping[str, Sequence[Address]] = field(default_factory=dict)  # by query and mode, one per shard
    side_outputs: Mapping[str, Address] = field(default_factory=dict)
    garbage: Sequence[str] = ()
    metrics: Sequence[Metric] = ()
    state_bytes: int = 0
    seconds: float = 0.0
    ended: bool = False
    waiting: int = 0  # rows that are not final yet
    live: int = 0  # rows of state and of answers that time may still change
    unwritten: Sequence[str] = ()  # queries whose files could not be written


def checkpoint_uri(place: str) -> str:
    return place if "://" in place else Path(place).resolve().as_uri()


class Checkpoint:
    def __init__(self, place: str) -> None:
        self.uri = checkpoint_uri(place)
        self.folder = Folder(f"{self.uri}/windrow")
        self._recent: dict[int, Commit] = {}
        self.aggregates: dict[str, UserAggregate] = {}  # those of the user's own that queries may call

    @property
    def spark_folder(self) -> str:
        return f"{self.uri}/spark"

    def open(self, shards: int | None, otherwise: int) -> int:
        """The number of shards: that of the checkpoint when there is one."""
        if not self.folder.exists("format"):
            described = {"format": FORMAT, "windrow": VERSION, "shards": shards or otherwise}
            self.folder.write("format", json.dumps(described).encode())
            return shards or otherwise
        try:
            described = json.loads(self.folder.read("format"))
            written = described["format"], described["windrow"], int(described["shards"])
        except (ValueError, KeyError, TypeError):
            raise CheckpointError("format of the checkpoint is damaged", RESTORE) from None
        if written[:2] != (FORMAT, VERSION):
            raise CheckpointError(
                f"the checkpoint has format {written[0]}, of Windrow {written[1]}; "
                f"this is Windrow {VERSION}, which reads and writes format {FORMAT}",
                "run it with the version that wrote it, or start with an empty checkpoint",
            )
        if shards not in (None, written[2]):
            LOG.warning("the checkpoint has %d shards and keeps them; %d were asked for", written[2], shards)
        return written[2]

    def register(self, aggregate: UserAggregate) -> None:
        """Keep an aggregate of the user's own; everything else that is written has its name only."""
        self._write(f"aggregates/{aggregate.name}", (aggregate.declared, cloudpickle.dumps(aggregate.functions)))
        self.aggregates[aggregate.name] = aggregate

    def recovered_aggregates(self) -> dict[str, UserAggregate]:
        for name in self.folder.names("aggregates"):
            (name, arguments, result, *declared), functions = self._read(f"aggregates/{name}")
            self.aggregates[name] = UserAggregate(name, arguments, result, pickle.loads(functions), *declared)
        return self.aggregates

    def log_statement(self, number: int, statement: object) -> None:
        self._write(f"statements/{number:09}", statement)

    def statements(self) -> Iterator[tuple[int, Any]]:
        """What has been stated, by number, in order."""
        for name in self.folder.names("statements"):
            yield int(name), self._read(f"statements/{name}")

    def log_resumed(self, digest: str, number: int) -> None:
        """A statement of a file is about to be recorded under a number."""
        self._write("resumed", [*self.resumed(), (digest, number)])

    def resumed(self) -> list[tuple[str, int]]:
        found: list[tuple[str, int]] = self._read("resumed") if self.folder.exists("resumed") else []
        return found

    def log_plan(self, plan: RunningPlan) -> None:
        self._write(f"plans/{plan.version:09}", plan)

    def plan(self, version: int) -> RunningPlan:
        plan: RunningPlan = self._read(f"plans/{version:09}")
        return plan

    def log_batch(self, spec: BatchSpec, statements: int) -> None:
        self._write(f"batches/{spec.number:09}", (replace(spec, plan_content=b""), statements))

    def logged_batch(self, number: int) -> tuple[BatchSpec, int] | None:
        name = f"batches/{number:09}"
        if not self.folder.exists(name):
            return None
        spec, statements = self._read(name)
        return replace(spec, folder=self.folder, plan_content=plan_to_bytes(self.plan(spec.plan_version))), statements

    def commit(self, record: Commit) -> None:
        """The batch has happened."""
        self._write(f"commits/{record.number:09}", record)
        self._recent[record.number] = record
        self._recent.pop(record.number - 3, None)

    def commits(self, after: int = -1) -> Iterator[Commit]:
        for name in self.folder.names("commits"):
            if int(name) > after:
                yield self._read(f"commits/{name}")

    def batches(self) -> list[int]:
        """The numbers of the micro-batches that have happened and are retained."""
        return [int(name) for name in self.folder.names("commits")]

    def last_commit(self) -> Commit | None:
        names = self.folder.names("commits")
        found: Commit | None = self._read(f"commits/{names[-1]}") if names else None
        return found

    def collect(self, record: Commit, statements: Sequence[int], needs: Callable[[int], bool]) -> None:
        """Throw away what nobody needs after a commit: state that only older commits name, and old batches.

        `needs` says of which batches somebody has still to get what they gave out.
        """
        number = record.number
        self.folder.delete(f"batches/{number:09}")
        for done in statements:
            self.folder.delete(f"statements/{done:09}")
        before = self._commit(number - 1)
        if before is not None:  # not what this commit has left: somebody may be reading the answer before it
            for name in before.garbage:
                self.folder.delete(name)
        older = self._commit(number - 2)
        if older is not None:
            for version in older.versions.values():
                self.folder.delete(version.manifest)
        self._forget(number - RETAINED_BATCHES, needs)
        if number % SWEPT_EVERY == 0:
            self.sweep(record, needs)

    def _forget(self, number: int, needs: Callable[[int], bool]) -> None:
        """A batch that has happened long ago, with what it gave out."""
        old = None if needs(number) else self._commit(number)
        if old is not None:
            for bundle in _emitted(old):
                self.folder.delete(bundle)
            self.folder.delete(f"commits/{old.number:09}")

    def sweep(self, record: Commit, needs: Callable[[int], bool]) -> None:
        """Throw away what was left behind by tasks and drivers that died, of which no commit knows."""
        before = self._commit(record.number - 1)
        last = [record] if before is None else [before, record]
        used = {bundle for v in record.versions.values() for bundle in read_manifest(self.folder, v).bundles}
        self._sweep("pieces", used | set(record.garbage))
        self._sweep("manifests", {version.manifest for commit in last for version in commit.versions.values()})
        retained = record.number - RETAINED_BATCHES + 1
        for number in self.batches():
            if number < retained:
                self._forget(number, needs)
        for emitted in ("changes", "side_outputs"):
            kept = (name for name in self.folder.names(emitted) if needs(int(name[:9])))
            self._sweep(emitted, {f"{emitted}/{name}" for name in kept}, retained)
        self._sweep("plans", set(), record.plan_version)

    def _sweep(self, under: str, used: set[str], before: int | None = None) -> None:
        """Delete what is not used; with `before` only what has a lower number."""
        for name in self.folder.names(under, hidden=True):
            if f"{under}/{name}" not in used and (before is None or int(name[:9]) < before):
                self.folder.delete(f"{under}/{name}")

    def _commit(self, number: int) -> Commit | None:
        if number in self._recent:
            return self._recent[number]
        name = f"commits/{number:09}"
        found: Commit | None = self._read(name) if number >= 0 and self.folder.exists(name) else None
        return found

    def _write(self, name: str, content: object) -> None:
        write_record(self.folder, name, content)

    def _read(self, name: str) -> Any:
        return read_record(self.folder, name, self.aggregates)


def write_record(folder: Folder, name: str, content: object) -> None:
    """With a checksum in front."""
    written = encoded(content)
    folder.write(name, zlib.crc32(written).to_bytes(4, "little") + written)


def read_record(folder: Folder, name: str, aggregates: Mapping[str, UserAggregate] | None = None) -> Any:
    try:
        content = folder.read(name)
    except OSError as error:
        raise CheckpointError(f"{name} of the checkpoint cannot be read: {error}", RESTORE) from None
    if zlib.crc32(content[4:]) != int.from_bytes(content[:4], "little"):
        raise CheckpointError(f"{name} of the checkpoint is damaged", RESTORE)
    return decoded(content[4:], aggregates)


def _emitted(record: Commit) -> set[str]:
    """The bundles with what a batch gave out."""
    addresses = [address for each in record.emitted.values() for address in each]
    return {address.bundle for address in [*addresses, *record.side_outputs.values()]}
