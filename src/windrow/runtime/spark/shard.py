"""A shard at a stage: state(n-1) and the rows of batch n give state(n) and what comes out.

A worker that has the state it needs in memory goes on with it; any other worker reads it from the checkpoint. Either
way the step is a function of what the batch's plan names, so that running it twice does no harm: a state in memory is
used only under the very token that the batch names, and is taken out of the memory before it changes.
"""

from __future__ import annotations

import pickle
import uuid
import zlib
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pyarrow as pa

from windrow.batch import Batch, Dictionary, Segment, arrow_type, changelog_to_arrow, empty, rows_to_arrow
from windrow.batch.row_order import in_row_order
from windrow.batch.shards import Shard
from windrow.batch.transport import from_bytes, to_bytes
from windrow.errors import CheckpointError
from windrow.physical.lower import contents_of
from windrow.plan.nodes import Stream, below_exchange
from windrow.runtime.local.sources import source_of
from windrow.runtime.local.tables import TableStore
from windrow.runtime.progress import Progress
from windrow.runtime.spark import messages
from windrow.runtime.spark.batch_spec import BatchSpec, ShardVersion
from windrow.runtime.spark.bundles import (
    Address,
    Folder,
    piece_from_bytes,
    piece_to_bytes,
    read_contents,
    write_bundle,
)
from windrow.runtime.spark.messages import DONE, Done, Rows
from windrow.runtime.spark.router import spread
from windrow.runtime.spark.running import Graph, Metric, Run, RunningPlan, RunningQuery, Source
from windrow.runtime.spark.shard_sinks import write_sink
from windrow.runtime.told import refreshed
from windrow.state.batches import KeptAnswer, Waiting
from windrow.state.snapshot import Part, Piece
from windrow.types import TIMESTAMP, Type
from windrow.units import BEGINNING, FOREVER

KEPT_BYTES = 1 << 30  # state that a worker keeps in memory between batches


def step(spec: BatchSpec, stage: int, received: pa.Table) -> pa.Table:
    """Everything of one slot: messages for later stages go on, those for this one are worked off."""
    slots = messages.slots(spec.plan.shards)
    shard = Shard(slots.index(received.column("slot")[0].as_py()), spec.plan.shards)
    mine: list[Rows] = []
    sent: list[tuple[int, int, bytes]] = []
    for slot, to, body in zip(*(column.to_pylist() for column in received.columns), strict=True):
        if to == stage:
            mine.append(pickle.loads(body))
        else:
            sent.append((slot, to, body))
    if mine:
        sent += _Step(spec, stage, shard).run(mine)
    return messages.to_arrow(sent)


@dataclass
class ShardState:
    """All that a shard remembers at a stage."""

    graph: Graph
    dictionary: Dictionary
    inboxes: dict[str, Waiting] = field(default_factory=dict)
    answers: dict[str, KeptAnswer] = field(default_factory=dict)
    tables: dict[str, TableStore] = field(default_factory=dict)
    tables_changed: int = 0
    manifest: dict[str, Address] = field(default_factory=dict)

    def parts(self, stage: int) -> dict[str, Part]:
        """Everything that has a snapshot, by name."""
        named: dict[str, Part] = {f"inbox/{name}": inbox for name, inbox in self.inboxes.items()}
        named |= {f"answer/{name}": answer for name, answer in self.answers.items()}
        states = self.graph.states(stage)
        return named | {f"node/{name}": node.state for name, node in states.items() if node.state is not None}

    def fit(self, graph: Graph, stage: int) -> None:
        """Go on under another version of the plan: what both have keeps its state."""
        before, now = self.graph.states(stage), graph.states(stage)
        for name in before.keys() & now.keys():
            now[name].state = before[name].state
        self.graph = graph
        self.open(stage)

    def open(self, stage: int) -> None:
        """Make room for what the graph has, and drop what it has no more."""
        plan = self.graph.plan
        queries = [query.name.lower() for query in plan.queries if query.stage == stage]
        self.inboxes = {name: self.inboxes.get(name) or Waiting() for name in self.graph.sources(stage)}
        self.answers = {name: self.answers.get(name) or KeptAnswer() for name in queries}
        self.tables = {
            name: self.tables.get(name) or TableStore(entry, self.dictionary) for name, entry in plan.tables.items()
        }


