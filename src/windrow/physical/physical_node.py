"""A node of the running plan: an operator with its state, over other nodes or fed from a source."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

from windrow.operators import Operator, State
from windrow.plan.nodes import Node

LOOKED_UP = "looked up"  # the source of groups that a synopsis gives


def contents_of(table: str) -> str:
    """The source that gives what a table holds at the beginning of a segment."""
    return f"{table} contents"


@dataclass(eq=False)
class PhysicalNode:
    """An operator over inputs; a source has no operator and is fed by name."""

    plan: Node
    operator: Operator[Any] | None
    inputs: tuple[PhysicalNode, ...] = ()
    source: str | None = None
    state: State | None = field(default=None)
    lowered_for: str = ""  # the strategy

    def __post_init__(self) -> None:
        if self.operator is not None:
            self.state = self.operator.fresh_state()


def plan_digest(plan: Node) -> str:
    """A name for a plan that is the same in every process."""
    return hashlib.sha1(repr(plan).encode(), usedforsecurity=False).hexdigest()[:16]
