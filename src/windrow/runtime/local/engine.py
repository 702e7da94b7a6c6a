"""The local engine: statements in, answers out, in this process.

What comes in is the part of `Inputs`, what becomes of it that of `RunningQueries`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from windrow.batch import Dictionary
from windrow.catalog import Entry, QueryEntry, StreamEntry, TableEntry, WindowEntry
from windrow.catalog.own_functions import failure_counts
from windrow.clock import Clock, SystemClock, monotonic
from windrow.cql import NONE, Alter, Create, Drop, ResumeQuery, TableChange
from windrow.errors import WindrowError
from windrow.plan.user_aggregate import UserAggregate
from windrow.runtime.create_statements import columns_of, no_rows, stream_statement
from windrow.runtime.engine import Engine
from windrow.runtime.health import Failing, as_mappings, aside_remarks
from windrow.runtime.local.dataflow import Dataflow
from windrow.runtime.local.inputs import Inputs
from windrow.runtime.local.running_queries import RunningQueries
from windrow.runtime.outputs.feed import LOG
from windrow.runtime.outputs.feeder import Feeder
from windrow.runtime.outputs.sinks import check_sinks
from windrow.session import Result, Session
from windrow.sharing.starting import PreparedQuery
from windrow.sources.rows import tables_of

_POLL_INTERVAL = 0.25  # seconds
_BETWEEN_LOOKS = 0.05


class LocalEngine(Engine):
    """`windrow.connect(local=True)`."""

    kind = "engine in this process"

    def __init__(
        self, folder: str | None = None, clock: Clock | None = None, aggregates: Sequence[UserAggregate] = ()
    ) -> None:
        self._folder = folder
        session = Session(folder, aggregates, running=self._as_it_runs)
        dictionary = Dictionary()
        self._dataflow = Dataflow(dictionary)
        self._inputs = Inputs(session.catalog, dictionary, clock or SystemClock())
        self._running = RunningQueries(session, self._dataflow, self._inputs)
        super().__init__(session, self._running.by_name)
        session.remarks, session.started = self._remarks, self._running.started
        for entry in session.catalog.everything():
            self._start(entry)

    def execute(self, text: str, parameters: Mapping[str, Any] = NONE) -> Iterator[Result]:
        """Run statements; queries and streams start with the next step."""
        with self._inputs.lock:
            for result in map(self._made, self.session.run(text, parameters)):
                self._apply(result)
                yield result

    def _table(self, name: str) -> pa.Table:
        with self._inputs.lock:
            return self._inputs.tables.present(name, self._inputs.progress, self._running.readers())

    def stream(self, name: str, data: Any, timestamp: str, slack: str | None = None) -> None:
        """Make a stream of rows that Python holds: Arrow, pandas, or an iterable of dictionaries."""
        tables = tables_of(data)
        first = next(tables, None)
        if first is None:
            raise no_rows(name)
        self.sql(stream_statement(name, columns_of(first), timestamp, slack))
        self._inputs.sources.put(name.lower(), _with_first(first, tables))

    def _lookup(self, cql: str, at: int | None) -> pa.Table:
        with self._inputs.lock:
            return self._running.lookup(cql, at)

    def push(self, stream: str, rows: Any) -> None:
        """Hand over rows of a stream as they come; call `step` to see their effect."""
        with self._inputs.lock:
            self._inputs.push(stream, rows)

    def end(self, stream: str) -> None:
        """No more rows of a stream will come."""
        with self._inputs.lock:
            self._inputs.end(stream)

    def punctuate(self, stream: str, before: int | str | None = None, **key: Any) -> None:
        """Say what will not come: no row before a time, or no later one with a key (columns as in PUNCTUATION BY)."""
        with self._inputs.lock:
            self._inputs.punctuate(stream, before, key)

    def step(self) -> bool:
        """Read a chunk of the source that is furthest behind and take the dataflow on; False when there is none."""
        has_more = self._read_and_advance()
        self._running.deliver()
        return has_more

    def _read_and_advance(self) -> bool:
        with self._inputs.lock:
            self._drop_those_that_are_over()
            has_read = self._inputs.read(self._running.streams_to_read())
            self._running.advance()
            return has_read or self._inputs.has_more(self._running.streams_to_read())

    def _drop_those_that_are_over(self) -> None:
        """After what they have emitted was handed over."""
        for name in self._running.over():
            self._apply(self.session.apply(Drop("query", name)))
            self.session.catalog.sync()

    def run(self, poll: Callable[[], object] | None = None, follow: bool = False) -> None:
        """Until all sources have ended; with `follow` it waits for more files. `poll` is called meanwhile."""
        if follow:
            self._inputs.sources.follow()
        polled = monotonic()
        while self._read_and_advance():
            self._running.deliver(wait=Feeder.wait_a_moment)
            if self._inputs.is_idle:
                if not follow:
                    self._inputs.sources.failures.check_hope(self._inputs.sources.names())
                time.sleep(_BETWEEN_LOOKS)
            if poll is not None and monotonic() - polled >= _POLL_INTERVAL:
                poll()
                polled = monotonic()
        self._running.deliver(now=True)

    def retry(self, stream: str) -> list[str]:
        """Have files of a stream that were rejected be read again, and rows be taken again; which these are."""
        with self._inputs.lock:
            return self._inputs.retry(stream)

    def _side_output(self, kind: str, stream: str) -> pa.Table | None:
        return self._inputs.rejected(stream) if kind == "rejected" else self._inputs.intake(stream).late.table()

    @property
    def watermark(self) -> int:
        return self._inputs.watermark_of(self._running.used_streams())

    @property
    def last_row(self) -> int:
        """The latest timestamp that any stream has shown."""
        return self._inputs.progress.last_row

    def status(self) -> dict[str, Any]:
        """What is running: rows taken, late and rejected of each stream, tuples of state."""
        with self._inputs.lock:
            return self._status()

    def _status(self) -> dict[str, Any]:
        return {
            **self._inputs.status(self._running.engine_progress()),
            "queries": sorted(self._running.by_name),
            "complete_from": self.session.completeness(),
            "aggregates": failure_counts(self.session.catalog),
            "state_rows": self._dataflow.state_rows() + len(self._inputs.kept),
            "failing": as_mappings(self.health()),
        }

    def health(self) -> list[Failing]:
        """What fails or is set aside, while everything else goes on."""
        return list(self._running.health())

    def close(self) -> None:
        """What sinks have not taken until now is gone; it is logged."""
        try:
            self._running.deliver(now=True)
        finally:
            for feeder in self._running.feeders():
                feeder.close()
            for lost in self.health():
                LOG.warning("closed while the %s of %s fails: %s", lost.what, lost.name, lost.message)
            self.session.close()

    def _remarks(self) -> dict[str, str]:
        held = self._inputs.reports.holding(self._running.engine_progress())
        return {**held, **aside_remarks(self._running.aside())}

    def _as_it_runs(self, query: str) -> PreparedQuery | None:
        return self._running.as_it_runs(query)

    def _apply(self, result: Result) -> None:
        statement = result.statement
        if isinstance(statement, Create):
            try:
                check_sinks(statement.entry, self.session.catalog, self._folder)
                self._start(statement.entry)
            except WindrowError:
                self.session.catalog.drop(statement.entry.name)  # what cannot run is not there
                self.session.catalog.sync()
                raise
        elif isinstance(statement, Alter):
            self._inputs.alter(self.session.catalog.stream(statement.stream))
        elif isinstance(statement, TableChange):
            self._inputs.tables.change(statement)
        elif isinstance(statement, ResumeQuery):
            self._running.resume(statement.query)
        elif isinstance(statement, Drop) and statement.name is not None:
            self._running.remove(statement.name.lower())
            self._inputs.remove(statement.name.lower())

    def _start(self, entry: Entry) -> None:
        if isinstance(entry, StreamEntry):
            self._inputs.open_stream(entry)
        elif isinstance(entry, TableEntry):
            self._inputs.tables.open(entry)
        elif isinstance(entry, WindowEntry):
            self._inputs.open_window(entry)
        elif isinstance(entry, QueryEntry):
            self._running.start(entry)


def _with_first(first: pa.Table, rest: Iterator[pa.Table]) -> Iterator[pa.Table]:
    yield first
    yield from rest
