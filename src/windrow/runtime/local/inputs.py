"""What comes into the local engine: streams with their intakes and sources, tables, and how far time has come.

Of the sources the one that is furthest behind is read first, a chunk at a time. When the watermark of a stream has
moved, everything before it is final, and comes out.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

import pyarrow as pa

from windrow.batch import Batch, Dictionary
from windrow.catalog import Catalog, StreamEntry, WindowEntry
from windrow.clock import Clock
from windrow.errors import WindrowError
from windrow.physical.closings import closings_of
from windrow.plan.kept_windows import kept_window
from windrow.runtime.advance import advance
from windrow.runtime.engine import has_ended, rejected_rows
from windrow.runtime.intake import Intake
from windrow.runtime.kept_rows import KeptWindows
from windrow.runtime.local.final_rows import FinalRows
from windrow.runtime.local.local_sources import LocalSources
from windrow.runtime.local.local_tables import LocalTables
from windrow.runtime.local.side_feeds import SideFeeds
from windrow.runtime.progress import IntakeReport, Progress
from windrow.runtime.readers import Reader, Streams
from windrow.runtime.streams.stream_reports import EngineProgress, StreamReports
from windrow.sources.folder_tables import NOTHING_YET
from windrow.sources.rows import pushed_tables
from windrow.units import parse_timestamp


class Inputs:
    """By names in lower case."""

    def __init__(self, catalog: Catalog, dictionary: Dictionary, clock: Clock) -> None:
        self.lock = threading.RLock()  # receivers that are slow may ask and push while the engine goes on
        self.dictionary = dictionary
        self.sources = LocalSources(clock)
        self.is_idle = False  # whether there was nothing to read the last time, but may be later
        self.progress = Progress()
        self._catalog = catalog
        self.clock = clock
        self.reports = StreamReports(clock)
        self._intakes: dict[str, Intake] = {}
        self.tables = LocalTables(dictionary)
        self.kept = KeptWindows(dictionary)
        self.feeds = SideFeeds(catalog, clock)
        self.reports.missed = self.feeds.warnings

    def open_stream(self, entry: StreamEntry) -> None:
        name = entry.name.lower()
        self._intakes[name] = Intake(entry, self.dictionary, **self.feeds.outputs(entry))
        self.reports.heartbeats.record(name)
        self._follow_streams()
        self.sources.open(entry)

    def open_window(self, entry: WindowEntry) -> None:
        """A declared window, if its text is of the kind that keeps rows: from now on, or as far as others have them."""
        assert entry.plan is not None, entry
        window = kept_window(entry.plan)
        if window is not None:
            stream = frozenset((window.stream.name.lower(),))
            self.kept.add(entry.name.lower(), window, self.progress.start_after(stream))

    def alter(self, entry: StreamEntry) -> None:
        """Something else is declared of a stream from now on."""
        self._intakes[entry.name.lower()].stream = entry
        self._follow_streams()

    def remove(self, name: str) -> None:
        """A stream, a table or a declared window, if there is one of this name."""
        self._intakes.pop(name, None)
        self.feeds.remove(name)
        self.sources.remove(name)
        self.tables.remove(name)
        self.kept.remove(name)
        self.reports.forget(name)
        self._follow_streams()

    def watermark_of(self, streams: Streams) -> int:
        return self.progress.watermark_of(streams)

    def intake(self, stream: str) -> Intake:
        return self._intakes[self._catalog.stream(stream).name.lower()]

    def push(self, stream: str, rows: Any) -> None:
        """Rows of a stream: Arrow, pandas, or dictionaries."""
        name = self._name(stream)
        self.reports.heartbeats.record(name)
        columns = [column.name for column in self._intakes[name].stream.given]
        for table in pushed_tables(rows, stream, columns):
            self._take(name, table)

    def retry(self, stream: str) -> list[str]:
        """Have files that were rejected be read again, and rows be taken again; which these are."""
        name = self._name(stream)
        rejected = self._intakes[name].rejected
        if self.progress.streams[name].has_ended and rejected.can_be_tried:
            raise has_ended(stream)
        rows = rejected.try_again(partial(self._take, name))
        return [*self.sources.retry(name), *rejected_rows(rows)]

    def end(self, stream: str) -> None:
        """No more rows of a stream will come."""
        self.progress = self.progress.ending({self._name(stream): 0})

    def punctuate(self, stream: str, before: int | str | None, key: Mapping[str, Any]) -> None:
        """No row of a stream before a time will come, or no later one with a key."""
        if before is None and not key:
            hint = "write before=time, or the key that is closed: item=7"
            raise WindrowError("a punctuation says what will not come any more", hint)
        moment = parse_timestamp(before) if isinstance(before, str) else before
        name = self._name(stream)
        self._record(name, self._intakes[name].punctuate(moment, key, self.progress.streams[name].intake.newest))
        self.reports.heartbeats.record(name)

    def rejected(self, name: str) -> pa.Table | None:
        """Rows of a stream, or of a table's source, that could not be taken."""
        if name.lower() in self.tables:
            return self.tables.rejected(name.lower())
        return self.intake(name).rejected.table()

    def status(self, at: EngineProgress) -> dict[str, Any]:
        """Of streams and tables, what `engine.status()` shows of them."""
        entries = [intake.stream for intake in self._intakes.values()]
        return {**self.reports.status(entries, at, self._status_of), "tables": self.tables.status()}

    def _status_of(self, entry: StreamEntry) -> dict[str, Any]:
        name = entry.name.lower()
        return {"punctuations": self._intakes[name].punctuations, **self.sources.status(name)}

    def read(self, used: Collection[str]) -> bool:
        """Take a chunk of the source that is furthest behind, of streams in use; False when there is none."""
        waiting = [name for name in self.sources.names() if name in used]
        waiting.sort(key=lambda name: self.progress.streams[name].watermark)
        self.is_idle = not any(map(self._read_chunk, waiting))
        self._move_silent_streams()
        return bool(waiting)

    def _read_chunk(self, name: str) -> bool:
        """Whether there was something to read, or an end."""
        table = self.sources.next_of(name)
        if table is None:
            self.end(name)
        elif table is not NOTHING_YET:
            self._take(name, table)
        return table is not NOTHING_YET

    def has_more(self, used: Collection[str]) -> bool:
        """Whether the source of one of these streams has not ended."""
        return any(name in used for name in self.sources.names())

    def advance(self, readers: Collection[Reader]) -> FinalRows | None:
        """Time goes as far as it has come: what that makes final; None when it has not moved."""
        self.progress = self.progress.with_tables(list(self.tables), readers)
        self.tables.take_effect(self.progress)
        moved = advance(self.progress, readers)
        self.progress = moved.after
        self.reports.late_rows.observe(self.progress)
        if not moved.has_moved:
            return None
        rows: dict[str, Batch] = {}
        for name, intake in self._intakes.items():
            segment = moved.segment(frozenset((name,)))
            if segment is None:
                continue
            if intake.closed is not None:
                rows[closings_of(intake.stream.name)] = intake.closed.until(segment.end, segment.begin)
            rows[intake.stream.name], report = intake.until(segment.end)
            self._record(name, report)
        return FinalRows(moved, rows, self.tables, self.dictionary)

    def _name(self, stream: str) -> str:
        return self.intake(stream).stream.name.lower()

    def _take(self, name: str, table: pa.Table) -> None:
        before = self.progress.streams[name]
        self._record(name, self._intakes[name].take(table, before, self.clock.now()))

    def _record(self, name: str, report: IntakeReport) -> None:
        self.progress = self.progress.with_intake([{name: report}])

    def _follow_streams(self) -> None:
        """Streams have come or gone."""
        slacks = {name: intake.stream.slack for name, intake in self._intakes.items()}
        self.progress = self.progress.with_streams(slacks)

    def _move_silent_streams(self) -> None:
        """Those that were silent for as long as they may be; one whose source is being read is not silent."""
        read = self.sources.being_read()
        listening = {name: intake.stream for name, intake in self._intakes.items() if name not in read}
        times = self.reports.heartbeats.due(listening, self.progress)
        if times:
            self.progress = self.progress.moved(times)
        if any(entry.idle_after is not None for entry in listening.values()):
            self.progress = self.progress.with_idle(self.reports.heartbeats.idle(listening, self.progress))