class _Step:
    def __init__(self, spec: BatchSpec, stage: int, shard: Shard) -> None:
        self._spec, self._stage, self._shard = spec, stage, shard
        self._token = uuid.uuid4().hex
        self._state = _state_of(spec, stage, shard)

    def run(self, received: Sequence[Rows]) -> Iterator[tuple[int, int, bytes]]:
        spec, state = self._spec, self._state
        self._take_in(received)
        progress, segment = self._progress(received)
        results: dict[str, Batch] = {}
        metrics: list[Metric] = []
        if segment is not None:
            results, metrics = self._computed(segment)
        sent = self._sent(results)
        changes, told = self._told(results, segment, progress)
        manifest, garbage = self._saved()
        aside = self._aside(received)
        slot = messages.slots(self._shard.count)[self._shard.number]
        done = Done(
            self._stage,
            self._shard.number,
            self._token,
            manifest,
            garbage,
            changes,
            told,
            aside,
            progress,
            metrics,
            {name: self._last_change(name) for name in state.answers} if progress.watermark == FOREVER else {},
            sum(address.length for address in state.manifest.values()),
        )
        _KEPT.put((spec.folder.uri, self._stage, self._shard.number), self._token, state)
        yield from sent
        yield messages.message(slot, DONE, done)

    def _take_in(self, received: Sequence[Rows]) -> None:
        """Rows wait until they are final, changes of tables until their time has come."""
        self._change_tables()
        sources = self._state.graph.sources(self._stage)
        for part in received:
            for name, content in part.rows.items():
                if name in sources:
                    types = sources[name].exchange.schema.types
                    self._state.inboxes[name].put(from_bytes(content, types, self._state.dictionary))

    def _progress(self, received: Sequence[Rows]) -> tuple[Progress, Segment | None]:
        plan = self._spec.plan
        return self._spec.progress.told(part.news for part in received).advanced(plan.used_streams)

    def _computed(self, segment: Segment) -> tuple[dict[str, Batch], list[Metric]]:
        state = self._state
        inputs = {name: self._final(source, segment.end) for name, source in state.graph.sources(self._stage).items()}
        inputs |= self._table_inputs(segment)
        run = Run(inputs, state.dictionary, segment, self._shard)
        results = {output.name: run.of(output) for output in state.graph.at_stage(self._stage)}
        return results, run.metrics(self._stage, self._shard.number)

    def _final(self, source: Source, end: int) -> Batch:
        like = empty(source.exchange.schema.types, self._state.dictionary)
        rows = self._state.inboxes[source.name].pop_before(end, like)
        if not source.ordered:
            return rows.sorted_by_time()
        return in_row_order(rows, self._ties(source))

    def _ties(self, source: Source) -> tuple[int, ...]:
        below = below_exchange(source.exchange)
        if not isinstance(below, Stream):
            return ()
        stream = self._spec.plan.streams[below.name.lower()]
        names = [column.name for column in stream.columns]
        return tuple(names.index(name) for name in stream.ties)

    def _change_tables(self) -> None:
        spec, state = self._spec, self._state
        for name in spec.tables_to_load:
            entry = spec.plan.tables[name]
            assert entry.connector is not None
            state.tables[name].load(source_of(entry.connector, entry.columns), spec.progress.watermark)
            state.tables_changed += 1
        for change in spec.changes:
            state.tables[change.table.lower()].apply(change, spec.progress.watermark)
            state.tables_changed += 1

    def _table_inputs(self, segment: Segment) -> dict[str, Batch]:
        state = self._state
        inputs: dict[str, Batch] = {}
        for store in state.tables.values():
            inputs[contents_of(store.entry.name)] = store.contents()
            changes = inputs[store.entry.name] = store.changes(segment)
            state.tables_changed += bool(len(changes))
        return inputs

    def _sent(self, results: Mapping[str, Batch]) -> list[tuple[int, int, bytes]]:
        """Rows for later stages."""
        bound: dict[tuple[int, int], dict[str, bytes]] = {}
        for output in self._state.graph.at_stage(self._stage):
            if output.exchange is None or output.name not in results:
                continue
            for shard, part in spread(output, results[output.name], self._state.dictionary, self._shard.count):
                bound.setdefault((output.exchange.stage, shard), {})[output.name] = to_bytes(part)
        slots = messages.slots(self._shard.count)
        return [messages.message(slots[shard], stage, Rows(parts)) for (stage, shard), parts in bound.items()]

    def _told(
        self, results: Mapping[str, Batch], segment: Segment | None, progress: Progress
    ) -> tuple[dict[str, Address], dict[str, Address]]:
        """Changes and refreshes of queries, written where everybody can read them."""
        contents: dict[str, bytes] = {}
        for output in self._state.graph.at_stage(self._stage):
            query = output.query
            if query is None:
                continue
            like = empty(query.plan.schema.types, self._state.dictionary)
            changes = results.get(output.name, like)
            answer = self._state.answers[query.name.lower()]
            answer.put(changes)
            table = changelog_to_arrow(changes, query.plan.schema.names)
            if len(changes):
                contents[f"changes/{query.name}"] = messages.table_to_bytes(table)
            if query.slide is not None:
                table = self._refreshes(query, answer, like, segment, progress)
                if table.num_rows:
                    contents[f"told/{query.name}"] = messages.table_to_bytes(table)
            if query.sink is not None:
                write_sink(query, table, self._spec.number, self._shard.number)
            if segment is not None and segment.end != FOREVER:
                answer.tidy(segment.end, like)
        addresses = write_bundle(self._spec.folder, f"changes/{self._named()}", contents)
        return tuple(  # type: ignore[return-value]
            {name.split("/", 1)[1]: address for name, address in addresses.items() if name.startswith(kind)}
            for kind in ("changes/", "told/")
        )

    def _refreshes(
        self, query: RunningQuery, answer: KeptAnswer, like: Batch, segment: Segment | None, progress: Progress
    ) -> pa.Table:
        """The refreshes of the segment; those after the end of all sources wait until the last one is known."""
        rows = like
        if segment is not None and segment.end != FOREVER:
            rows = self._refreshed(query, answer, like, segment, progress, BEGINNING)
        elif self._spec.telling is not None:
            begin, last_changes = self._spec.telling
            rest = Segment(begin, FOREVER, progress.last_row)
            rows = self._refreshed(query, answer, like, rest, progress, last_changes[query.name.lower()])
        ends = pa.array(rows.ts).view(arrow_type(TIMESTAMP))
        return rows_to_arrow(rows, query.plan.schema.names).append_column("_window_end", ends)

    def _refreshed(
        self,
        query: RunningQuery,
        answer: KeptAnswer,
        like: Batch,
        segment: Segment,
        progress: Progress,
        last_change: int,
    ) -> Batch:
        assert query.slide is not None and progress.origin is not None
        after = max(query.start, progress.origin)
        return refreshed(answer.rows(like), query.slide, after, segment, last_change)

    def _last_change(self, query: str) -> int:
        """The latest begin or end of a lifetime that is known."""
        plan = next(q.plan for q in self._spec.plan.queries if q.name.lower() == query)
        rows = self._state.answers[query].rows(empty(plan.schema.types, self._state.dictionary))
        edges = np.concatenate([rows.ts, rows.exp[rows.exp != FOREVER]])
        return int(edges.max()) if len(edges) else BEGINNING

    def _aside(self, received: Sequence[Rows]) -> dict[str, Address]:
        """Late and rejected rows, written where everybody can read them."""
        contents: dict[str, bytes] = {}
        for part in received:
            for stream, kind, table in part.aside:
                contents[f"{kind}/{stream}/{len(contents)}"] = table
        return write_bundle(self._spec.folder, f"aside/{self._named()}", contents)

    def _saved(self) -> tuple[tuple[str, int], list[str]]:
        """Write the pieces that are new, and the manifest; bundles that it names no more are garbage."""
        state, before = self._state, self._state.manifest
        worth_keeping = _well_used(before)
        manifest: dict[str, Address | None] = {}
        contents: dict[str, bytes] = {}
        for name, content in _dictionary_pieces(state.dictionary, before, worth_keeping).items():
            manifest[name] = before.get(name)
            if content is not None:
                contents[name] = content
        for part, holder in state.parts(self._stage).items():
            found = holder.snapshot(_Known(part, worth_keeping))
            manifest |= {f"{part}/{piece}": before.get(f"{part}/{piece}") for piece in found.manifest}
            contents |= {f"{part}/{name}": piece_to_bytes(piece) for name, piece in found.pieces.items()}
        for name, store in state.tables.items():
            versioned = f"table/{name}/{state.tables_changed}"
            manifest[versioned] = before.get(versioned)
            if versioned not in worth_keeping:
                contents[versioned] = piece_to_bytes(store)
        written = write_bundle(self._spec.folder, f"pieces/{self._named()}", contents)
        state.manifest = {name: written.get(name) or _found(name, address) for name, address in manifest.items()}
        garbage = {a.bundle for a in before.values()} - {a.bundle for a in state.manifest.values()}
        return self._write_manifest(), sorted(garbage)

    def _write_manifest(self) -> tuple[str, int]:
        content = pickle.dumps((self._token, self._state.tables_changed, self._state.manifest))
        name = f"manifests/{self._named()}"
        self._spec.folder.write(name, content)
        return name, zlib.crc32(content)

    def _named(self) -> str:
        return f"{self._spec.number:09}-{self._stage}-{self._shard.number}-{self._token[:8]}"


