"""The state of a shard made of those of another number of shards: a one-time exchange through the checkpoint.

What operators keep is told as rows of their inputs (`operators/state_rows`), and every shard takes the rows that belong
to it, wherever they were. What is on one shard stays on the first, what is everywhere is taken from there. Operators
that cannot be told as rows are left out, and filled from those below them as if they were new.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from windrow.batch import Batch, Dictionary, concat, empty
from windrow.batch.arrays import Bools
from windrow.batch.shards import Shard, shard_of
from windrow.batch.transport import from_bytes, to_bytes
from windrow.operators.groups.group_by import GroupBy
from windrow.operators.state_rows import Kept, kept, remade
from windrow.physical.expressions import ExpressionCompiler
from windrow.physical.physical_node import PhysicalNode, source_types
from windrow.plan.nodes import Node
from windrow.plan.strategy import Strategy
from windrow.runtime.shards.batch_spec import BatchSpec
from windrow.runtime.shards.graph import Graph
from windrow.runtime.shards.plans.number_of_shards import is_copied
from windrow.runtime.shards.storage.manifests import StateManifest
from windrow.runtime.shards.storage.shard_state import ShardState, read_state
from windrow.runtime.stepping import no_rows
from windrow.sharing.exchanges import is_on_one_shard, place_of
from windrow.types import Type


def exchanged_state(spec: BatchSpec, stage: int, shard: Shard) -> ShardState:
    """What a shard has of what the shards of the last commit had."""
    return _ExchangedState(spec, stage, shard).state()


class _ExchangedState:
    def __init__(self, spec: BatchSpec, stage: int, shard: Shard) -> None:
        self._progress, self._stage, self._shard = spec.progress, stage, shard
        count = spec.shards_before
        plan = replace(spec.plan, shards=count)
        versions = (spec.versions[stage, number] for number in range(count))
        self._before = [
            read_state(spec.folder, version, plan, stage, Shard(number, count))
            for number, version in enumerate(versions)
        ]
        first = self._before[0]
        self._dictionary = first.dictionary
        self._state = ShardState(Graph(spec.plan, self._dictionary, shard), self._dictionary)
        self._state.open(stage)
        self._state.tables, self._state.tables_changed = first.tables, first.tables_changed
        self._parts: set[str] = {f"table/{name}" for name in first.tables}

    def state(self) -> ShardState:
        self._move_rows()
        for name, node in self._state.graph.states(self._stage).items():
            olds = [before.graph.states(self._stage)[name] for before in self._before]
            self._move_held(name, node, olds)
            if f"node/{name}" in self._before[0].manifest.parts and self._is_moved(node, olds):
                self._parts.add(f"node/{name}")
        self._state.manifest = self._manifest()
        return self._state

    def _manifest(self) -> StateManifest:
        """As if what is moved had been written: of no piece of it, in bundles that nobody needs after this batch."""
        mine = self._before[self._shard.number :: self._shard.count]
        bundles = {bundle: length for before in mine for bundle, length in before.manifest.bundles.items()}
        return StateManifest(self._before[0].manifest.queries, frozenset(self._parts), bundles=bundles)

    def _move_rows(self) -> None:
        """Rows that wait to be final, and answers."""
        sources = self._state.graph.sources(self._stage)
        for name, inbox in self._state.inboxes.items():
            if f"inbox/{name}" in self._before[0].manifest.parts:
                exchange, like = sources[name].exchange, self._nothing(sources[name].exchange.schema.types)
                rows = [before.inboxes[name].rows(like.slice(0, 0)) for before in self._before]
                inbox.put(self._mine(rows, exchange, Strategy.UPA, like))
                self._parts.add(f"inbox/{name}")
        for output in self._state.graph.at_stage(self._stage):
            query = output.query
            if query is not None and f"answer/{query.key}" in self._before[0].manifest.parts:
                like = self._nothing(query.plan.schema.types)
                rows = [before.answers[query.key].rows(like) for before in self._before]
                self._state.answers[query.key].put(self._mine(rows, query.plan, query.strategy, like))
                self._parts.add(f"answer/{query.key}")

    def _move_held(self, name: str, node: PhysicalNode, olds: Sequence[PhysicalNode]) -> None:
        for place, held in node.held.items():
            if f"held/{name}.{place}" in self._before[0].manifest.parts:
                below = node.inputs[place].plan
                like = self._nothing(below.schema.types)
                rows = [old.held[place].rows(like) for old in olds]
                held.put(self._mine(rows, below, Strategy(node.lowered_for), like).sorted_by_time())
                self._parts.add(f"held/{name}.{place}")

    def _is_moved(self, node: PhysicalNode, olds: Sequence[PhysicalNode]) -> bool:
        """Give a node what belongs to it; whether that is possible."""
        if is_copied(node):
            node.state = olds[0].state if not self._is_idle(node) else node.state
            return True
        assert node.operator is not None
        told = [_kept(old, before.dictionary) for old, before in zip(olds, self._before, strict=True)]
        parts = [part for part in told if part is not None]
        if len(parts) < len(told):
            return False
        rows = [self._input(node, place, [part[place] for part in parts]) for place in range(len(parts[0]))]
        assert node.streams is not None, node
        node.state = remade(node.operator, rows, self._progress.watermark_of(node.streams))
        return True

    def _is_idle(self, node: PhysicalNode) -> bool:
        return bool(self._shard.number) and is_on_one_shard(node.plan)

    def _input(self, node: PhysicalNode, place: int, rows: Sequence[Batch]) -> Batch:
        """The rows of an input that a node keeps; what is everywhere was kept by all."""
        below, strategy = input_plan(node, place), Strategy(node.lowered_for)
        if place_of(below, strategy).everywhere:
            return rows[0].sorted_by_time()
        return self._mine(rows, below, strategy, rows[0].slice(0, 0)).sorted_by_time()

    def _mine(self, rows: Sequence[Batch], plan: Node, strategy: Strategy, like: Batch) -> Batch:
        """The rows of a plan that belong to this shard, under one dictionary."""
        parts = [like]
        for part in rows:
            own = part.take(self._own(part, plan, strategy)) if len(part) else part
            if len(own):
                parts.append(from_bytes(to_bytes(own), own.types, self._dictionary))
        return concat(parts)

    def _own(self, rows: Batch, plan: Node, strategy: Strategy) -> Bools:
        names = {name: ordinal for ordinal, name in enumerate(plan.schema.names)}
        dictionaries = (column.dictionary for column in rows.columns if column.dictionary is not None)
        compiler = ExpressionCompiler(names, next(dictionaries, self._dictionary))
        options = place_of(plan, strategy).options
        keys = [compiler.column(key)(rows) for key in (options[0] if options else plan.schema.columns)]
        return np.asarray(shard_of(keys, len(rows), self._shard.count) == self._shard.number)

    def _nothing(self, types: Sequence[Type]) -> Batch:
        return empty(types, self._dictionary)


def _kept(node: PhysicalNode, dictionary: Dictionary) -> Kept | None:
    like = [no_rows(below, lambda source: empty(source_types(source), dictionary)) for below in node.inputs]
    return kept(node.operator, node.state, like)


def input_plan(node: PhysicalNode, place: int) -> Node:
    """By what the rows of an input that a node keeps are placed: groups by their own keys, which come first."""
    return node.plan if isinstance(node.operator, GroupBy) else node.inputs[place].plan
