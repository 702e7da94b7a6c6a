"""What tests of plans share: a catalog with streams and tables, and a way to find nodes."""

from __future__ import annotations

from typing import TypeVar

from support.own_aggregates import OWN
from windrow.plan.analysis.update_pattern import update_pattern
from windrow.plan.nodes import Node
from windrow.plan.pattern import Pattern
from windrow.session import Session

Kind = TypeVar("Kind", bound=Node)

DECLARATIONS = """
CREATE STREAM s (ts TIMESTAMP, a BIGINT, b STRING, v DOUBLE) TIMESTAMP BY ts;
CREATE STREAM t (ts TIMESTAMP, a BIGINT, b STRING, v DOUBLE) TIMESTAMP BY ts, a;
CREATE STREAM u (ts TIMESTAMP, a BIGINT, b STRING, v DOUBLE) TIMESTAMP BY ts;
CREATE STREAM readings (ts TIMESTAMP, a BIGINT, b STRING, v DOUBLE, ttl INTERVAL) TIMESTAMP BY ts LIFETIME BY ttl;
CREATE TABLE r (a BIGINT, name STRING, PRIMARY KEY (a));
CREATE TABLE n (a BIGINT, name STRING, PRIMARY KEY (a)) NON RETROACTIVE;
"""


def session() -> Session:
    opened = Session(aggregates=OWN)
    opened.execute(DECLARATIONS)
    return opened


def planned(query: str) -> Node:
    """The optimized plan of a query over the streams and tables above."""
    return session().plan(query)


def written(query: str) -> Node:
    """The plan as written: only what a plan needs to have a meaning has moved."""
    opened = session()
    opened.execute("SET optimizer = off")
    return opened.plan(query)


def pattern(query: str) -> Pattern:
    return update_pattern(planned(query))


def find(plan: Node, kind: type[Kind]) -> Kind:
    """The only node of a kind."""
    found = [node for node in plan.walk() if isinstance(node, kind)]
    assert len(found) == 1, f"{len(found)} nodes of kind {kind.__name__}"
    return found[0]
