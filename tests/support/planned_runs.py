"""Plans of the same query, run side by side in one engine exactly as they are handed in."""

from __future__ import annotations

from collections.abc import Sequence

from support.generated_streams import FILL
from support.own_aggregates import OWN
from support.plans import DECLARATIONS
from windrow.plan.nodes import Node
from windrow.runtime.local import LocalEngine, LocalQuery
from windrow.session import Session


class PlannedSession(Session):
    """A session that runs the plans it is handed, one after the other."""

    waiting: Sequence[Node] = ()

    def optimized(self, plan: Node) -> Node:
        first, *self.waiting = self.waiting
        return first


def planned_engine() -> LocalEngine:
    """An engine with the streams and filled tables of `plans`."""
    engine = LocalEngine()
    engine.session = PlannedSession(aggregates=OWN)
    engine.sql(DECLARATIONS)
    engine.sql(FILL)
    return engine


def run_plans(engine: LocalEngine, text: str, plans: Sequence[Node]) -> list[LocalQuery]:
    """A query for each of the plans; `text` is what all of them mean."""
    assert isinstance(engine.session, PlannedSession), engine.session
    engine.session.waiting = plans
    return [engine.query(text) for _ in plans]
