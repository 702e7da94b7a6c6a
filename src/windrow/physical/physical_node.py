"""A node of the running plan: an operator with its state, over other nodes or fed from a source.

It moves with the watermarks of its `streams`. An input over fewer of them may be ahead: what it gives is held back.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

from windrow.batch.batch import Batch
from windrow.operators import Operator, State
from windrow.operators.selections.predicate_index import PredicateIndex
from windrow.physical.closings import closings_of
from windrow.plan.coverage import Covered
from windrow.plan.nodes import Node, Stream
from windrow.state.held_back import HeldBack
from windrow.types import Type

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
    streams: frozenset[str] | None = None  # in lower case; None until it is known who reads it
    held: dict[int, HeldBack] = field(default_factory=dict)  # by the place of the input
    predicates: PredicateIndex | None = None  # those of selections over what comes out
    nothing: Batch | None = None  # what comes out when nothing comes in, once that has been asked
    covered: Covered | None = None  # since when it has its rows; None until it is taken up

    def __post_init__(self) -> None:
        if self.operator is not None:
            self.state = self.operator.fresh_state()

    def move_with(self, streams: frozenset[str]) -> None:
        """The inputs know already what they move with."""
        self.streams = streams
        self.held = {place: HeldBack() for place, below in enumerate(self.inputs) if below.streams != streams}


def plan_digest(plan: Node) -> str:
    """A name for a plan that is the same in every process."""
    return hashlib.sha1(repr(plan).encode(), usedforsecurity=False).hexdigest()[:16]


def pace_digest(streams: frozenset[str]) -> str:
    """A name for what a node moves with that is the same in every process."""
    return hashlib.sha1(repr(sorted(streams)).encode(), usedforsecurity=False).hexdigest()[:8]


def source_types(node: PhysicalNode) -> tuple[Type, ...]:
    """Of the rows of a source; closings have the columns that are closed."""
    if isinstance(node.plan, Stream) and node.source == closings_of(node.plan.name):
        by_name = {field.name: field.type for field in node.plan.columns}
        return tuple(by_name[name] for name in node.plan.punctuated)
    return node.plan.schema.types