def _found(name: str, address: Address | None) -> Address:
    assert address is not None, f"{name} is neither new nor known"
    return address


def _well_used(manifest: Mapping[str, Address]) -> dict[str, Address]:
    """The pieces that lie in bundles of which at least half is still in use; the others are written again."""
    used: dict[str, int] = {}
    ends: dict[str, int] = {}
    for address in manifest.values():
        used[address.bundle] = used.get(address.bundle, 0) + address.length
        ends[address.bundle] = max(ends.get(address.bundle, 0), address.offset + address.length)
    return {name: a for name, a in manifest.items() if 2 * used[a.bundle] >= ends[a.bundle]}


@dataclass(frozen=True)
class _Known:
    """The names of pieces that need not be written, below one part."""

    part: str
    names: Mapping[str, Address]

    def __contains__(self, piece: object) -> bool:
        return f"{self.part}/{piece}" in self.names


_MOST_DICTIONARY_PIECES = 16


def _dictionary_pieces(
    dictionary: Dictionary, before: Mapping[str, Address], worth_keeping: Mapping[str, Address]
) -> dict[str, bytes | None]:
    """The strings in the pieces they have, and those added since in one more; too many become one."""
    kept = [name for name in before if name.startswith("dictionary/")]
    if len(kept) >= _MOST_DICTIONARY_PIECES or any(name not in worth_keeping for name in kept):
        kept = []
    pieces: dict[str, bytes | None] = dict.fromkeys(kept)
    first = int(kept[-1].split(".")[1]) if kept else 0
    if first < len(dictionary):
        added = pa.table({"strings": dictionary.added_since(first)})
        pieces[f"dictionary/{first}.{len(dictionary)}"] = messages.table_to_bytes(added)
    return pieces


