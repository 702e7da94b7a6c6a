"""What a shard remembers at a stage, how it is written, and how it is read back.

Every batch writes one bundle with the pieces that are new and one manifest. A state is read back only under a plan
that it fits: a query that was running when it was written finds all of its parts, or there is an error. When the
dictionary has doubled, the strings that the state can no longer refer to are left out of it, and the next batch reads
the state back.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, takewhile
from typing import NamedTuple

import pyarrow as pa

from windrow.batch import Batch, Dictionary, empty
from windrow.batch.shards import Shard
from windrow.errors import CheckpointError
from windrow.physical.lower import Lowering
from windrow.plan.nodes import Stream
from windrow.plan.running_nodes import GroupSynopsis
from windrow.runtime.lookups.maintained import MaintainedSynopsis, maintained_by, maintains_synopsis
from windrow.runtime.progress import Progress
from windrow.runtime.readers import Streams
from windrow.runtime.shards.batch_spec import BatchSpec, ShardVersion
from windrow.runtime.shards.graph import Graph, Source
from windrow.runtime.shards.running_plan import RunningPlan, RunningQuery
from windrow.runtime.shards.storage.bundles import (
    Address,
    Content,
    piece_content,
    piece_from_bytes,
    read_contents,
    write_bundle,
)
from windrow.runtime.shards.storage.codec import OTHER_VERSION, table_to_bytes
from windrow.runtime.shards.storage.files.folder import Folder
from windrow.runtime.shards.storage.manifests import (
    Chain,
    StateManifest,
    bundles_of,
    read_chain,
    read_manifest,
    write_manifest,
)
from windrow.runtime.shards.storage.state_cache import StateCache
from windrow.runtime.shards.storage.used_strings import UsedStrings
from windrow.runtime.streams.holding import waiting_in
from windrow.runtime.tables import TableStore
from windrow.state.batches import AnswerChangelog, PendingRows
from windrow.state.closed_keys import ClosedKeys
from windrow.state.snapshot import Part, Piece
from windrow.types import Type


@dataclass
class ShardState:
    """All that a shard remembers at a stage."""

    graph: Graph
    dictionary: Dictionary
    inboxes: dict[str, PendingRows] = field(default_factory=dict)
    closed: dict[str, ClosedKeys] = field(default_factory=dict)  # of inboxes of punctuated streams
    answers: dict[str, AnswerChangelog] = field(default_factory=dict)
    tables: dict[str, TableStore] = field(default_factory=dict)
    tables_changed: int = 0
    manifest: StateManifest = field(default_factory=StateManifest)  # what was written last
    chain: Chain = ()  # the files that it is in
    sizes: dict[str, int] = field(default_factory=dict)  # of its parts, in bytes
    reached: Mapping[str, int] = field(default_factory=dict)  # how far streams were when it was written

    @property
    def size(self) -> int:
        return self.manifest.size

    def parts(self, stage: int) -> dict[str, Part]:
        """Everything that has a snapshot, by name."""
        named: dict[str, Part] = {f"inbox/{name}": inbox for name, inbox in self.inboxes.items()}
        named |= {f"closed/{name}": closed for name, closed in self.closed.items()}
        named |= {f"answer/{name}": answer for name, answer in self.answers.items()}
        states = self.graph.states(stage)
        named |= {f"held/{name}.{place}": held for name, node in states.items() for place, held in node.held.items()}
        return named | {f"node/{name}": node.state for name, node in states.items() if node.state is not None}

    def is_not_after(self, progress: Progress) -> bool:
        """Whether it has let go of nothing that is still alive then."""
        streams = progress.streams
        return all(name in streams and final <= streams[name].final for name, final in self.reached.items())

    def pieces(self, stage: int, manifest: StateManifest) -> dict[str, Piece]:
        """Those that another manifest has at the very address where this state's own has them."""
        same = {name for name, address in manifest.pieces.items() if self.manifest.pieces.get(name) == address}
        others = self.manifest.pieces.keys() - same
        found: dict[str, Piece] = {}
        for part, holder in self.parts(stage).items():
            snapshot = holder.snapshot(_Known(part, others))
            found |= {f"{part}/{piece}": content for piece, content in snapshot.pieces.items()}
        return {name: piece for name, piece in found.items() if name in same}

    def held(self, stage: int, progress: Progress) -> dict[Streams, int]:
        """What waits for other streams than its own: at operators, and where rows of several streams arrive."""
        found = waiting_in(self.graph.states(stage).values())
        for name, source in self.graph.sources(stage).items():
            if len(source.streams) > 1:
                furthest = max(progress.watermark_of(frozenset((stream,))) for stream in source.streams)
                count = self.inboxes[name].count_before(furthest)
                found[source.streams] = found.get(source.streams, 0) + count
        return {streams: count for streams, count in found.items() if count}

    def held_rows(self, stage: int) -> int:
        """What operators hold back of inputs that are ahead."""
        return sum(waiting_in(self.graph.states(stage).values()).values())

    def node_sizes(self, stage: int) -> dict[int, int]:
        """How many bytes the states of operators are as last written, by the ids of their nodes."""
        return {id(node): self.sizes.get(f"node/{name}", 0) for name, node in self.graph.states(stage).items()}

    def fit(self, graph: Graph, stage: int) -> None:
        """Go on under another version of the plan: what both have keeps its state."""
        before, now = self.graph.states(stage), graph.states(stage)
        for name in before.keys() & now.keys():
            now[name].state, now[name].held = before[name].state, before[name].held
        self.graph = graph
        self.open(stage)

    def open(self, stage: int) -> None:
        """Make room for what the graph has, and drop what it has no more."""
        plan = self.graph.plan
        queries = [query.key for query in plan.queries if query.stage == stage]
        sources = self.graph.sources(stage)
        self.inboxes = {name: self.inboxes.get(name, PendingRows()) for name in sources}
        fresh = {name: keys for name, source in sources.items() if (keys := self._closed_keys(source)) is not None}
        self.closed = {name: self.closed.get(name, keys) for name, keys in fresh.items()}
        self.answers = {name: self.answers.get(name, AnswerChangelog()) for name in queries}
        self.tables = {
            name: self.tables.get(name, TableStore(entry, self.dictionary)) for name, entry in plan.tables.items()
        }

    def _closed_keys(self, source: Source) -> ClosedKeys | None:
        stream = source.exchange.input
        if not isinstance(stream, Stream) or not stream.punctuated:
            return None
        places = [[field.name for field in stream.columns].index(name) for name in stream.punctuated]
        return ClosedKeys(places, empty([stream.columns[place].type for place in places], self.dictionary))


