"""What the queries of a shard emit in a batch: changes, refreshes, and the forms that sinks and readers ask for."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from windrow.batch import Batch, Segment, changelog_to_arrow, empty
from windrow.batch.consolidation import as_of, closed_by_negatives
from windrow.runtime.advance import Advance
from windrow.runtime.modes import Mode, rows_in_mode
from windrow.runtime.outputs.feed import described
from windrow.runtime.outputs.sink_folders import FILES
from windrow.runtime.refreshes import answers_at_refreshes, refreshes_to_arrow
from windrow.runtime.shards.batch_spec import BatchSpec
from windrow.runtime.shards.running_plan import RunningQuery, emitted_name
from windrow.runtime.shards.storage.codec import table_to_bytes
from windrow.runtime.shards.storage.shard_state import ShardState
from windrow.runtime.shards.tasks.shard_sinks import file_name, write_sink
from windrow.state.batches import AnswerChangelog
from windrow.units import BEGINNING, FOREVER


class Emission:
    """Of one shard at a stage; `is_quiet` if the batch brought it no rows, so that there is time to tidy up.

    `attempt` tells this run of the step from others.
    """

    def __init__(
        self,
        spec: BatchSpec,
        state: ShardState,
        stage: int,
        shard: int,
        moved: Advance,
        is_quiet: bool,
        attempt: str,
    ) -> None:
        self._attempt = attempt
        self._spec = spec
        self._state = state
        self._stage = stage
        self._shard = shard
        self._moved = moved
        self._is_quiet = is_quiet
        self.unwritten: list[str] = []  # queries whose files could not be written
        self.failed: dict[str, str] = {}  # queries whose results could not be put into their forms

    def emitted(self, results: Mapping[str, Batch]) -> dict[str, bytes]:
        """Take the results of queries into their answers; what goes to the log, and file sinks are written."""
        contents: dict[str, bytes] = {}
        for output in self._state.graph.at_stage(self._stage):
            query = output.query
            if query is None:
                continue
            like = empty(query.plan.schema.types, self._state.dictionary)
            answer = self._state.answers[query.key]
            changes = since_start(query, results.get(output.name, like))
            answer.put(changes)
            segment = self._moved.segment(query.reader.streams, query.start)
            try:
                tables = self._tables(query, _told(query, changes, answer, segment), answer, like, segment)
            except Exception as error:
                self.failed[query.key] = described(error)
                continue
            for mode, table in tables.items():
                if table.num_rows:
                    contents[emitted_name(query.key, mode)] = table_to_bytes(table)
            self._write(query, tables)
            if segment is not None and segment.end != FOREVER:
                (answer.tidy_now if self._is_quiet else answer.tidy)(segment.end, like)
        return contents

    def _write(self, query: RunningQuery, tables: Mapping[Mode, pa.Table]) -> None:
        """The file of a query that has files; the log has what cannot be written too."""
        if query.sink is None or query.sink.name not in FILES or query.sink_mode not in tables:
            return
        is_closed = query.key in self._spec.closed_files
        name = file_name(query.sink, self._spec.number, self._shard)
        if is_closed or not write_sink(query.sink, tables[query.sink_mode], name, self._attempt):
            self.unwritten.append(query.key)

    def _tables(
        self, query: RunningQuery, changes: Batch, answer: AnswerChangelog, like: Batch, segment: Segment | None
    ) -> dict[Mode, pa.Table]:
        names = query.plan.schema.names
        tables = {Mode.CHANGELOG: changelog_to_arrow(changes, names)}
        if query.slide is not None:
            tables[Mode.SNAPSHOT] = refreshes_to_arrow(self._refreshes(query, answer, like, segment), names)
        if segment is not None and query.forms:
            rows = answer.rows(changes)
            for form in query.forms:
                tables[form.mode] = rows_in_mode(form.mode, names, form.key, changes, rows, segment)
        return tables

    def _refreshes(self, query: RunningQuery, answer: AnswerChangelog, like: Batch, segment: Segment | None) -> Batch:
        """The refreshes of the segment; those after the end of its sources wait until the last one is known."""
        progress, changed = self._moved.after, int(BEGINNING)
        final = self._spec.final_refreshes.get(query.key)
        if final is not None:
            segment = Segment(final.begin, FOREVER, progress.last_row_of(query.reader.streams))
            changed = final.last_change
        elif segment is None or segment.end == FOREVER:
            return like
        after = progress.begin_of(query.reader)
        assert query.slide is not None and segment is not None and after is not None, query
        return answers_at_refreshes(answer.rows(like), query.slide, after, segment, changed)


def since_start(query: RunningQuery, changes: Batch) -> Batch:
    """Of changes what a query tells: what was before its start is there from then on, of a stream it is not there."""
    return changes.take(changes.ts >= query.start) if query.is_stream else as_of(changes, query.start)


def _told(query: RunningQuery, changes: Batch, answer: AnswerChangelog, segment: Segment | None) -> Batch:
    """What is told of changes: it begins with the answer as of the start."""
    if segment is None:
        return changes.slice(0, 0)
    return closed_by_negatives(answer.rows(changes)) if segment.begin == query.start else changes
