"""Wrapping a micro-batch up for the servers of its shards."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import lru_cache

from windrow.runtime.shards.batch_spec import BatchSpec
from windrow.runtime.shards.serving.channel import SentBatch
from windrow.runtime.shards.storage.codec import encoded
from windrow.runtime.shards.tasks import messages


def sent_batch(spec: BatchSpec, tasks: int) -> SentBatch:
    """`tasks` is how many read side by side, at most."""
    sent = encoded(replace(spec, plan_content=b""))
    slots = tuple(messages.slots(spec.plan.shards))
    return SentBatch(sent, _key(spec.plan_content), slots, spec.plan.stages, max(1, min(len(spec.reads), tasks)))


@lru_cache(8)
def _key(plan: bytes) -> str:
    return hashlib.sha256(plan).hexdigest()[:32]
