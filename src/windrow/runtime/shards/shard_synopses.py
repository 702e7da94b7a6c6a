"""Synopses of shards, for whoever looks something up: read from the checkpoint, at most once a micro-batch.

Shards write the same for all forms of a synopsis, so the form is that of the reader: reading back is what an element
costs here, and the choice is looked at again as questions come (`rechoosing`).
"""

from __future__ import annotations

from windrow.batch import Dictionary
from windrow.batch.shards import Shard
from windrow.physical.lower import Lowering
from windrow.plan.running_nodes import GroupSynopsis
from windrow.runtime.lookups import rechoosing
from windrow.runtime.lookups.maintained import MaintainedSynopsis, maintained_by
from windrow.runtime.lookups.rechoosing import Rechoosing, rechoosing_of
from windrow.runtime.shards.running_plan import RunningPlan, RunningQuery
from windrow.runtime.shards.storage.checkpoint import Commit
from windrow.runtime.shards.storage.files.folder import Folder
from windrow.runtime.shards.storage.shard_state import read_synopsis

_MOST = 16  # synopses in memory for the next question


class ShardSynopses:
    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._batch = -1
        self._read: dict[tuple[GroupSynopsis, int], list[MaintainedSynopsis]] = {}
        self._forms: dict[tuple[GroupSynopsis, int], Rechoosing] = {}

    def of(
        self, query: RunningQuery, plan: RunningPlan, last: Commit | None, memory: float
    ) -> list[MaintainedSynopsis]:
        """What the shards hold for a query, of which so many bytes may be in memory; without keys one has it all."""
        synopsis = query.plan
        assert isinstance(synopsis, GroupSynopsis), query
        if last is None or all(running.statement != query.statement for running in plan.queries):
            return [maintained_by(Lowering(Dictionary()).lower(synopsis))]
        if last.number != self._batch:
            for key in list(self._read):
                self._reconsider(key, memory)
            running = {(other.plan, other.start) for other in plan.queries}
            self._forms = {key: form for key, form in self._forms.items() if key in running}
            self._batch, self._read = last.number, {}
        key = (synopsis, query.start)
        if sum(state.use.lookups for _, state in self._read.get(key, ())) >= rechoosing.BETWEEN_POLLS:
            self._reconsider(key, memory)
        if key not in self._read:
            if len(self._read) >= _MOST:
                self._read.pop(next(iter(self._read)))
            form = self.form_of(query)
            self._read[key] = [
                read_synopsis(self._folder, version, plan, query, form, Shard(number, plan.shards))
                for (stage, number), version in last.versions.items()
                if stage == query.stage and (synopsis.keys or number == 0)
            ]
        return self._read[key]

    def form_of(self, query: RunningQuery) -> GroupSynopsis:
        """The synopsis of a query in the form that questions find it in."""
        assert isinstance(query.plan, GroupSynopsis), query
        return self._forms.setdefault((query.plan, query.start), rechoosing_of(query.plan)).plan

    def _reconsider(self, key: tuple[GroupSynopsis, int], memory: float) -> None:
        """What has another form from now on is read again."""
        states = [state for _, state in self._read.get(key, ())]
        form = self._forms.get(key)
        if form is not None and form.poll(states, memory):
            del self._read[key]