STATES = StateCache[ShardState]()  # of this worker
FEWEST_STRINGS = 1 << 16  # below this, strings that nobody uses any more are not looked for


def state_of(spec: BatchSpec, stage: int, shard: Shard) -> ShardState:
    """From this worker's memory, or from the checkpoint, or fresh; fit for the batch's plan."""
    version = spec.versions.get((stage, shard.number))
    if version is None:
        return _fresh(spec, stage, shard)
    cached = STATES.take((spec.folder.place, stage, shard.number))
    if cached is None or cached.token != version.token:
        before = cached.state if cached is not None and cached.batch < spec.number else None
        is_earlier = before is not None and before.is_not_after(spec.progress)
        return read_state(spec.folder, version, spec.plan, stage, shard, before if is_earlier else None)
    state = cached.state
    if state.graph.plan.version != spec.plan_version:
        state.fit(Graph(spec.plan, state.dictionary, shard), stage)
    return state


def _fresh(spec: BatchSpec, stage: int, shard: Shard) -> ShardState:
    """A stage that was not there before. It has the tables that the first one has."""
    first = spec.versions.get((1, shard.number), spec.versions.get((1, 0)))
    manifest = StateManifest() if first is None else read_manifest(spec.folder, first)
    contents = read_contents(spec.folder, _named(manifest, "table/", "dictionary/"))
    dictionary = _dictionary(contents)
    state = ShardState(Graph(spec.plan, dictionary, shard), dictionary, tables_changed=manifest.tables_changed)
    state.open(stage)
    _restore_tables(state, contents)
    return state


def read_state(
    folder: Folder,
    version: ShardVersion,
    plan: RunningPlan,
    stage: int,
    shard: Shard,
    before: ShardState | None = None,
) -> ShardState:
    """What a manifest names; parts that the plan has no more are left out, those of new queries begin empty.

    What `before` has, another version of the same state, is not read: it is used up.
    """
    manifest, chain = read_chain(folder, version)
    dictionary = _dictionary(read_contents(folder, _named(manifest, "dictionary/")))
    at_hand: Mapping[str, Piece] = {}
    if before is not None and before.dictionary.follow(dictionary):
        dictionary, at_hand = before.dictionary, before.pieces(stage, manifest)
    missing = (name for name in manifest.pieces if name not in at_hand and not name.startswith("dictionary/"))
    contents = read_contents(folder, {name: manifest.pieces[name] for name in missing})
    graph = Graph(plan, dictionary, shard)
    state = ShardState(graph, dictionary, tables_changed=manifest.tables_changed, manifest=manifest, chain=chain)
    state.open(stage)
    _check_fit(manifest, version, state, stage, shard)
    names = _by_part(manifest.pieces, manifest.parts)
    for part, holder in state.parts(stage).items():
        if part in manifest.parts:
            found = {name: at_hand.get(name) or piece_from_bytes(contents[name], dictionary) for name in names[part]}
            holder.restore({name[len(part) + 1 :]: piece for name, piece in found.items()})
    _restore_tables(state, contents)
    return state


