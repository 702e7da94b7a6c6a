"""What a micro-batch came to: the record that is committed, put together from what its shards report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from windrow.runtime.progress import Progress, contradicted
from windrow.runtime.shards.batch_spec import BatchSpec, ShardVersion
from windrow.runtime.shards.running_plan import RunningPlan, RunningQuery
from windrow.runtime.shards.sources.reads import SourcePositions
from windrow.runtime.shards.storage.bundles import Address
from windrow.runtime.shards.storage.checkpoint import Commit
from windrow.runtime.shards.tasks.messages import ReadReport, ShardReport
from windrow.units import BEGINNING, FOREVER


def failed_queries(reports: Sequence[ShardReport | ReadReport]) -> dict[str, str]:
    """By their keys, with what was raised. Of the first stage that failed: later ones lacked its rows."""
    failing = [report for report in reports if isinstance(report, ShardReport) and report.failed]
    first = min((report.stage for report in failing), default=0)
    return {query: why for report in failing if report.stage == first for query, why in report.failed.items()}


def outcome(
    spec: BatchSpec,
    plan: RunningPlan,
    statements: int,
    positions: SourcePositions,
    reports: Sequence[ShardReport],
    before: Commit | None,
) -> Commit:
    """`before` is the commit of the batch before; `positions` and `statements` are how far this one has come."""
    expected = plan.stages * plan.shards
    assert len(reports) == expected, f"{len(reports)} of {expected} shards reported"
    first = reports[0]
    assert all(report.progress == first.progress for report in reports), "shards disagree about the watermark"
    rejected = ({name: contradicted(of) for name, of in report.rejected.items()} for report in reports)
    return Commit(
        spec.number,
        positions,
        spec.plan_version,
        statements,
        first.progress.with_intake(rejected),
        {query.key: _refreshed_until(query, first.progress, before) for query in plan.queries},
        _last_changes(reports),
        {(report.stage, report.shard): ShardVersion(report.token, *report.manifest) for report in reports},
        _gathered(report.emitted for report in reports),
        {name: address for report in reports for name, address in report.side_outputs.items()},
        [name for report in reports for name in report.garbage],
        [metric for report in reports for metric in report.metrics],
        sum(report.state_bytes for report in reports),
        ended=bool(plan.queries) and spec.progress.watermark_of(plan.used_streams) == FOREVER,
        waiting=sum(report.waiting for report in reports),
        held=_summed(report.held for report in reports),
        live=sum(report.live for report in reports),
        unwritten=sorted({query for report in reports for query in report.unwritten}),
        written_bytes=sum(report.written_bytes for report in reports),
    )


def _refreshed_until(query: RunningQuery, progress: Progress, before: Commit | None) -> int:
    """Refreshes after the last row wait until it is known that it was the last."""
    watermark = progress.watermark_of(query.reader.streams)
    if watermark != FOREVER:
        return watermark
    return BEGINNING if before is None else before.refreshed_until.get(query.key, BEGINNING)


def _summed(parts: Iterable[Mapping[frozenset[str], int]]) -> dict[frozenset[str], int]:
    found: dict[frozenset[str], int] = {}
    for part in parts:
        for streams, count in part.items():
            found[streams] = found.get(streams, 0) + count
    return found


def _last_changes(reports: Sequence[ShardReport]) -> dict[str, int]:
    found: dict[str, int] = {}
    for report in reports:
        for query, time in report.last_changes.items():
            found[query] = max(time, found.get(query, time))
    return found


def _gathered(parts: Iterable[Mapping[str, Address]]) -> dict[str, list[Address]]:
    found: dict[str, list[Address]] = {}
    for part in parts:
        for query, address in part.items():
            found.setdefault(query, []).append(address)
    return found