def _state_of(spec: BatchSpec, stage: int, shard: Shard) -> ShardState:
    """From this worker's memory, or from the checkpoint, or fresh; fit for the batch's plan."""
    version = spec.versions.get((stage, shard.number))
    if version is None:
        dictionary = Dictionary()
        state = ShardState(Graph(spec.plan, dictionary, shard), dictionary)
        state.open(stage)
        return state
    kept = _KEPT.take((spec.folder.uri, stage, shard.number), version.token)
    if kept is None:
        return read_state(spec.folder, version, spec.plan, stage, shard)
    if kept.graph.plan.version != spec.plan_version:
        kept.fit(Graph(spec.plan, kept.dictionary, shard), stage)
    return kept


def read_state(folder: Folder, version: ShardVersion, plan: RunningPlan, stage: int, shard: Shard) -> ShardState:
    """What a manifest names; parts that the plan has no more are left out."""
    manifest, changed = read_manifest(folder, version)
    contents = read_contents(folder, manifest)
    dictionary = read_dictionary(contents)
    state = ShardState(Graph(plan, dictionary, shard), dictionary, manifest=manifest, tables_changed=changed)
    state.open(stage)
    for part, holder in state.parts(stage).items():
        holder.restore(_pieces(part, contents, dictionary))
    for name in state.tables:
        versioned = f"table/{name}/{changed}"
        if versioned in contents:
            state.tables[name] = piece_from_bytes(contents[versioned], dictionary)
    return state


