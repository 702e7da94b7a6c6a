"""The loop over micro-batches: decide, log, run, commit, publish.

A batch that has been committed is not run again; one that has been logged but not committed runs again under the same
plan. Who runs it is handed in as a `Job`.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from windrow.clock import monotonic
from windrow.plan.analysis.update_pattern import update_pattern
from windrow.plan.nodes import Node
from windrow.plan.pattern import Pattern
from windrow.runtime.advance import advance
from windrow.runtime.progress import Progress
from windrow.runtime.shards.accounting import Accounts
from windrow.runtime.shards.batch_spec import BatchSpec, FinalRefreshes
from windrow.runtime.shards.outcome import failed_queries, outcome
from windrow.runtime.shards.plans.plan_versions import PlanVersions
from windrow.runtime.shards.running_plan import RunningPlan
from windrow.runtime.shards.sources.reads import Part, Read, SourcePositions
from windrow.runtime.shards.sources.rejected_rows import rejected_reads
from windrow.runtime.shards.sources.source_readers import SourceReaders
from windrow.runtime.shards.statement_log import StatementLog, changes_of_tables, tables_created
from windrow.runtime.shards.storage.batch_plans import BatchPlans
from windrow.runtime.shards.storage.bundles import bundle_name, files_written
from windrow.runtime.shards.storage.checkpoint import Checkpoint, Commit
from windrow.runtime.shards.tasks.messages import ReadReport, ShardReport, add_failed_calls
from windrow.runtime.streams.stream_reports import StreamReports
from windrow.units import FOREVER

Job = Callable[[BatchSpec], Sequence[ShardReport | ReadReport]]


class Publisher(Protocol):
    """Who hands over what batches give out."""

    @property
    def closed_files(self) -> tuple[str, ...]: ...

    lock: threading.RLock

    def put(self, record: Commit) -> None: ...

    def publish(self, record: Commit) -> None: ...

    def retry(self) -> None: ...

    def needs(self, batch: int) -> bool: ...


class Aside(Protocol):
    """Who knows which queries are set aside."""

    def without(self, spec: BatchSpec, failed: Mapping[str, str]) -> BatchSpec: ...

    def again(self, spec: BatchSpec) -> BatchSpec: ...


class BatchLoop:
    def __init__(
        self,
        checkpoint: Checkpoint,
        statements: StatementLog,
        plans: PlanVersions,
        readers: SourceReaders,
        lock: threading.RLock,
        is_fed: Callable[[Node], bool],
        publishing: Publisher,
    ) -> None:
        """`lock` is held while statements are recorded, and while a batch takes them."""
        self._checkpoint = checkpoint
        self._statements = statements
        self._plans = plans
        self._readers = readers
        self._clock = readers.clock
        self._lock = lock
        self._is_fed = is_fed
        self._publishing = publishing
        self._ends: dict[str, int] = {}  # how much there is of streams that `end` was called for
        self.reports = StreamReports(readers.clock)
        self._moved: dict[str, int] = {}  # how far heartbeats have moved streams, for the next batch
        self._is_running = False
        self._batch_plans = BatchPlans(checkpoint)
        self.accounts = Accounts()
        self.aside: Aside
        self.last = checkpoint.last_commit()
        readers.resume(self.positions)

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

    def resume(self) -> None:
        """Go on after the last commit of the checkpoint."""
        if self.last is not None:
            self._plans.resume(self.last.plan_version)
            self._statements.taken = self.last.statements
            self._checkpoint.resume(self._publishing.needs)

    def end(self, stream: str, at: int) -> None:
        """There is so much of the source of a stream."""
        self._ends[stream] = at
        self._readers.close(stream, at)

    def drop(self, stream: str, statement: int) -> None:
        """Of what is called so, by a statement; the last commit may know another stream of that name."""
        self._ends.pop(stream, None)
        self._readers.drop(stream, is_past=self.last is not None and statement <= self.last.statements)
        self.reports.forget(stream)

    def knows_end(self, stream: str) -> bool:
        if stream in self._ends:
            return True
        known, created = self.progress.streams.get(stream), max(self._statements.streams_called(stream))
        return self.last is not None and known is not None and known.has_ended and created <= self.last.statements

    def tick(self) -> bool:
        """Have silent streams move on with the clock; whether a batch without rows would change an answer.

        Sinks that failed are tried again.
        """
        self._publishing.retry()
        with self._lock:
            if self._is_running or self.last is None:
                return False
            plan = self._plans.current
            times = self.reports.heartbeats.due_once(self._readers.silent(plan.streams), self.progress)
            if self._final_refreshes():
                return True
            idle = self.reports.heartbeats.idle(self._readers.silent(plan.streams), self.progress)
            moved = advance(self.progress.moved(times).with_idle(idle), plan.readers)
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

    @property
    def positions(self) -> SourcePositions:
        """How far sources have been read."""
        return SourcePositions() if self.last is None else self.last.positions

    @property
    def begun(self) -> BatchSpec | None:
        """A batch that was decided and has not happened: it runs again before any other."""
        begun = self._batch_plans.begun(self._next_number)
        return None if begun is None else begun[0]

    def has_work(self) -> bool:
        """Whether a batch would do something without anything that the host brings."""
        if self.last is None or self._statements.taken != self._statements.last or self._moved:
            return True
        return self._readers.has_unread(self._not_read()) or self._ends_something() or self.begun is not None

    def micro_batch(self, job: Job, delivered: Mapping[str, int] | None = None) -> None:
        """Run a batch: with what there is to read, and with micro-batches that the host has handed over."""
        self._run(job, delivered or {})

    def finish(self, job: Job) -> None:
        """Sources have ended. When all have, a batch takes time to its end, and another emits the last refreshes."""
        if self.watermark != FOREVER:
            self._run(job, {})
        if self.watermark == FOREVER and not self.has_ended:
            self._run(job, {})

    @property
    def _next_number(self) -> int:
        return 0 if self.last is None else self.last.number + 1

    def _run(self, job: Job, delivered: Mapping[str, int]) -> None:
        began = monotonic()
        number = self._next_number
        self._is_running = True
        try:
            spec, statements = self._begun_before(number, delivered) or self._decided(number, delivered)
            everything = job(spec)
            while failed := failed_queries(everything):  # each time at least one query less
                with self._lock:
                    spec = self.aside.without(spec, failed)
                everything = job(spec)
            reports = [report for report in everything if isinstance(report, ShardReport)]
            with self._lock:
                positions, garbage = self._readers.done(spec, *_read(spec, everything))
            record = outcome(spec, self._plans.current, statements, positions, reports, self.last)
            record = replace(record, garbage=[*record.garbage, *garbage])
            self._commit(replace(record, seconds=monotonic() - began), reports)
            self._publishing.publish(record)  # a run is not over while a sink is being fed
        finally:
            self._is_running = False

    def _begun_before(self, number: int, delivered: Mapping[str, int]) -> tuple[BatchSpec, int] | None:
        """The plan of a batch that was begun before: it runs again as it was to be run.

        But for what a source of the host's had for it that cannot be reached any more: that comes with a later batch.
        """
        begun = self._batch_plans.begun(number)
        if begun is None:
            return None
        spec, self._statements.taken = begun
        self._plans.resume(spec.plan_version)
        self._readers.hand_out(spec.reads)
        spec = spec if spec.delivered == delivered else replace(spec, delivered=delivered)
        self._batch_plans.put(spec, self._statements.taken)
        return self.aside.again(spec), self._statements.taken

    def _decided(self, number: int, delivered: Mapping[str, int]) -> tuple[BatchSpec, int]:
        """Take the statements that have come, choose what is read, and make the plan of the batch.

        What may fail comes first: when readers have moved on, the plan is there.
        """
        with self._lock:
            before = self._statements.taken
            try:
                new, later = self._statements.take(self._plans.current.sources)
                self._plans.advance(self.progress, self._is_fed, later, has_statements=bool(new))
                again = rejected_reads(self._checkpoint, new)
                content, folder = self._plans.content, self._checkpoint.folder.synced_here()
            except BaseException:
                self._statements.taken = before
                raise
            plan = self._plans.current
            reads = self._readers.next_reads(self._not_read() | later) + again
            spec = BatchSpec(
                number,
                folder,
                content,
                plan.version,
                self._moved_on(plan, reads),
                self._clock.now(),
                tuple(changes_of_tables(new)),
                tuple(tables_created(new) & plan.tables.keys()),
                {} if self.last is None else self.last.versions,
                self._final_refreshes(),
                self._publishing.closed_files,
                reads,
                delivered,
            )
            self._batch_plans.put(spec, self._statements.taken)
            return spec, self._statements.taken

    def _final_refreshes(self) -> dict[str, FinalRefreshes]:
        """Of the queries whose sources ended with the last batch, which now know how long their answers change."""
        if self.last is None:
            return {}
        until = self.last.refreshed_until
        return {query: FinalRefreshes(until[query], time) for query, time in self.last.last_changes.items()}

    def _moved_on(self, plan: RunningPlan, reads: Sequence[Read]) -> Progress:
        """The progress that the next batch starts from: heartbeats, ends that it comes to, and when tables change."""
        slacks = {name: entry.slack for name, entry in plan.streams.items()}
        moved, self._moved = self._moved, {}
        progress = self.progress.with_streams(slacks).moved(moved)
        progress = progress.with_idle(self.reports.heartbeats.idle(self._readers.silent(plan.streams), progress))
        brought = {name: 0 for name in self._ends if not self._readers.is_read_here(name)}
        coming = Counter(read.stream for read in reads)
        exhausted = self._readers.exhausted() & progress.streams.keys()
        ends = {name: progress.streams[name].intake.read + coming[name] for name in exhausted}
        return progress.ending({**brought, **ends}).with_tables(plan.tables, plan.readers)

    def _not_read(self) -> set[str]:
        """Streams of which nothing is read: they have ended, or too much of what they brought waits for others."""
        ended = {name for name, stream in self.progress.streams.items() if stream.has_ended}
        return ended | self._plans.engine_progress(self.last).paused_streams()

    def _ends_something(self) -> bool:
        """Whether a stream has come to its end since the last batch."""
        known = self.progress.streams
        exhausted = (name for name in self._readers.exhausted() if name in self._plans.current.streams)
        return any(name not in known or not known[name].has_ended for name in exhausted)

    def _commit(self, record: Commit, reports: Sequence[ShardReport]) -> None:
        versions = ((stage, shard, version.token) for (stage, shard), version in record.versions.items())
        names = (bundle_name(record.number, *version) for version in versions)
        self._checkpoint.commit(record, [file for name in names for file in files_written(name)])
        with self._publishing.lock:  # nobody reads an answer of this batch for one who is to get this batch too
            self.last = record
            self._batch_plans.happened()
            self._publishing.put(record)
        self.reports.heartbeats.record_progress(record.progress)
        self.reports.late_rows.observe(record.progress)
        self.accounts.add(record.metrics, record.state_bytes, record.seconds)
        for name, failures in (failed for report in reports for failed in report.failures.items()):
            add_failed_calls(self._checkpoint.aggregates[name].failures, failures)
        with self._lock:
            applied = self._statements.discard_applied(record.statements)
        self._checkpoint.collect(record, applied, self._publishing.needs)


def _read(
    spec: BatchSpec, reports: Sequence[ShardReport | ReadReport]
) -> tuple[dict[Read, str], dict[Part, int | None]]:
    """What could not be read, with the reason, and the checksums of files that were."""
    found = [report for report in reports if isinstance(report, ReadReport)]
    unreadable = {spec.reads[number]: why for report in found for number, why in report.unreadable.items()}
    return unreadable, {spec.reads[number].part: of for report in found for number, of in report.contents.items()}
