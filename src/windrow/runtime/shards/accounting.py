"""What a running plan costs and saves: time and rows of every operator since the engine started, and what is shared."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple

from windrow.batch import Dictionary
from windrow.physical.physical_node import PhysicalNode
from windrow.plan.analysis.relations import streams_of
from windrow.runtime.shards.graph import Graph
from windrow.runtime.shards.running_plan import RunningPlan
from windrow.runtime.shards.tasks.stage_run import Metric

_RECENT = 1_000  # micro-batches whose times are at hand


class OperatorTotals(NamedTuple):
    rows_in: int = 0
    rows_out: int = 0
    seconds: float = 0.0


class Accounts:
    """Sums over shards and micro-batches, by operator."""

    def __init__(self) -> None:
        self._totals: dict[tuple[str, str], OperatorTotals] = {}
        self.most_state_bytes = 0
        self.batch_seconds: deque[float] = deque(maxlen=_RECENT)

    def add(self, metrics: Iterable[Metric], state_bytes: int, seconds: float) -> None:
        self.batch_seconds.append(seconds)
        self.most_state_bytes = max(self.most_state_bytes, state_bytes)
        for metric in metrics:
            operator = metric.operator, metric.detail
            had = self._totals.get(operator, OperatorTotals())
            self._totals[operator] = OperatorTotals(
                had.rows_in + metric.rows_in, had.rows_out + metric.rows_out, had.seconds + metric.seconds
            )

    def totals(self) -> list[dict[str, Any]]:
        """Dearest first."""
        ordered = sorted(self._totals.items(), key=lambda item: -item[1].seconds)
        return [{"operator": name, "detail": detail, **spent._asdict()} for (name, detail), spent in ordered]


def sharing(plan: RunningPlan) -> dict[str, int]:
    """How many operators run, and how many would if every query ran alone; the same for readings of streams."""
    shared = _operators(Graph(plan, Dictionary()))
    alone = 0
    for query in plan.queries:
        alone += _operators(Graph(replace(plan, queries=(query,)), Dictionary()))
    reads = [streams_of(query.plan) for query in plan.queries]
    return {
        "operators": shared,
        "operators_alone": alone,
        "streams_read": len(plan.used_streams),
        "streams_read_alone": sum(map(len, reads)),
    }


def _operators(graph: Graph) -> int:
    waiting: list[PhysicalNode] = [output.root for output in graph.outputs.values()]
    seen: set[int] = set()
    count = 0
    while waiting:
        node = waiting.pop()
        if id(node) not in seen:
            seen.add(id(node))
            count += node.operator is not None
            waiting.extend(node.inputs)
    return count
