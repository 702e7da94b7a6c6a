"""What a version of the plan brings that is new at a stage, filled from what was kept before: a one-time exchange.

New operators are filled from those below them on the same shard. Rows that come through an exchange are those alive
where it begins, on all shards: their states at the last commit are read from the checkpoint, and every shard takes
what belongs to it. All of it is a function of the last commit and the plan, so a batch that is run again fills the
same.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from windrow.batch import Batch, concat, empty
from windrow.batch.shards import Shard
from windrow.batch.transport import from_bytes, to_bytes
from windrow.physical.physical_node import PhysicalNode, contents_of, source_types
from windrow.plan.coverage import Covered
from windrow.plan.nodes import Table
from windrow.runtime.filling import Filling
from windrow.runtime.shards.batch_spec import BatchSpec
from windrow.runtime.shards.graph import Output, is_exchanged
from windrow.runtime.shards.storage.shard_state import ShardState, read_state
from windrow.runtime.shards.tasks.emission import since_start
from windrow.runtime.shards.tasks.router import spread
from windrow.sharing.exchanges import is_on_one_shard
from windrow.units import BEGINNING


class StageFilling:
    """Of a stage of a shard, whose state is fit for the plan of the batch but for what is new in it."""

    def __init__(self, spec: BatchSpec, stage: int, shard: Shard, state: ShardState) -> None:
        self._spec, self._stage, self._shard, self.state = spec, stage, shard, state
        self._filling = Filling(spec.progress, self._of_source)
        self._elsewhere: dict[tuple[int, int], StageFilling] = {}
        runs = Covered(defaultdict(lambda: int(BEGINNING)))  # since when is the driver's matter
        for name, node in state.graph.states(stage).items():
            node.covered = runs if f"node/{name}" in state.manifest.parts else None
            for source in (below for below in node.inputs if below.operator is None):
                source.covered = runs

    def fill(self) -> None:
        """New operators, new inboxes, and the answers of new queries as of their start."""
        for output in self.state.graph.at_stage(self._stage):
            if not self._is_idle(output):
                self._fill(output)

    def _fill(self, output: Output) -> None:
        for node in output.nodes():
            if node.covered is None:
                self._filling.fill(node)
        query = output.query
        if query is not None and query.lookup is None and f"answer/{query.key}" not in self.state.manifest.parts:
            self.state.answers[query.key].put(since_start(query, self._filling.alive(output.root)))

    def alive(self, output: Output) -> Batch:
        """What has been sent through an exchange, or would have been, and is alive."""
        if self._is_idle(output):
            return empty(output.root.plan.schema.types, self.state.dictionary)
        self._fill(output)
        return self._filling.alive(output.root)

    def _is_idle(self, output: Output) -> bool:
        """Whether an output is computed on another shard alone."""
        return bool(self._shard.number) and is_on_one_shard(output.root.plan)

    def _of_source(self, source: PhysicalNode, at: int | None) -> Batch:
        """What is alive of the rows of a source; rows as they are read are kept by nobody."""
        if at is not None and isinstance(source.plan, Table) and source.source == contents_of(source.plan.name):
            return self.state.tables[source.plan.name.lower()].until(at).contents_before(at)
        if at is not None and is_exchanged(source):
            output = self.state.graph.outputs[str(source.source)]
            if output.stage:
                return self._brought(output, at)
        return empty(source_types(source), self.state.dictionary)

    def _brought(self, output: Output, at: int) -> Batch:
        """What is alive below an exchange on all shards, as far as it belongs to this one.

        What is not final for its readers yet waits: in an inbox that was there before, or from now on.
        """
        assert output.exchange is not None
        parts = [empty(output.exchange.schema.types, self.state.dictionary)]
        for stage, number in self._spec.versions:
            if stage == output.stage:
                parts.append(self._part(output, number))
        rows = concat(parts)
        if f"inbox/{output.name}" not in self.state.manifest.parts:
            self.state.inboxes[output.name].put(rows.take(rows.ts >= at))
        return rows.take(rows.ts < at)

    def _part(self, output: Output, number: int) -> Batch:
        """From one shard."""
        there = self._at(output.stage, number)
        own = there.state.graph.outputs[output.name]
        spread_out = dict(spread(own, there.alive(own), there.state.dictionary, self._shard.count))
        mine, types = spread_out.get(self._shard.number), own.root.plan.schema.types
        return empty(types) if mine is None else from_bytes(to_bytes(mine), types, self.state.dictionary)

    def _at(self, stage: int, number: int) -> StageFilling:
        """The same for a shard at an earlier stage, as of the last commit."""
        if (stage, number) not in self._elsewhere:
            spec, shard = self._spec, Shard(number, self._spec.shards_before)
            plan = replace(spec.plan, shards=shard.count)
            state = read_state(spec.folder, spec.versions[stage, number], plan, stage, shard)
            self._elsewhere[stage, number] = StageFilling(spec, stage, shard, state)
        return self._elsewhere[stage, number]
