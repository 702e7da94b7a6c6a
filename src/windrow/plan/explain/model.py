"""What EXPLAIN shows of a plan: every operator with its edge's pattern, its state and what it expects to hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from windrow.plan.analysis.keys import keys
from windrow.plan.analysis.lifetime import NEVER, Lifetime, lifetime
from windrow.plan.analysis.rates import Estimate, Rates, Statistics
from windrow.plan.analysis.state import StateEntry, state_of, view_of
from windrow.plan.analysis.update_pattern import update_pattern
from windrow.plan.explain.operators import aggregate_notes, describe_operator, operator_name
from windrow.plan.nodes import Node, Stream, Table, Windowed
from windrow.plan.pattern import Pattern
from windrow.plan.running_nodes import Exchange


@dataclass(frozen=True)
class ExplainedNode:
    kind: type[Node]
    operator: str  # the kind's name for people
    detail: str
    pattern: Pattern
    lifetime: Lifetime
    state: tuple[StateEntry, ...]
    estimate: Estimate
    columns: tuple[tuple[str, str], ...]
    keys: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]  # how aggregates of the user's own are kept
    inputs: tuple[ExplainedNode, ...]
    stage: int | None = None  # on shards: how often rows have moved before they are here; None for what every shard has

    @property
    def span(self) -> Lifetime | None:
        """How long rows live, where that is decided and comes to an end."""
        return self.lifetime if self.kind in (Windowed, Stream) and self.lifetime.end != NEVER else None

    @property
    def moves(self) -> tuple[int, int] | None:
        """Between which stages rows move here."""
        if self.kind is not Exchange:
            return None
        assert self.stage is not None, self
        return self.inputs[0].stage or 0, self.stage


@dataclass(frozen=True)
class Alternative:
    """A plan that was considered: what moved in the plan as written, the work a second, why it was chosen or not."""

    steps: tuple[str, ...]
    cost: float
    chosen: bool
    why: str


@dataclass(frozen=True)
class Explanation:
    """One query: its name if it has one, its text, its plan, how its answer is kept, and what else was considered."""

    query: str | None
    text: str
    plan: ExplainedNode
    view: StateEntry
    alternatives: tuple[Alternative, ...]
    shards: int | None = None  # when the plan has exchanges: on how many it runs
    sources: tuple[str, ...] = ()  # how its streams are read there, and why so
    strategy: str = "upa"  # the structures are those of `upa`
    shared: tuple[str, ...] = ()  # what it has in common with others that run
    coverage: tuple[str, ...] = ()  # since when its windows have their rows, unless from the first one on

    @property
    def read_there(self) -> tuple[str, ...]:
        """The operators that run where rows are read, before they move to shards."""
        if self.shards is None:
            return ()
        nodes = (node for node in _walk(self.plan) if node.stage == 0 and node.kind is not Stream)
        return tuple(dict.fromkeys(node.operator for node in nodes))

    @property
    def stages(self) -> int:
        return max(node.stage or 0 for node in _walk(self.plan))

    @property
    def grows(self) -> tuple[str, ...]:
        """The state that grows for ever, in words."""
        return tuple(
            f"the {entry.what} of {node.operator} {node.detail}"
            for node in _walk(self.plan)
            for entry in node.state
            if not entry.is_bounded
        )


@dataclass(frozen=True)
class Distribution:
    """How plans are spread: the number of shards, and of a plan how its streams are read."""

    shards: int
    sources: Callable[[Node], tuple[str, ...]] = lambda plan: ()


def explain(
    plan: Node,
    statistics: Statistics,
    query: str | None,
    text: str,
    alternatives: tuple[Alternative, ...],
    shards: int | None = None,
    sources: tuple[str, ...] = (),
    strategy: str = "upa",
    shared: tuple[str, ...] = (),
) -> Explanation:
    rates = Rates(statistics)
    shown, view = _explained(plan, rates), view_of(plan, rates)
    return Explanation(query, text, shown, view, alternatives, shards, sources, strategy, shared)


def _explained(node: Node, rates: Rates) -> ExplainedNode:
    return ExplainedNode(
        kind=type(node),
        operator=operator_name(node),
        detail=describe_operator(node),
        pattern=update_pattern(node),
        lifetime=lifetime(node),
        state=state_of(node, rates),
        estimate=rates.of(node),
        columns=tuple((field.name, str(field.type)) for field in node.schema),
        keys=tuple(sorted(tuple(sorted(key)) for key in keys(node))),
        notes=aggregate_notes(node),
        inputs=tuple(_explained(below, rates) for below in node.inputs),
        stage=_stage(node),
    )


def _stage(node: Node) -> int | None:
    if isinstance(node, Exchange):
        return node.stage
    if isinstance(node, Table):
        return None
    stages = [stage for below in node.inputs if (stage := _stage(below)) is not None]
    return max(stages) if stages else None if node.inputs else 0


def _walk(node: ExplainedNode) -> list[ExplainedNode]:
    return [node, *(found for below in node.inputs for found in _walk(below))]
