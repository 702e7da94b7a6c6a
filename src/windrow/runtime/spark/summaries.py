"""Synopses of shards, for whoever looks something up: read from the checkpoint, at most once a micro-batch."""

from __future__ import annotations

from windrow.batch import Dictionary
from windrow.batch.shards import Shard
from windrow.physical.lower import Lowering
from windrow.plan.nodes import KeptGroups
from windrow.runtime.held import Held, held_by
from windrow.runtime.spark.bundles import Folder
from windrow.runtime.spark.checkpoint import Commit
from windrow.runtime.spark.running import RunningPlan, RunningQuery
from windrow.runtime.spark.shard_state import read_summaries

_KEPT = 16  # synopses that are held for the next question


class SummariesOfShards:
    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._batch = -1
        self._held: dict[tuple[KeptGroups, int], list[Held]] = {}

    def of(self, query: RunningQuery, plan: RunningPlan, last: Commit | None) -> list[Held]:
        """What the shards hold for a query; without keys one shard has it all."""
        synopsis = query.plan
        assert isinstance(synopsis, KeptGroups), query
        if last is None or all(one.statement != query.statement for one in plan.queries):
            return [held_by(Lowering(Dictionary()).lower(synopsis))]
        if last.number != self._batch:
            self._batch, self._held = last.number, {}
        key = (synopsis, query.start)
        if key not in self._held:
            if len(self._held) >= _KEPT:
                self._held.pop(next(iter(self._held)))
            self._held[key] = [
                read_summaries(self._folder, version, plan, query, Shard(number, plan.shards))
                for (stage, number), version in last.versions.items()
                if stage == query.stage and (synopsis.keys or number == 0)
            ]
        return self._held[key]
