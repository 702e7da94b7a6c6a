"""What a shard server does: it routes rows and steps shards, with the state of its shards in memory."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import replace

import pyarrow as pa

from windrow.runtime.shards.batch_spec import BatchSpec
from windrow.runtime.shards.serving.arrow_streams import rows_from, rows_to
from windrow.runtime.shards.serving.client import ROUTE
from windrow.runtime.shards.serving.server_memory import give_back
from windrow.runtime.shards.storage.codec import decoded
from windrow.runtime.shards.storage.shard_state import STATES
from windrow.runtime.shards.tasks import messages
from windrow.runtime.shards.tasks.router import route
from windrow.runtime.shards.tasks.shard import step

_PLANS = 8  # of all engines that run here: the present one of each, and the one before it


class Handling:
    """One thing at a time: shards of a server share their dictionaries' caches and compiled code, and the core."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._plans: OrderedDict[str, bytes] = OrderedDict()

    def has_plan(self, key: str) -> bool:
        return key in self._plans

    def add_plan(self, key: str, content: bytes) -> None:
        self._plans[key] = content
        while len(self._plans) > _PLANS:
            self._plans.popitem(last=False)

    def forget(self, checkpoint: str) -> None:
        with self.lock:
            STATES.forget(checkpoint)

    def answer(self, what: bytes, stage: int, plan_key: str, spec: memoryview, rows: memoryview) -> pa.Buffer:
        try:
            return self._answered(what, stage, plan_key, spec, rows)
        finally:
            give_back()

    def _answered(self, what: bytes, stage: int, plan_key: str, spec: memoryview, rows: memoryview) -> pa.Buffer:
        self._plans.move_to_end(plan_key)
        batch: BatchSpec = replace(decoded(spec), plan_content=self._plans[plan_key])
        received = rows_from(rows)
        if what == ROUTE:
            return rows_to(pa.Table.from_batches(route(batch, received.to_batches()), messages.ARROW))
        return rows_to(step(batch, stage, received))
