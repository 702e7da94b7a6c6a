"""What `engine.status()` shows of an engine on shards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from windrow.catalog.own_functions import failure_counts
from windrow.runtime.health import Failing, as_mappings
from windrow.runtime.shards.accounting import Accounts
from windrow.runtime.shards.storage.checkpoint import Commit
from windrow.session import Session


def status(
    session: Session,
    started: Mapping[str, int | None],
    last: Commit | None,
    accounts: Accounts,
    failing: Sequence[Failing],
) -> dict[str, Any]:
    """Of queries, state, and the last micro-batch."""
    return {
        "queries": {name: {"started": at} for name, at in started.items()},
        "aggregates": failure_counts(session.catalog),
        "batch": None if last is None else last.number,
        "seconds": 0.0 if last is None else last.seconds,
        "state_rows": 0 if last is None else sum(metric.state_rows for metric in last.metrics),
        "state_bytes": 0 if last is None else last.state_bytes,
        "written_bytes": 0 if last is None else last.written_bytes,
        "operators": [] if last is None else [metric._asdict() for metric in last.metrics],
        "batch_seconds": list(accounts.batch_seconds),
        "most_state_bytes": accounts.most_state_bytes,
        "totals": accounts.totals(),
        "failing": as_mappings(failing),
    }