def _check_fit(manifest: StateManifest, version: ShardVersion, state: ShardState, stage: int, shard: Shard) -> None:
    """The queries that ran when the state was written have to find all that they remembered."""
    plan = state.graph.plan
    before = tuple(query for query in plan.queries if query.key in manifest.queries)
    if len(before) < len(plan.queries):
        state = ShardState(Graph(replace(plan, queries=before), Dictionary(), shard), Dictionary())
        state.open(stage)
    missing = sorted(state.parts(stage).keys() - manifest.parts)
    if missing:
        raise CheckpointError(
            f"{version.manifest} of the checkpoint does not fit the running plan: it has no {missing[0]}",
            OTHER_VERSION,
        )


def _restore_tables(state: ShardState, contents: Mapping[str, bytes]) -> None:
    for name in state.tables:
        versioned = f"table/{name}/{state.tables_changed}"
        if versioned in contents:
            state.tables[name] = piece_from_bytes(contents[versioned], state.dictionary)


def read_answer(folder: Folder, version: ShardVersion, query: str, types: Sequence[Type]) -> Batch:
    """The changes that make up the answer of a query, named by its key, on a shard."""
    manifest = read_manifest(folder, version)
    part = f"answer/{query}"
    contents = read_contents(folder, _named(manifest, f"{part}/", "dictionary/"))
    dictionary = _dictionary(contents)
    answer = AnswerChangelog()
    answer.restore(_pieces(part, contents, dictionary))
    return answer.rows(empty(types, dictionary))


def read_table(folder: Folder, version: ShardVersion, name: str) -> TableStore | None:
    """A table, by its name in lower case, as a shard has it; None before its first batch."""
    manifest = read_manifest(folder, version)
    contents = read_contents(folder, _named(manifest, f"table/{name}/", "dictionary/"))
    content = contents.get(f"table/{name}/{manifest.tables_changed}")
    store: TableStore | None = None if content is None else piece_from_bytes(content, _dictionary(contents))
    return store


def read_synopsis(
    folder: Folder, version: ShardVersion, plan: RunningPlan, query: RunningQuery, form: GroupSynopsis, shard: Shard
) -> MaintainedSynopsis:
    """The synopsis that a query is looked up in, as it is on a shard; empty before its first batch.

    `form` is the one it is read into: shards write the same for all of them.
    """
    manifest = read_manifest(folder, version)
    dictionary = _dictionary(read_contents(folder, _named(manifest, "dictionary/")))
    states = Graph(replace(plan, queries=(query,)), dictionary, shard).states(query.stage)
    part = next(f"node/{name}" for name, node in states.items() if maintains_synopsis(node))
    synopsis = Lowering(dictionary).lower(form)
    if part in manifest.parts:
        assert synopsis.state is not None
        synopsis.state.restore(_pieces(part, read_contents(folder, _named(manifest, f"{part}/")), dictionary))
    return maintained_by(synopsis)


def _named(manifest: StateManifest, *prefixes: str) -> dict[str, Address]:
    return {name: address for name, address in manifest.pieces.items() if name.startswith(prefixes)}


def _by_part(names: Iterable[str], parts: Iterable[str]) -> dict[str, list[str]]:
    """The names of the pieces of each part, in one pass; both may have strokes in them."""
    found: dict[str, list[str]] = {part: [] for part in parts}
    for name in names:
        part = name
        while part and part not in found:
            part = part.rpartition("/")[0]
        if part:
            found[part].append(name)
    return found


def _pieces(part: str, contents: Mapping[str, bytes], dictionary: Dictionary) -> dict[str, Piece]:
    """Of one part, by the names that it gave them."""
    names = _by_part(contents, (part,))[part]
    return {name[len(part) + 1 :]: piece_from_bytes(contents[name], dictionary) for name in names}


def _dictionary(contents: Mapping[str, bytes]) -> Dictionary:
    dictionary = Dictionary()
    for name, content in contents.items():
        if name.startswith("dictionary/"):
            dictionary.add(pa.ipc.open_stream(content).read_all())
    return dictionary


