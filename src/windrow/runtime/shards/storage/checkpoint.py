"""The checkpoint: everything that has to outlive the driver, in one folder that all machines reach.

    format              what wrote it, and how many shards there are
    leases/, beats/     who has it open, and whether it is alive; fences/: whose records count
    statements/k-e      what users have stated, in order
    aggregates/         functions of the user's own that queries call
    resumed/k-e         which statements of a file that is run have been recorded
    plans/v-e           versions of the running plan
    batches/n-e         the plan of micro-batch n, written before it runs: a replay runs the same
    positions           how far sinks have come in the log; sinks/: answers and differences of those that fail
    commits/n-e         what batch n came to; the batch has happened when this file is there, and not before
    pushed/             rows that were handed over and have not been read
    files/              which files have been read, as of some commit; the commits after it say the rest
    pieces/, manifests/ state of shards; changes/, side_outputs/: what came out, late and rejected rows
    spark/              Spark's own: offsets of the sources that it brings

Records have the number of their writer's lease in their names (`records.py`); what is thrown away when is in
`collection.py`. Nothing in here names the place of the checkpoint itself: it can be moved.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from windrow.clock import Clock, SystemClock
from windrow.errors import CheckpointError
from windrow.plan.user_aggregate import Own
from windrow.runtime.progress import Progress
from windrow.runtime.shards.batch_spec import BatchSpec, ShardVersion, plan_to_bytes
from windrow.runtime.shards.running_plan import RunningPlan
from windrow.runtime.shards.sources.reads import SourcePositions
from windrow.runtime.shards.storage.bundles import Address
from windrow.runtime.shards.storage.codec import decoded, encoded
from windrow.runtime.shards.storage.collection import Collection
from windrow.runtime.shards.storage.copies import check_state, copy, settle
from windrow.runtime.shards.storage.files.file_names import file_name
from windrow.runtime.shards.storage.files.folder import Folder, place_of
from windrow.runtime.shards.storage.format import shards_written, write_format
from windrow.runtime.shards.storage.lease import Lease
from windrow.runtime.shards.storage.own_functions import aggregate_to_bytes, read_aggregate
from windrow.runtime.shards.storage.records import Records
from windrow.runtime.shards.tasks.stage_run import Metric

LOG = logging.getLogger("windrow")
_NOWHERE = Folder("")  # what is written does not say where it is


@dataclass(frozen=True)
class Commit:
    """What a micro-batch came to."""

    number: int
    positions: SourcePositions  # how far sources have been read
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
    held: Mapping[frozenset[str], int] = field(default_factory=dict)  # of them, those that wait for other streams
    live: int = 0  # rows of state and of answers that time may still change
    unwritten: Sequence[str] = ()  # queries whose files could not be written
    committed: int = 0  # when, by the clock
    written_bytes: int = 0  # by its tasks: state, what came out, side outputs


class Checkpoint:
    """Anybody may read one; to write to it, it has to be opened."""

    def __init__(self, place: str, clock: Clock | None = None) -> None:
        self.place = place_of(place)
        self.folder = Folder(f"{self.place}/windrow")
        self.clock = clock or SystemClock()
        self._shards: int | None = None  # of the checkpoint that there was when it was claimed
        self._is_claimed = False
        self._records = Records(self.folder)
        self._lease = Lease(self.folder, self.clock)
        self.check_owner = self._lease.check  # that it has not been taken over
        self._collection = Collection(self.folder, self._records, self.check_owner, self._commit)
        self._recent: dict[int, Commit] = {}
        self.aggregates: dict[str, Own] = {}  # those of the user's own that queries may call

    @property
    def spark_folder(self) -> str:
        return f"{self.place}/spark"

    def claim(self) -> None:
        """Be the one who writes to it; one that somebody else has, or that cannot be used, is refused."""
        if shards_written(self.folder) is None:
            Folder(self.place).make()
            Folder(self.spark_folder).make()
        self._lease.claim()
        try:
            self._shards = shards_written(self.folder)
            if self._shards is not None and self._lease.is_of_a_copy:
                settle(self, self._records)
            elif self._shards is not None:
                self._records.check_complete()
                check_state(self, self._records)
            self._records.take_over(self._lease.epoch)
            self._collection.sweep_hidden()
        except (Exception, KeyboardInterrupt):
            self._lease.release()
            raise
        self._is_claimed = True

    def open(self, shards: int | None, otherwise: int) -> int:
        """Go on with it, or begin it. The number of shards: what is asked for, or that of the checkpoint."""
        if not self._is_claimed:
            self.claim()
        if self._shards is None:
            self._shards = shards or otherwise
            write_format(self.folder, self._shards)
        last = self.last_commit()
        return shards or (self._shards if last is None else 1 + max(number for _, number in last.versions))

    def close(self) -> None:
        """Let others open it."""
        self._lease.release()
        self._is_claimed = False

    def register(self, aggregate: Own) -> None:
        """Keep an aggregate of the user's own; everything else that is written has its name only."""
        self._lease.check()
        self.folder.write(f"aggregates/{file_name(aggregate.name.lower())}", aggregate_to_bytes(aggregate))
        self.aggregates[aggregate.name] = aggregate

    def recovered_aggregates(self) -> dict[str, Own]:
        for file in self.folder.names("aggregates"):
            found = read_aggregate(self.folder, f"aggregates/{file}")
            self.aggregates[found.name] = found
        return self.aggregates

    def log_statement(self, number: int, statement: object) -> None:
        self._put("statements", number, statement)

    def statements(self, after: int = 0) -> Iterator[tuple[int, Any]]:
        """What has been stated, by number, in order."""
        for number in self._records.numbers("statements"):
            if number > after:
                yield number, self._read("statements", number)

    def log_resumed(self, digest: str, number: int) -> None:
        """A statement of a file is about to be recorded under a number."""
        self._put("resumed", len(self._records.numbers("resumed")), (digest, number))

    def resumed(self) -> list[tuple[str, int]]:
        return [self._read("resumed", place) for place in self._records.numbers("resumed")]

    def log_plan(self, plan: RunningPlan) -> RunningPlan:
        """The plan, under a version that no other has."""
        plan = replace(plan, version=max(self._records.numbers("plans"), default=0) + 1)
        self._put("plans", plan.version, plan)
        return plan

    def plan(self, version: int) -> RunningPlan:
        plan: RunningPlan = self._read("plans", version)
        return plan

    def log_batch(self, spec: BatchSpec, statements: int) -> None:
        """In place of what was logged for a batch that has not happened. A loss of power may take it away."""
        self._lease.check()
        self._records.delete("batches", spec.number)
        record = replace(spec, folder=_NOWHERE, plan_content=b""), statements
        self._put("batches", spec.number, record, is_synced=False)

    def logged_batch(self, number: int) -> tuple[BatchSpec, int] | None:
        """What an earlier process was to run; nothing when power was lost before all of it was on disk.

        Then nobody has seen it. It is not asked in the process that has logged it: that one knows.
        """
        if not self._records.has("batches", number):
            return None
        try:
            content = self._records.read("batches", number)
        except CheckpointError as error:
            if isinstance(error.__cause__, OSError):  # it may be there, and can be read the next time
                raise
            LOG.warning("%s: it had not happened, and is decided anew", error.message)
            self._records.delete("batches", number)
            return None
        spec, statements = decoded(content, self.aggregates)
        plan = plan_to_bytes(self.plan(spec.plan_version), self.aggregates)
        return replace(spec, folder=self.folder.synced_here(), plan_content=plan), statements

    def commit(self, record: Commit, written: Sequence[str]) -> None:
        """The batch has happened, unless the checkpoint has been taken over.

        What its shards have written outlives a loss of power before the record is there, and the record when this
        returns.
        """
        self.folder.sync(written)
        record = replace(record, committed=self.clock.now())
        self._put("commits", record.number, record)
        self._recent[record.number] = record
        self._recent.pop(record.number - 3, None)

    def commits(self, after: int = -1, until: int | None = None) -> Iterator[Commit]:
        """Those after one batch and up to another; what is beyond may go while somebody reads, and is not touched."""
        for number in self.batches():
            if number > after and (until is None or number <= until):
                yield self._read("commits", number)

    def batches(self) -> list[int]:
        """The numbers of the micro-batches that have happened and are retained."""
        return self._records.numbers("commits")

    def last_commit(self) -> Commit | None:
        numbers = self.batches()
        return self._commit(numbers[-1]) if numbers else None

    def collect(self, record: Commit, statements: Sequence[int], needs: Callable[[int], bool]) -> None:
        """Throw away what nobody needs after a commit.

        `needs` says of which batches somebody has still to get what they gave out.
        """
        self._collection.collect(record, statements, needs)

    def resume(self, needs: Callable[[int], bool]) -> None:
        """Go on with throwing away where the last owner stopped."""
        last = self.last_commit()
        if last is not None:
            self._collection.resume(last, needs, self.clock.now())

    def copy(self, to: str) -> int:
        """Make a copy that can be opened, also while an engine writes to this one; the last batch that is in it."""
        if shards_written(self.folder) is None:
            raise CheckpointError(f"there is no checkpoint in {self.place}", "name the folder of a run")
        return copy(self, self._records, to)

    def _commit(self, number: int) -> Commit | None:
        if number in self._recent:
            return self._recent[number]
        return self._read("commits", number) if self._records.has("commits", number) else None

    def _put(self, kind: str, number: int, content: object, is_synced: bool = True) -> None:
        """Write a record; it counts only if nobody has taken over by then."""
        self._records.put(kind, number, encoded(content), is_synced)
        self._lease.check()

    def _read(self, kind: str, number: int) -> Any:
        return decoded(self._records.read(kind, number), self.aggregates)
