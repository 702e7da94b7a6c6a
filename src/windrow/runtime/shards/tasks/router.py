"""Stage 0, where rows are read: rows that do not fit go to a side output, the others go to the shards that need them.

What makes less of rows and needs no memory is done here: selection, projection, slices. A task tells every shard of
every stage what its rows bring for the watermark, whether it has rows for it or not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

import numpy as np
import pyarrow as pa

from windrow.batch import Batch, Dictionary, Segment
from windrow.batch.shards import shard_of
from windrow.batch.transport import to_bytes
from windrow.physical.closings import closings_of
from windrow.physical.expressions import ExpressionCompiler
from windrow.plan.nodes import Stream
from windrow.runtime.intake import Intake
from windrow.runtime.intake.side_output import SideOutput
from windrow.runtime.outputs.feed import described
from windrow.runtime.progress import IntakeReport
from windrow.runtime.shards.batch_spec import BatchSpec, plan_from_bytes
from windrow.runtime.shards.graph import Graph, Output
from windrow.runtime.shards.sources.pushed_rows import pushed_table
from windrow.runtime.shards.sources.reads import Part, PushRead, Read, RejectedRead, RowRange
from windrow.runtime.shards.sources.rejected_rows import rejected_table
from windrow.runtime.shards.storage.codec import table_to_bytes
from windrow.runtime.shards.tasks import messages
from windrow.runtime.shards.tasks.messages import ExchangedRows, ReadReport
from windrow.runtime.shards.tasks.stage_run import StageRun
from windrow.sources.file_format import file_format
from windrow.sources.file_reading import UnreadableFile, content_after, read_part, rejected_file
from windrow.sources.file_reads import FileRead
from windrow.sources.generators import generator
from windrow.units import BEGINNING, FOREVER

KNOWN_STRINGS = 2_000_000  # strings of a worker after which it starts a new dictionary

# What a task gets: rows of a stream that Spark has packed, or which task it is of how many that read for the driver.
PACKED = "source string, task int, tasks int, blob binary"


def route(spec: BatchSpec, packed: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The messages of one task."""
    router = _Router(spec)
    for batch in packed:
        for row in range(batch.num_rows):
            source, task, tasks, blob = (batch.column(place)[row] for place in range(4))
            if blob.is_valid and source.as_py() in spec.plan.streams:
                yield from router.take(source.as_py(), pa.ipc.open_stream(blob.as_buffer()).read_all())
            if tasks.is_valid:
                for number in assigned(spec.reads, task.as_py(), tasks.as_py()):
                    yield from router.read(number)
    yield from router.finished()


def assigned(reads: Sequence[Read], task: int, tasks: int) -> list[int]:
    """Which of a batch's reads a task has: the large ones are dealt out first."""
    order = sorted(range(len(reads)), key=lambda number: -_size(reads[number].part))
    return sorted(order[task::tasks])


def _size(part: Part) -> int:
    return 0 if isinstance(part, PushRead | RejectedRead) else part.last - part.first


def _tables(spec: BatchSpec, read: Read) -> Iterator[pa.Table]:
    """The rows of a read, or `UnreadableFile` before the first of them."""
    stream, part = spec.plan.streams[read.stream], read.part
    if isinstance(part, PushRead):
        return iter([pushed_table(spec.folder, read.key, part)])
    if isinstance(part, RejectedRead):
        return iter([rejected_table(spec.folder, part)])
    assert stream.connector is not None
    if isinstance(part, RowRange):
        made = generator(str(stream.connector.arguments[0]), dict(stream.connector.options))
        return iter([made.read(part.first, part.last)])
    return read_part(part, file_format(stream.connector), stream.given)


