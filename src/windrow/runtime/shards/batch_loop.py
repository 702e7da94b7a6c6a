"""The loop over micro-batches: decide, log, run, commit, publish.

A batch that has been committed is not run again; one that has been logged but not committed runs again under the same
plan. Who runs it is handed in as a `Job`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from windrow.clock import Clock, monotonic
from windrow.errors import CheckpointError
from windrow.plan.analysis.update_pattern import update_pattern
from windrow.plan.nodes import Node
from windrow.plan.pattern import Pattern
from windrow.runtime.advance import advance
from windrow.runtime.heartbeats import Heartbeats
from windrow.runtime.progress import Progress
from windrow.runtime.shards.accounting import Accounts
from windrow.runtime.shards.batch_spec import BatchSpec, FinalRefreshes, plan_to_bytes
from windrow.runtime.shards.outcome import outcome
from windrow.runtime.shards.plan_versions import PlanVersions
from windrow.runtime.shards.running_plan import RunningPlan
from windrow.runtime.shards.statement_log import StatementLog, changes_of_tables, tables_created
from windrow.runtime.shards.storage.checkpoint import Checkpoint, Commit
from windrow.runtime.shards.tasks.messages import ShardReport
from windrow.units import FOREVER

Job = Callable[[BatchSpec], Sequence[ShardReport]]


class Publisher(Protocol):
    """Who hands over what batches give out."""

    @property
    def closed_files(self) -> tuple[str, ...]: ...

    def publish(self, record: Commit) -> None: ...

    def retry(self) -> None: ...

    def needs(self, batch: int) -> bool: ...


class BatchLoop:
    def __init__(
        self,
        checkpoint: Checkpoint,
        statements: StatementLog,
        plans: PlanVersions,
        clock: Clock,
        lock: threading.RLock,
        is_fed: Callable[[Node], bool],
        publishing: Publisher,
    ) -> None:
        """`lock` is held while statements are recorded, and while a batch takes them."""
        self._checkpoint = checkpoint
        self._statements = statements
        self._plans = plans
        self._clock = clock
        self._lock = lock
        self._is_fed = is_fed
        self._publishing = publishing
        self._ends: dict[str, int] = {}  # how much there is of sources that end
        self._heartbeats = Heartbeats(clock)
        self._moved: dict[str, int] = {}  # how far heartbeats have moved streams, for the next batch
        self._is_running = False
        self.accounts = Accounts()
        self.last = checkpoint.last_commit()

    @property
    def progress(self) -> Progress:
        return Progress() if self.last is None else self.last.progress

    @property
    def watermark(self) -> int:
        """All rows before it are there, of all streams that are read."""
        return self.progress.watermark_of(self._plans.current.used_streams)

    @property
    def has_ended(self) -> bool:
        return self.last is not None and self.last.ended

    @property
    def is_idle(self) -> bool:
        """Whether a batch has run, none is under way, and no statement waits for the next."""
        return self.last is not None and not self._is_running and self._statements.taken == self._statements.last

    @property
    def next_number(self) -> int:
        """The number of the source's next micro-batch."""
        return 0 if self.last is None else self.last.source_batch + 1

    def resume(self) -> None:
        """Go on after the last commit of the checkpoint."""
        if self.last is not None:
            self._plans.resume(self.last.plan_version)
            self._statements.taken = self.last.statements
            self._checkpoint.resume(self._publishing.needs)

    def end(self, stream: str, at: int) -> None:
        """There is so much of the source of a stream."""
        self._ends[stream] = at

    def drop(self, stream: str) -> None:
        self._ends.pop(stream, None)

    def knows_end(self, stream: str, at: int) -> bool:
        known = self.progress.streams.get(stream)
        return self._ends.get(stream) == at or (known is not None and known.has_ended)

    def tick(self) -> bool:
        """Have silent streams move on with the clock; whether a batch without rows would change an answer.

        Sinks that failed are tried again.
        """
        self._publishing.retry()
        with self._lock:
            if self._is_running or self.last is None:
                return False
            plan = self._plans.current
            times = self._heartbeats.due_once(plan.streams, self.progress)
            if self._final_refreshes():
                return True
            moved = advance(self.progress.moved(times), plan.readers)
            waits = self._waits_for_time(self.last)
            if not waits or not any(moved.segment(reader.streams, reader.start) for reader in plan.readers):
                return False
            self._moved |= times
            return True

    def _waits_for_time(self, last: Commit) -> bool:
        """Whether there are rows to become final, or results that end or are emitted again as time goes on."""
        changing = any(
            query.slide is not None or update_pattern(query.plan) is not Pattern.MONOTONIC
            for query in self._plans.current.queries
        )
        return last.waiting > 0 or (last.live > 0 and changing)

    def micro_batch(self, number: int, job: Job) -> None:
        """Run a micro-batch of the source, unless it has happened: its number is the source's."""
        last = self.next_number - 1
        if number not in (last, last + 1):
            again = f"is about to read micro-batch {number} again, but {last} has been committed"
            ahead = f"goes on with micro-batch {number}, but the last one committed is {last}"
            raise CheckpointError(
                f"Spark {again if number < last else ahead}",
                "the folders spark/ and windrow/ of a checkpoint belong together: restore both from the same copy",
            )
        if number == self.next_number:
            self._run(number, job)

    def finish(self, job: Job) -> None:
        """Sources have ended. When all have, a batch takes time to its end, and another emits the last refreshes."""
        if self.watermark != FOREVER:
            self._run(self.next_number - 1, job)
        if self.watermark == FOREVER and not self.has_ended:
            self._run(self.next_number - 1, job)

    def _run(self, source_batch: int, job: Job) -> None:
        began = monotonic()
        number = 0 if self.last is None else self.last.number + 1
        self._is_running = True
        try:
            spec, statements = self._logged(number) or self._decided(number)
            reports = job(spec)
            record = outcome(spec, self._plans.current, statements, source_batch, reports, self.last)
            self._commit(replace(record, seconds=monotonic() - began), reports)
            self._publishing.publish(record)  # a run is not over while a sink is being fed
        finally:
            self._is_running = False

    def _logged(self, number: int) -> tuple[BatchSpec, int] | None:
        """The plan of a batch that was begun before: it runs again as it was to be run."""
        logged = self._checkpoint.logged_batch(number)
        if logged is not None:
            spec, self._statements.taken = logged
            self._plans.resume(spec.plan_version)
        return logged

    def _decided(self, number: int) -> tuple[BatchSpec, int]:
        """Take the statements that have come and make the plan of the batch."""
        with self._lock:
            new = self._statements.take()
            self._plans.advance(self.progress, self._is_fed)
            plan = self._plans.current
            spec = BatchSpec(
                number,
                self._checkpoint.folder,
                plan_to_bytes(plan),
                plan.version,
                self._moved_on(plan),
                self._clock.now(),
                tuple(changes_of_tables(new)),
                tuple(tables_created(new) & plan.tables.keys()),
                {} if self.last is None else self.last.versions,
                self._final_refreshes(),
                self._publishing.closed_files,
            )
            self._checkpoint.log_batch(spec, self._statements.taken)
            return spec, self._statements.taken

    def _final_refreshes(self) -> dict[str, FinalRefreshes]:
        """Of the queries whose sources ended with the last batch, which now know how long their answers change."""
        if self.last is None:
            return {}
        until = self.last.refreshed_until
        return {query: FinalRefreshes(until[query], time) for query, time in self.last.last_changes.items()}

    def _moved_on(self, plan: RunningPlan) -> Progress:
        """The progress that the next batch starts from, with heartbeats and ends, and when tables change."""
        slacks = {name: entry.slack for name, entry in plan.streams.items()}
        moved, self._moved = self._moved, {}
        progress = self.progress.with_streams(slacks).moved(moved).ending(self._ends)
        return progress.with_tables(plan.tables, plan.readers)

    def _commit(self, record: Commit, reports: Sequence[ShardReport]) -> None:
        self._checkpoint.commit(record)
        self.last = record
        self._heartbeats.record_progress(record.progress)
        self.accounts.add(record.metrics, record.state_bytes)
        for name, failures in (failed for report in reports for failed in report.failures.items()):
            self._checkpoint.aggregates[name].failures.add(failures)
        with self._lock:
            applied = self._statements.discard_applied(record.statements)
        self._checkpoint.collect(record, applied, self._publishing.needs)
