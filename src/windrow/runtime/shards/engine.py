"""An engine on shards, whoever hosts them: it has a driver, and hands everything over to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from windrow.catalog import StreamEntry, TableEntry
from windrow.cql import NONE
from windrow.runtime.create_statements import columns_of, no_rows, stream_statement
from windrow.runtime.engine import Engine
from windrow.runtime.health import Failing
from windrow.runtime.shards.driver import Driver
from windrow.runtime.shards.run_loop import RunLoop
from windrow.session import Result
from windrow.sources.files import FORMATS
from windrow.sources.rows import pushed_tables, tables_of


class ShardedEngine(Engine):
    kind = "engine on shards"

    def __init__(self, driver: Driver, loop: RunLoop, is_resumable: bool) -> None:
        """`is_resumable` if the checkpoint outlives the engine: files may then come for another run."""
        super().__init__(driver.session, driver.queries)
        self._driver, self._loop = driver, loop
        self._is_resumable = is_resumable

    def execute(self, text: str, parameters: Mapping[str, Any] = NONE) -> Iterator[Result]:
        """Run statements; queries, streams and table changes take effect with the next micro-batch."""
        self._loop.check()
        try:
            yield from self._driver.sql(text, self._made, parameters)
        finally:
            self._loop.wake()

    def _table(self, name: str) -> pa.Table:
        with self._driver.lock:
            return self._driver.answers.table(name)

    def resume(self, text: str) -> list[Result]:
        """Run the statements of a text, except those that the checkpoint has from an earlier run.

        A name that the checkpoint knows as something else is refused.
        """
        results = self._driver.resume(text, self._made)
        self._loop.wake()
        return results

    def stream(self, name: str, data: Any, timestamp: str, slack: str | None = None) -> None:
        """Make a stream of rows that Python holds: Arrow, pandas, an iterable of dictionaries."""
        tables = list(tables_of(data))
        if not tables:
            raise no_rows(name)
        if self.session.catalog.get(name) is None:  # or else a checkpoint is resumed
            self.sql(stream_statement(name, columns_of(tables[0]), timestamp, slack))
        for table in tables:
            self.push(name, table)
        self.end(name)

    def push(self, stream: str, rows: Any) -> None:
        """Hand over rows of a stream; they are kept with the checkpoint, so that they can be read again."""
        self._loop.check()
        names = [column.name for column in self._driver.stream(stream).given]
        for table in pushed_tables(rows, stream, names, 1 << 30):
            self._driver.push(stream, table)
        self._loop.wake()

    def end(self, stream: str) -> None:
        """No more rows of a stream will come than have been handed over, or are in its source now."""
        self._driver.end(stream)
        self._loop.wake()

    def end_streams_without_source(self) -> None:
        """Nobody will hand over rows."""
        for stream in self.session.catalog.entries(StreamEntry):
            if stream.connector is None and not self.has_ended:
                self.end(stream.name)

    def retry(self, stream: str) -> list[str]:
        """Have files of a stream that were rejected be read again, and rows be taken again; which these are."""
        names = self._driver.retry(stream)
        self._loop.wake()
        return names

    def start(self) -> None:
        """Run in the background until `stop`, or until all streams have ended; the next call tells what went wrong."""
        self._loop.start()

    def stop(self) -> None:
        """End the background run; a micro-batch that was under way is run again with the next start."""
        self._loop.stop()

    def wait(self, seconds: float | None = None) -> bool:
        """Until all streams have ended or a time is over; whether the background run is over."""
        return self._loop.wait(seconds)

    def run(self, poll: Callable[[], object] | None = None, follow: bool = False) -> None:
        """Until all that is there has been read; with `follow`, or a source that has no end, until it is interrupted.

        Without a checkpoint nothing can come afterwards, and files end with the run. With one they stay open: the next
        run reads what is new. `poll` is called every now and then meanwhile.
        """
        self._loop.check()
        for stream in self.session.catalog.entries(StreamEntry):
            is_of_files = stream.connector is not None and stream.connector.name in FORMATS
            if is_of_files and not follow and not self._is_resumable and not self.has_ended:
                self._driver.end(stream.name)
        self._loop.run(poll, follow)

    def step(self) -> bool:
        """Take everything that is there through the queries; of an endless generator, one micro-batch."""
        self._loop.step()
        return not self.has_ended

    def close(self) -> None:
        self._loop.stop()
        self._driver.close()
        self.session.close()

    def _lookup(self, cql: str, at: int | None) -> pa.Table:
        return self._driver.answers.lookup(cql, at)

    def _side_output(self, kind: str, stream: str) -> pa.Table | None:
        table = self.session.catalog.get(stream)
        if kind == "rejected" and isinstance(table, TableEntry):
            return self._driver.answers.rejected_of_table(table.name)
        name, statements = self._driver.stream(stream).name, self._driver.statements
        after = statements.retried(name.lower()) if kind == "rejected" else statements.last_before(name)
        return self._driver.answers.log.side_output(kind, name, after)

    def status(self) -> dict[str, Any]:
        """What is running: rows taken, late and rejected of each stream, state, and the last micro-batch."""
        return self._driver.status()

    def health(self) -> list[Failing]:
        """What fails or is set aside, while everything else goes on; `status()["failing"]` is the same."""
        return self._driver.health()

    def sharing(self) -> dict[str, int]:
        """What the queries share: operators and streams, and how many there would be if every query ran alone."""
        return self._driver.sharing()

    @property
    def shards(self) -> int:
        """How many parts the state is in."""
        return self._driver.shards

    @property
    def checkpoint(self) -> str:
        """Where the checkpoint is."""
        return self._driver.checkpoint.place

    @property
    def watermark(self) -> int:
        return self._driver.batches.watermark

    @property
    def last_row(self) -> int:
        return self._driver.batches.progress.last_row

    @property
    def has_ended(self) -> bool:
        """Whether all sources have ended, and the last refreshes have been emitted."""
        return self._driver.batches.has_ended
