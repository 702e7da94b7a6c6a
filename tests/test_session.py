"""A session applies every kind of statement, and plans a query once."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from windrow.cql import Statement
from windrow.optimizer import Optimized, optimize
from windrow.plan.nodes import Node
from windrow.session import APPLIED, Session


def test_every_kind_of_statement_is_applied() -> None:
    assert set(APPLIED) == set(get_args(Statement))


def test_a_query_that_is_explained_is_optimized_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """And again when something has been measured."""
    asked: list[Node] = []

    def counted(plan: Node, *given: Any, **named: Any) -> Optimized:
        asked.append(plan)
        return optimize(plan, *given, **named)

    monkeypatch.setattr("windrow.session.optimize", counted)
    session = Session()
    session.execute("CREATE STREAM s (ts TIMESTAMP, a INT) TIMESTAMP BY ts")
    session.explain("CREATE QUERY q AS SELECT a FROM s [RANGE 1 MINUTE]; CREATE QUERY r AS SELECT a FROM s [ROWS 3]")
    assert len(asked) == 2
    plan = asked[0]
    session.catalog.record_statistics("s", 10.0)
    session.explain_query("q", plan)
    assert len(asked) > 2
