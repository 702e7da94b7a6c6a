"""A shard at a stage: state(n-1) and the rows of batch n give state(n) and what comes out.

A worker that has the state it needs in memory goes on with it; any other worker reads it from the checkpoint. Either
way the step is a function of what the batch's plan names, so that running it twice does no harm: a state in memory is
used only under the very token that the batch names, and is taken out of the memory before it changes.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from windrow.batch import Batch, empty, last_change, rows_to_arrow
from windrow.batch.row_order import in_row_order
from windrow.batch.shards import Shard
from windrow.batch.transport import from_bytes, to_bytes
from windrow.physical.closings import closings_of
from windrow.plan.nodes import Stream
from windrow.plan.running_nodes import below_exchange
from windrow.runtime.advance import Advance, advance
from windrow.runtime.intake import contradiction
from windrow.runtime.intake.side_output import SideOutput
from windrow.runtime.outputs.feed import described
from windrow.runtime.shards.batch_spec import BatchSpec
from windrow.runtime.shards.graph import Source
from windrow.runtime.shards.own_tables import at_its_place
from windrow.runtime.shards.running_plan import RunningQuery
from windrow.runtime.shards.storage.bundles import Address, bundle_name, in_one_part, write_bundle, writing_attempt
from windrow.runtime.shards.storage.codec import table_to_bytes
from windrow.runtime.shards.storage.shard_state import (
    STATES,
    ShardState,
    StateNotStored,
    save,
    state_of,
)
from windrow.runtime.shards.tasks import messages
from windrow.runtime.shards.tasks.emission import Emission
from windrow.runtime.shards.tasks.exchanged_state import exchanged_state
from windrow.runtime.shards.tasks.messages import ExchangedRows, Message, ShardReport
from windrow.runtime.shards.tasks.router import spread
from windrow.runtime.shards.tasks.stage_filling import StageFilling
from windrow.runtime.shards.tasks.stage_run import StageRun
from windrow.runtime.tables import TableStore, slowest_reader
from windrow.sources.connectors import source_of
from windrow.units import BEGINNING, FOREVER


def step(spec: BatchSpec, stage: int, received: pa.Table) -> pa.Table:
    """Everything of one slot: messages for later stages go on, those for this one are worked off."""
    slots = messages.slots(spec.plan.shards)
    shard = Shard(slots.index(received.column("slot")[0].as_py()), spec.plan.shards)
    mine: list[ExchangedRows] = []
    sent: list[Message] = []
    for found in zip(*(column.to_pylist() for column in received.columns), strict=True):
        message = Message(*found)
        if message.stage == stage:
            mine.append(messages.rows_in(message.body))
        else:
            sent.append(message)
    if mine:
        sent += _Step(spec, stage, shard).run(mine)
    return messages.to_arrow(sent)


def _filled(spec: BatchSpec, stage: int, shard: Shard) -> ShardState:
    """The state that the batch starts from, with what the plan has brought since it was written."""
    is_moved = (stage, 0) in spec.versions and spec.shards_before != shard.count
    state = exchanged_state(spec, stage, shard) if is_moved else state_of(spec, stage, shard)
    if not state.parts(stage).keys() <= state.manifest.parts:
        StageFilling(spec, stage, shard, state).fill()
    return state


class _Step:
    def __init__(self, spec: BatchSpec, stage: int, shard: Shard) -> None:
        self._spec, self._stage, self._shard = spec, stage, shard
        self._token = uuid.uuid4().hex
        self._state = _filled(spec, stage, shard)
        self._rejected: dict[str, SideOutput] = {}
        self._failed: dict[str, str] = {}  # outputs, and what was raised

    def run(self, received: Sequence[ExchangedRows]) -> Iterator[Message]:
        """Take rows in, step through what has become final, write state and what comes out, and report."""
        self._take_in(received)
        moved = advance(self._spec.progress.with_intake(part.intake for part in received), self._spec.plan.readers)
        results: dict[str, Batch] = {}
        run: StageRun | None = None
        self._failed |= {name: why for part in received for name, why in part.failed.items()}
        if moved.has_moved:
            results, run = self._computed(moved)
        yield from self._sent(results)
        is_quiet = not any(part.rows for part in received)
        attempt = writing_attempt(self._named())
        emission = Emission(self._spec, self._state, self._stage, self._shard.number, moved, is_quiet, attempt)
        contents = emission.emitted(results)
        if self._failed or emission.failed:
            report = self._failing(moved, emission.failed)
        else:
            emitted = write_bundle(self._spec.folder, f"changes/{self._named()}", in_one_part(contents))
            try:
                report = self._saved(moved, run, emitted, self._side_outputs(received))
                report = replace(report, unwritten=emission.unwritten)
            except StateNotStored as failed:
                outputs = self._state.graph.outputs_above(failed.node, self._stage)
                self._failed |= dict.fromkeys(outputs, described(failed.reason))
                report = self._failing(moved, {})
        yield messages.report_message(messages.slots(self._shard.count)[self._shard.number], report)

    def _failing(self, moved: Advance, failed: Mapping[str, str]) -> ShardReport:
        """Which queries are above operators that have raised; what these have made of the state is forgotten."""
        above = (
            (query, why) for output, why in self._failed.items() for query in self._state.graph.queries_above([output])
        )
        return ShardReport(
            stage=self._stage,
            shard=self._shard.number,
            token=self._token,
            manifest=("", 0),
            garbage=(),
            emitted={},
            side_outputs={},
            progress=moved.after,
            metrics=(),
            last_changes={},
            state_bytes=0,
            failed={**failed, **dict(above)},
        )

    def _saved(
        self,
        moved: Advance,
        run: StageRun | None,
        emitted: Mapping[str, Address],
        side_outputs: Mapping[str, Address],
    ) -> ShardReport:
        """Write the state, and have it at hand for the next batch."""
        spec, state = self._spec, self._state
        saved = save(state, spec.folder, self._stage, self._named())
        state.reached = {name: stream.final for name, stream in moved.after.streams.items()}
        if saved.as_in_memory:
            STATES.put((spec.folder.place, self._stage, self._shard.number), spec.number, self._token, state)
        failures = {name: own.failures.taken() for name, own in state.graph.aggregates().items()}
        return ShardReport(
            stage=self._stage,
            shard=self._shard.number,
            token=self._token,
            manifest=saved.manifest,
            garbage=saved.garbage,
            emitted=emitted,
            side_outputs=side_outputs,
            progress=moved.after,
            metrics=[] if run is None else run.metrics(self._stage, state.node_sizes(self._stage)),
            last_changes={query.key: self._last_change(query) for query in self._ended(moved)},
            state_bytes=state.manifest.size,
            rejected={name.lower(): dict(rejected.reasons) for name, rejected in self._rejected.items()},
            waiting=sum(map(len, state.inboxes.values())) + state.held_rows(self._stage),
            held=state.held(self._stage, moved.after),
            live=self._live(),
            failures={name: messages.failed_calls(failed) for name, failed in failures.items() if failed.count},
            written_bytes=saved.written
            + sum(address.length for address in (*emitted.values(), *side_outputs.values())),
        )

    def _live(self) -> int:
        states = (node.state for node in self._state.graph.states(self._stage).values())
        return sum(len(rows) for rows in (*states, *self._state.answers.values()) if rows is not None)

    def _take_in(self, received: Sequence[ExchangedRows]) -> None:
        """Rows wait until they are final, changes of tables until their time has come."""
        self._change_tables()
        sources = self._state.graph.sources(self._stage)
        for part in received:
            for name, content in part.rows.items():
                if name in sources:
                    types = sources[name].exchange.schema.types
                    self._state.inboxes[name].put(from_bytes(content, types, self._state.dictionary))
            for name, closed in self._state.closed.items():
                if closings_of(name) in part.rows:
                    types = closed.waiting().types
                    closed.close(from_bytes(part.rows[closings_of(name)], types, self._state.dictionary))

    def _computed(self, moved: Advance) -> tuple[dict[str, Batch], StageRun]:
        state = self._state
        inputs: dict[str, Batch] = {}
        for name, source in state.graph.sources(self._stage).items():
            segment = moved.segment(source.streams)
            if segment is None:
                continue
            if name in state.closed:
                inputs[self._closings(name)] = state.closed[name].until(segment.end, segment.begin)
            inputs[name] = self._final(source, segment.end)
        tables = {name: store.size for name, store in state.tables.items()}
        run = StageRun(inputs, state.dictionary, moved.segment, state.tables, self._shard)
        results: dict[str, Batch] = {}
        for output in state.graph.at_stage(self._stage):
            try:
                results[output.name] = run.of(output)
            except Exception as error:
                self._failed[output.name] = described(error)
        for name, store in state.tables.items():
            store.forget(slowest_reader(name, self._spec.plan.readers, moved.after))
            state.tables_changed += store.size != tables[name]
        return results, run

    def _ended(self, moved: Advance) -> list[RunningQuery]:
        """The queries of the stage for which time has run out in this batch."""
        segments = ((query, moved.segment(query.reader.streams, query.start)) for query in self._spec.plan.queries)
        ended = (query for query, segment in segments if segment is not None and segment.end == FOREVER)
        return [query for query in ended if query.key in self._state.answers]

    def _closings(self, name: str) -> str:
        """Under which name the operators ask for the closings of a source."""
        source = self._state.graph.sources(self._stage)[name]
        stream = source.exchange.input
        assert isinstance(stream, Stream)
        return closings_of(stream.name)

    def _final(self, source: Source, end: int) -> Batch:
        like = empty(source.exchange.schema.types, self._state.dictionary)
        rows = self._uncontradicted(source, self._state.inboxes[source.name].pop_before(end, like))
        if not source.ordered:
            return rows.sorted_by_time()
        return in_row_order(rows, self._ties(source))

    def _uncontradicted(self, source: Source, rows: Batch) -> Batch:
        """Without rows that come after the punctuation of their key; `closings` have been applied before."""
        closed = self._state.closed.get(source.name)
        if closed is None:
            return rows
        after = closed.contradicted_by(rows)
        if not after.any():
            return rows
        stream = source.exchange.input
        assert isinstance(stream, Stream)
        same = (name for name in self._state.closed if self._reads(name, stream.name))
        if source.name == min(same):  # each row once, however many queries read it
            names = [field.name for field in stream.columns]
            self._rejected.setdefault(stream.name, SideOutput(most=math.inf)).put(
                rows_to_arrow(rows.take(after), names), contradiction(stream.punctuated)
            )
        return rows.take(~after)

    def _reads(self, source: str, stream: str) -> bool:
        below = self._state.graph.sources(self._stage)[source].exchange.input
        return isinstance(below, Stream) and below.name == stream

    def _ties(self, source: Source) -> tuple[int, ...]:
        below = below_exchange(source.exchange)
        if not isinstance(below, Stream):
            return ()
        stream = self._spec.plan.streams[below.name.lower()]
        names = [column.name for column in stream.columns]
        return tuple(names.index(name) for name in stream.ties)

    def _change_tables(self) -> None:
        spec, state = self._spec, self._state
        for name in spec.tables_created:
            entry = spec.plan.tables[name]
            state.tables[name] = TableStore(entry, state.dictionary)
            state.tables_changed += 1
            if entry.connector is None:
                continue
            source = source_of(at_its_place(entry.connector, spec.folder), entry.columns)
            state.tables[name].load(source, spec.progress.tables[name])
        for change in spec.changes:
            state.tables[change.table.lower()].apply(change, spec.progress.tables[change.table.lower()])
            state.tables_changed += 1

    def _sent(self, results: Mapping[str, Batch]) -> list[Message]:
        """Rows for later stages."""
        bound: dict[tuple[int, int], dict[str, bytes]] = {}
        for output in self._state.graph.at_stage(self._stage):
            if output.exchange is None or output.name not in results:
                continue
            for shard, part in spread(output, results[output.name], self._state.dictionary, self._shard.count):
                bound.setdefault((output.exchange.stage, shard), {})[output.name] = to_bytes(part)
        slots = messages.slots(self._shard.count)
        return [messages.message(slots[shard], stage, ExchangedRows(parts)) for (stage, shard), parts in bound.items()]

    def _last_change(self, query: RunningQuery) -> int:
        """The answer on this shard stays as it is from then on."""
        rows = self._state.answers[query.key].rows(empty(query.plan.schema.types, self._state.dictionary))
        return max(last_change(rows), BEGINNING)

    def _side_outputs(self, received: Sequence[ExchangedRows]) -> dict[str, Address]:
        """Late and rejected rows, written where everybody can read them, under names that no other shard has."""
        contents: dict[str, bytes] = {}
        mine = f"{self._stage}.{self._shard.number}"
        for part in received:
            for stream, kind, table in part.side_outputs:
                contents[f"{kind}/{stream}/{mine}.{len(contents)}"] = table
        for name, rejected in self._rejected.items():
            contents[f"rejected/{name.lower()}/{mine}.{len(contents)}"] = table_to_bytes(rejected.table())
        return write_bundle(self._spec.folder, f"side_outputs/{self._named()}", in_one_part(contents))

    def _named(self) -> str:
        return bundle_name(self._spec.number, self._stage, self._shard.number, self._token)
