"""Stage 0, where rows are read: rows that do not fit go to a side output, the others go to the shards that need them.

Whatever needs no memory is done here: selection, projection, lifetimes of time-based windows. A task tells every shard
of every stage what its rows bring for the watermark, whether it has rows for it or not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

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
from windrow.runtime.progress import IntakeReport
from windrow.runtime.shards.batch_spec import BatchSpec, plan_from_bytes
from windrow.runtime.shards.graph import Graph, Output
from windrow.runtime.shards.running_plan import RunningPlan
from windrow.runtime.shards.tasks import messages
from windrow.runtime.shards.tasks.messages import ExchangedRows
from windrow.runtime.shards.tasks.stage_run import StageRun
from windrow.sources.files import read_file
from windrow.sources.generators import generator
from windrow.units import BEGINNING, FOREVER

KNOWN_STRINGS = 2_000_000  # strings of a worker after which it starts a new dictionary

# What Spark hands over: of which stream, how to get the rows (`blob`, `file`, `numbers`), and the blob or a text.
PACKED = "source string, how string, what string, blob binary"


def route(spec: BatchSpec, packed: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The messages of one task."""
    router = _Router(spec)
    for batch in packed:
        for row in range(batch.num_rows):
            source, how, what = (batch.column(place)[row].as_py() for place in range(3))
            if source in spec.plan.streams:
                for table in _tables(spec.plan, source, how, what, batch.column(3)[row]):
                    yield from router.take(source, table)
                router.has_read(source, how, what)
    yield from router.finished()


def _tables(plan: RunningPlan, source: str, how: str, what: str, blob: pa.Scalar) -> Iterator[pa.Table]:
    if how == "blob":
        yield pa.ipc.open_stream(blob.as_buffer()).read_all()
        return
    stream = plan.streams[source]
    if how == "numbers":
        assert stream.connector is not None
        made = generator(str(stream.connector.arguments[0]), dict(stream.connector.options))
        yield made.read(*_numbers(what))
        return
    form = "arrow" if stream.connector is None else stream.connector.name
    yield from read_file(Path(unquote(urlsplit(what).path)), form, stream.columns)  # Hadoop writes file:/path


def _numbers(what: str) -> tuple[int, int]:
    first, last = what.split("-")
    return int(first), int(last)


class _Router:
    def __init__(self, spec: BatchSpec) -> None:
        self._spec = spec
        self._plan = spec.plan
        self._dictionary, self._graph = _lowered(spec.plan_content)
        self._slots = messages.slots(self._plan.shards)
        self._intake: dict[str, IntakeReport] = {}
        self._side_outputs: list[tuple[str, str, bytes]] = []

    def take(self, source: str, table: pa.Table) -> Iterator[pa.RecordBatch]:
        """One message a shard and stage that gets rows."""
        all_rows = (SideOutput(most=math.inf) for _ in range(2))  # for sinks; the rows of a batch have a bound
        intake = Intake(self._plan.streams[source], self._dictionary, *all_rows)
        report = intake.take(table, self._spec.progress.streams[source].final, self._spec.arrival)
        rows = intake.taken().sorted_by_time()
        self._intake[source] = self._intake.get(source, IntakeReport()) + report
        self._add_side_output(source, "late", intake.late)
        self._add_side_output(source, "rejected", intake.rejected)
        closings = None if intake.closed is None else intake.closed.waiting()
        if len(rows) or closings is not None:
            yield from self._sent(source, rows, closings)

    def has_read(self, source: str, how: str, what: str) -> None:
        """Count how far the source has come, in files or in rows of a generator."""
        if how == "blob":
            return
        first, last = _numbers(what) if how == "numbers" else (0, 1)
        self._intake[source] = self._intake.get(source, IntakeReport()) + IntakeReport(read=last - first)

    def finished(self) -> Iterator[pa.RecordBatch]:
        """What every shard has to know."""
        plain = ExchangedRows(intake=self._intake)
        with_side_outputs = ExchangedRows(intake=self._intake, side_outputs=tuple(self._side_outputs))
        last = [
            messages.message(slot, stage, with_side_outputs if (shard, stage) == (0, 1) else plain)
            for stage in range(1, self._plan.stages + 1)
            for shard, slot in enumerate(self._slots)
        ]
        yield from messages.to_arrow(last).to_batches()

    def _sent(self, source: str, rows: Batch, closings: Batch | None) -> Iterator[pa.RecordBatch]:
        bound: dict[tuple[int, int], dict[str, bytes]] = {}
        name = self._plan.streams[source].name
        for output in self._graph.at_stage(0):
            if not _reads(output, name):
                continue
            wanted = rows if output.start == BEGINNING else rows.take(rows.ts >= output.start)
            self._spread(output, StageRun({name: wanted}, self._dictionary, _all_time).of(output), bound)
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
            self._side_outputs.append((source, kind, messages.table_to_bytes(table)))


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


def _all_time(streams: frozenset[str], start: int) -> Segment:
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
