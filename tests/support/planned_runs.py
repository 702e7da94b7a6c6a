"""Plans of the same query, run side by side in one engine exactly as they are handed in."""

from __future__ import annotations

from collections.abc import Sequence

from support.generated_streams import FILL
from support.own_aggregates import OWN
from support.plans import DECLARATIONS
from windrow.plan.nodes import Node
from windrow.runtime.local import LocalEngine, LocalQuery


def planned_engine() -> LocalEngine:
    """An engine with the streams and filled tables of `plans`."""
    engine = LocalEngine(aggregates=OWN)
    engine.sql(DECLARATIONS)
    engine.sql(FILL)
    return engine


def run_plans(engine: LocalEngine, text: str, plans: Sequence[Node]) -> list[LocalQuery]:
    """A query for each of the plans; `text` is what all of them mean."""
    waiting = iter(plans)
    engine.session.optimized = lambda bound: next(waiting)
    return [engine.query(text) for _ in plans]