def read_manifest(folder: Folder, version: ShardVersion) -> tuple[dict[str, Address], int]:
    hint = "restore the checkpoint from a copy, or start again with an empty one"
    try:
        content = folder.read(version.manifest)
    except OSError as error:
        raise CheckpointError(f"{version.manifest} of the checkpoint cannot be read: {error}", hint) from None
    if zlib.crc32(content) != version.checksum:
        raise CheckpointError(f"{version.manifest} of the checkpoint is damaged", hint)
    _, changed, manifest = pickle.loads(content)
    return manifest, changed


def read_dictionary(contents: Mapping[str, bytes]) -> Dictionary:
    dictionary = Dictionary()
    for name, content in contents.items():
        if name.startswith("dictionary/"):
            dictionary.add(pa.ipc.open_stream(content).read_all()["strings"].combine_chunks())
    return dictionary


def _pieces(part: str, contents: Mapping[str, bytes], dictionary: Dictionary) -> dict[str, Piece]:
    prefix = f"{part}/"
    read = partial(piece_from_bytes, dictionary=dictionary)
    return {name[len(prefix) :]: read(content) for name, content in contents.items() if name.startswith(prefix)}


def read_answer(folder: Folder, version: ShardVersion, query: str, types: Sequence[Type]) -> Batch:
    """The changes that make up the answer of a query on a shard."""
    manifest, _ = read_manifest(folder, version)
    prefix = f"answer/{query}/"
    wanted = {n: a for n, a in manifest.items() if n.startswith((prefix, "dictionary/"))}
    contents = read_contents(folder, wanted)
    dictionary = read_dictionary(contents)
    answer = KeptAnswer()
    answer.restore(_pieces(prefix[:-1], contents, dictionary))
    return answer.rows(empty(types, dictionary))


class _Kept:
    """States in a worker's memory, the least recently used thrown out first."""

    def __init__(self) -> None:
        self._states: OrderedDict[tuple[str, int, int], tuple[str, ShardState]] = OrderedDict()

    def take(self, key: tuple[str, int, int], token: str) -> ShardState | None:
        """Out of the memory; None when it is not this very state that is kept."""
        known, state = self._states.pop(key, (None, None))
        return state if known == token else None

    def put(self, key: tuple[str, int, int], token: str, state: ShardState) -> None:
        self._states[key] = token, state
        while len(self._states) > 1 and sum(_size(kept) for _, kept in self._states.values()) > KEPT_BYTES:
            self._states.popitem(last=False)


def _size(state: ShardState) -> int:
    return sum(address.length for address in state.manifest.values())


_KEPT = _Kept()