class Saved(NamedTuple):
    manifest: tuple[str, int]  # the file, and its checksum
    garbage: list[str]  # bundles that the manifest names no more, and files of manifests that it needs no more
    as_in_memory: bool  # else the state is to be read back: unused strings have been left out
    written: int  # bytes


class StateNotStored(Exception):
    """What an operator remembers cannot be written down, such as an object of a user's own that cannot be pickled."""

    def __init__(self, node: str, reason: Exception) -> None:
        super().__init__(node)
        self.node, self.reason = node, reason


def save(state: ShardState, folder: Folder, stage: int, named: str) -> Saved:
    """Write the pieces that are new, and the manifest; nothing is written if a state cannot be."""
    before, worth_keeping = state.manifest, state.manifest.well_used()
    due = state.dictionary.strings >= max(FEWEST_STRINGS, 2 * before.strings)
    used = UsedStrings(len(state.dictionary)) if due else None
    pieces_of: dict[str, list[str]] = {}
    contents: dict[str, Content] = {}
    parts = state.parts(stage)
    for part, holder in parts.items():
        try:
            snapshot = holder.snapshot(_Known(part, {} if due else worth_keeping))
        except Exception as error:
            if (node := part.removeprefix("node/")) == part:
                raise
            raise StateNotStored(node, error) from error
        pieces_of[part] = [f"{part}/{piece}" for piece in snapshot.manifest]
        for piece, content in snapshot.pieces.items():
            if used is not None:
                used.see_piece(content)
            if f"{part}/{piece}" not in worth_keeping:
                contents[f"{part}/{piece}"] = piece_content(content)
    for name, store in state.tables.items():
        pieces_of[f"table/{name}"] = [versioned := f"table/{name}/{state.tables_changed}"]
        if used is not None:
            used.see_anything(store)
        if versioned not in worth_keeping:
            contents[versioned] = piece_content(store)
    strings, written_anew = _dictionary_pieces(state.dictionary, worth_keeping, before, used)
    contents |= {name: [content] for name, content in strings.items() if content is not None}
    written = write_bundle(folder, f"pieces/{named}", contents)
    names = (*strings, *chain.from_iterable(pieces_of.values()))
    pieces = {name: written.get(name) or before.pieces[name] for name in names}
    state.sizes = {part: sum(pieces[name].length for name in members) for part, members in pieces_of.items()}
    new = sum(address.length for address in written.values())
    bundles = bundles_of(pieces, {**before.bundles, f"pieces/{named}": new})
    queries = frozenset(query.key for query in state.graph.plan.queries)
    counted = before.strings if used is None else written_anew
    state.manifest = StateManifest(queries, frozenset(parts), state.tables_changed, counted, pieces, bundles)
    files = {file.name for file in state.chain}
    state.chain, length = write_manifest(folder, f"manifests/{named}", state.manifest, before, state.chain)
    garbage = (before.bundles.keys() - bundles.keys()) | (files - {file.name for file in state.chain})
    return Saved(state.chain[-1][:2], sorted(garbage), not due, new + length)


@dataclass(frozen=True)
class _Known:
    """The names of pieces that nobody needs, below one part."""

    part: str
    names: Container[str]

    def __contains__(self, piece: object) -> bool:
        return f"{self.part}/{piece}" in self.names


def _dictionary_pieces(
    dictionary: Dictionary, worth_keeping: Mapping[str, Address], before: StateManifest, used: UsedStrings | None
) -> tuple[dict[str, bytes | None], int]:
    """The strings in the pieces they have, and those added since in one more; and how many strings that is.

    A piece that is not larger than what comes after it is put together with it, so that there are few. A dictionary
    that has doubled is written anew under the next generation: what is used of it.
    """
    stored = [name for name in before.pieces if name.startswith("dictionary/")]
    generation = _range(stored[-1])[0] if stored else 0
    stored = list(takewhile(worth_keeping.__contains__, stored))
    if used is not None:
        stored, generation = [], generation + 1
    first = _range(stored[-1])[2] if stored else 0
    while stored and first < dictionary.strings and 2 * first <= dictionary.strings + _range(stored[-1])[1]:
        first = _range(stored.pop())[1]
    added = dictionary.added_since(first) if used is None else dictionary.used(used.codes)
    pieces: dict[str, bytes | None] = dict.fromkeys(stored)
    last = first + added.num_rows
    if added.num_rows:
        pieces[f"dictionary/{generation}.{first}.{last}"] = table_to_bytes(added)
    return pieces, last


def _range(piece: str) -> tuple[int, int, int]:
    """The generation of a piece of a dictionary, and which of its strings it holds."""
    generation, first, last = map(int, piece.removeprefix("dictionary/").split("."))
    return generation, first, last