class _Router:
    def __init__(self, spec: BatchSpec) -> None:
        self._spec = spec
        self._plan = spec.plan
        self._dictionary, self._graph = _lowered(spec.plan_content)
        self._slots = messages.slots(self._plan.shards)
        self._intake: dict[str, IntakeReport] = {}
        self._side_outputs: list[tuple[str, str, bytes]] = []
        self._failed: dict[str, str] = {}
        self._unreadable: dict[int, str] = {}
        self._contents: dict[int, int] = {}

    def read(self, number: int) -> Iterator[pa.RecordBatch]:
        """Take the rows of one of the batch's reads; a file that cannot be read is reported, and tried again if it may.

        How many reads of a stream there were is counted: that says when it has ended.
        """
        read = self._spec.reads[number]
        if read.stream not in self._plan.streams:
            return
        try:
            content = content_after(read.part) if isinstance(read.part, FileRead) else None
            tables = _tables(self._spec, read)
            self._contents |= {} if content is None else {number: content}
        except UnreadableFile as error:
            assert isinstance(read.part, FileRead)
            self._unreadable[number] = str(error)
            if not read.part.is_last_try:
                return
            tables = iter([rejected_file(read.part, str(error))])
        for table in tables:
            yield from self.take(read.stream, table)
        self._intake[read.stream] = self._intake.get(read.stream, IntakeReport()) + IntakeReport(read=1)

    def take(self, source: str, table: pa.Table) -> Iterator[pa.RecordBatch]:
        """One message a shard and stage that gets rows."""
        all_rows = (SideOutput(most=math.inf) for _ in range(2))  # for sinks; the rows of a batch have a bound
        intake = Intake(self._plan.streams[source], self._dictionary, *all_rows)
        report = intake.take(table, self._spec.progress.streams[source], self._spec.arrival)
        rows = intake.taken().sorted_by_time()
        self._intake[source] = self._intake.get(source, IntakeReport()) + report
        self._add_side_output(source, "late", intake.late)
        self._add_side_output(source, "rejected", intake.rejected)
        closings = None if intake.closed is None else intake.closed.waiting()
        if len(rows) or closings is not None:
            yield from self._sent(source, rows, closings)

    def finished(self) -> Iterator[pa.RecordBatch]:
        """What every shard has to know."""
        plain = ExchangedRows(intake=self._intake)
        sides = tuple(self._side_outputs)
        with_side_outputs = ExchangedRows(intake=self._intake, side_outputs=sides, failed=self._failed)
        last = [
            messages.message(slot, stage, with_side_outputs if (shard, stage) == (0, 1) else plain)
            for stage in range(1, self._plan.stages + 1)
            for shard, slot in enumerate(self._slots)
        ]
        if self._unreadable or self._contents:
            report = ReadReport(self._unreadable, self._contents)
            last.append(messages.read_report_message(self._slots[0], report))
        yield from messages.to_arrow(last).to_batches()

    def _sent(self, source: str, rows: Batch, closings: Batch | None) -> Iterator[pa.RecordBatch]:
        bound: dict[tuple[int, int], dict[str, bytes]] = {}
        name = self._plan.streams[source].name
        runs: dict[int, StageRun] = {}  # parts that several outputs have are computed once
        for output in self._graph.at_stage(0):
            if not _reads(output, name):
                continue
            since = self._plan.since.get(output.name, BEGINNING)
            if since not in runs:
                wanted = rows if since == BEGINNING else rows.take(rows.ts >= since)
                runs[since] = StageRun({name: wanted}, self._dictionary, _all_time)
            try:
                self._spread(output, runs[since].of(output), bound)
            except Exception as error:
                self._failed[output.name] = described(error)
            if closings is not None:
                self._spread_closings(output, closings, bound)
        sent = [
            messages.message(self._slots[shard], stage, ExchangedRows(parts)) for (stage, shard), parts in bound.items()
        ]
        yield from messages.to_arrow(sent).to_batches()

    def _spread(self, output: Output, rows: Batch, bound: dict[tuple[int, int], dict[str, bytes]]) -> None:
        for shard, part in spread(output, rows, self._dictionary, self._plan.shards):
            assert output.exchange is not None
            bound.setdefault((output.exchange.stage, shard), {})[output.name] = to_bytes(part)

    def _spread_closings(self, output: Output, closings: Batch, bound: dict[tuple[int, int], dict[str, bytes]]) -> None:
        """To where the rows that they are about go: a punctuated stream is spread by the columns that are closed."""
        assert output.exchange is not None
        keys = closings.columns if output.exchange.keys else ()
        shard = shard_of(keys, len(closings), self._plan.shards)
        for number in np.unique(shard):
            part = closings.take(shard == number)
            bound.setdefault((output.exchange.stage, int(number)), {})[closings_of(output.name)] = to_bytes(part)

    def _add_side_output(self, source: str, kind: str, output: SideOutput) -> None:
        table = output.table()
        if table is not None:
            self._side_outputs.append((source, kind, table_to_bytes(table)))


def spread(output: Output, rows: Batch, dictionary: Dictionary, shards: int) -> Iterator[tuple[int, Batch]]:
    """The rows of an exchange by the shard that they go to."""
    assert output.exchange is not None
    if not len(rows):
        return
    names = {name: place for place, name in enumerate(output.exchange.schema.names)}
    compiler = ExpressionCompiler(names, dictionary)
    keys = [compiler.column(key)(rows) for key in output.exchange.keys]
    shard = shard_of(keys, len(rows), shards)
    if shards == 1 or not keys:
        yield 0, rows
        return
    order = np.argsort(shard, kind="stable")
    edges = np.searchsorted(shard[order], np.arange(shards + 1))
    ordered = rows.take(order)
    for number in range(shards):
        if edges[number] < edges[number + 1]:
            yield number, ordered.slice(int(edges[number]), int(edges[number + 1]))


def _all_time(streams: frozenset[str]) -> Segment:
    """Nothing is kept where rows are read, so nothing has to be final."""
    return Segment(BEGINNING, FOREVER)


def _reads(output: Output, stream: str) -> bool:
    return any(isinstance(node, Stream) and node.name == stream for node in output.root.plan.walk())


@lru_cache(maxsize=2)
def _graph_of(plan_content: bytes) -> list[tuple[Dictionary, Graph]]:
    return []


def _lowered(plan_content: bytes) -> tuple[Dictionary, Graph]:
    """The graph of a plan, cached in the worker; it starts anew when its dictionary has become large."""
    cached = _graph_of(plan_content)
    if not cached or len(cached[0][0]) > KNOWN_STRINGS:
        dictionary = Dictionary()
        cached[:] = [(dictionary, Graph(plan_from_bytes(plan_content), dictionary))]
    return cached[0]
