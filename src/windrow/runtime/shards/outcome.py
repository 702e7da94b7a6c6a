"""What a micro-batch came to: the record that is committed, put together from what its shards say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from windrow.runtime.progress import News, Progress
from windrow.runtime.shards.batch_spec import BatchSpec, ShardVersion
from windrow.runtime.shards.messages import Done
from windrow.runtime.shards.running import RunningPlan
from windrow.runtime.shards.storage.bundles import Address
from windrow.runtime.shards.storage.checkpoint import Commit
from windrow.units import BEGINNING, FOREVER


def outcome(
    spec: BatchSpec, plan: RunningPlan, statements: int, source: int, done: Sequence[Done], before: Commit | None
) -> Commit:
    """`before` is the commit of the batch before; `source` and `statements` are how far this one has come."""
    expected = plan.stages * plan.shards
    assert len(done) == expected, f"{len(done)} of {expected} shards answered"
    first = done[0]
    assert all(one.progress == first.progress for one in done), "shards disagree about the watermark"
    contradicted = ({name: _rejected(of) for name, of in one.rejected.items()} for one in done)
    return Commit(
        spec.number,
        source,
        spec.plan_version,
        statements,
        first.progress.told(contradicted),
        _told_until(first.progress, before),
        {query.key: max(one.last_changes.get(query.key, BEGINNING) for one in done) for query in plan.queries},
        {(one.stage, one.shard): ShardVersion(one.token, *one.manifest) for one in done},
        _gathered(one.changes for one in done),
        _gathered(one.told for one in done),
        {name: address for one in done for name, address in one.aside.items()},
        [name for one in done for name in one.garbage],
        [metric for one in done for metric in one.metrics],
        sum(one.state_bytes for one in done),
        ended=spec.telling is not None,
        waiting=sum(one.waiting for one in done),
        kept=sum(one.kept for one in done),
    )


def _rejected(reasons: Mapping[str, int]) -> News:
    """Rows that were taken, and rejected when their time was final."""
    return News(rows=-sum(reasons.values()), rejected=reasons)


def _told_until(progress: Progress, before: Commit | None) -> int:
    """Refreshes after the last row wait until it is known that it was the last."""
    if progress.watermark != FOREVER:
        return progress.watermark
    return BEGINNING if before is None else before.told_until


def _gathered(parts: Iterable[Mapping[str, Address]]) -> dict[str, list[Address]]:
    found: dict[str, list[Address]] = {}
    for part in parts:
        for query, address in part.items():
            found.setdefault(query, []).append(address)
    return found
