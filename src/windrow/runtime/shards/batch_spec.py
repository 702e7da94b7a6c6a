"""The plan of one micro-batch: all that decides what it computes, also which rows. Logged before the batch runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from windrow.cql import TableChange
from windrow.plan.user_aggregate import Own
from windrow.runtime.progress import Progress
from windrow.runtime.shards.running_plan import RunningPlan
from windrow.runtime.shards.sources.reads import Read
from windrow.runtime.shards.storage.codec import decoded, encoded
from windrow.runtime.shards.storage.files.folder import Folder
from windrow.runtime.shards.storage.own_functions import aggregate_from_bytes, aggregate_to_bytes

_PLANS = 8  # that are at hand: of every engine in a process the present one


class ShardVersion(NamedTuple):
    """Which state of a shard a batch starts from: a name for what is in memory, and where it is on disk."""

    token: str
    manifest: str
    checksum: int


class FinalRefreshes(NamedTuple):
    """The refreshes that are left when the sources of a query have ended: from its watermark to the last change."""

    begin: int
    last_change: int


@dataclass(frozen=True)
class BatchSpec:
    number: int
    folder: Folder
    plan_content: bytes
    plan_version: int
    progress: Progress  # before the batch; heartbeats and ends are in it
    arrival: int  # the time of rows that have none of their own
    changes: tuple[TableChange, ...] = ()
    tables_created: tuple[str, ...] = ()
    versions: Mapping[tuple[int, int], ShardVersion] = field(default_factory=dict)  # by stage and shard
    final_refreshes: Mapping[str, FinalRefreshes] = field(default_factory=dict)  # by query
    closed_files: tuple[str, ...] = ()  # queries whose files are not written: nothing more is kept for their sinks
    reads: tuple[Read, ...] = ()  # of the sources that the driver reads itself
    delivered: Mapping[str, int] = field(default_factory=dict)  # micro-batches of streams that the host brings

    @property
    def plan(self) -> RunningPlan:
        return plan_from_bytes(self.plan_content)

    @property
    def shards_before(self) -> int:
        """How many shards there were at the last commit; 0 before the first one."""
        return max((number + 1 for _, number in self.versions), default=0)


def plan_to_bytes(plan: RunningPlan, aggregates: Mapping[str, Own]) -> bytes:
    """For workers, with the functions of the user's own beside it."""
    return encoded((encoded(plan), {name: aggregate_to_bytes(own) for name, own in aggregates.items()}))


@lru_cache(_PLANS)
def plan_from_bytes(content: bytes) -> RunningPlan:
    written, functions = decoded(content)
    plan: RunningPlan = decoded(written, {name: aggregate_from_bytes(own) for name, own in functions.items()})
    return plan
