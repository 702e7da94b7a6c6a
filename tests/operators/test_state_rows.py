"""States that are taken apart into rows of their inputs, and put together again, go on as if nothing had happened.

Between two steps every state is dealt out by the key of its rows, as if to two shards, and remade from both parts.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from support.batch_strategies import few_cuts, streams
from support.operator_cases import CASES, STRATEGIES, UPA
from support.operator_runs import Node, Source, answers, interesting_instants, run, segments, stream
from support.operator_windows import WINDOWS
from windrow.batch import Batch, Dictionary, Segment, concat
from windrow.operators.state_rows import kept, remade

PLANS = {name: case.build for name, case in CASES.items()} | {
    f"window: {name}": (lambda s, w=window: Node(w, Source("l"))) for name, (window, _) in WINDOWS.items()
}
MOVED: set[str] = set()


def step_and_remake(plan: Node | Source, sources: dict[str, Batch], segment: Segment) -> Batch:
    if isinstance(plan, Source):
        rows = sources[plan.name]
        return rows.take((rows.ts >= segment.begin) & (rows.ts < segment.end))
    inputs = [step_and_remake(below, sources, segment).sorted_by_time() for below in plan.inputs]
    output = plan.operator.step(plan.state, inputs, segment)
    rows = kept(plan.operator, plan.state, [rows.slice(0, 0) for rows in inputs])
    if rows is not None:
        MOVED.add(type(plan.operator).__name__)
        plan.state = remade(plan.operator, [_dealt_out(part) for part in rows], segment.end)
    return output


def _dealt_out(rows: Batch) -> Batch:
    parts = [rows.take(rows.columns[0].values % 2 == part) for part in range(2)]
    return concat(parts).sorted_by_time()


def run_remade(plan: Node, sources: dict[str, Batch], cuts: list[int]) -> Batch:
    return concat([step_and_remake(plan, sources, segment) for segment in segments(cuts)])


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("name", PLANS)
@settings(max_examples=6)
@given(l=streams, r=streams, f=streams, stops=few_cuts)
def test_states_are_remade_from_what_they_keep(name, strategy, l, r, f, stops):  # noqa: E741
    if name.startswith("window: ") and strategy != UPA.name:
        return
    dictionary = Dictionary()
    sources = {key: stream(rows, dictionary) for key, rows in {"l": l, "r": r, "f": f}.items()}
    whole = run(PLANS[name](STRATEGIES[strategy]), sources)
    instants = interesting_instants(whole, *sources.values())
    moved = run_remade(PLANS[name](STRATEGIES[strategy]), sources, stops)
    assert answers(moved, instants) == answers(whole, instants)


def test_most_operators_can_be_moved():
    """Whoever keeps rows, or counts them, can say which."""
    assert {"Join", "SemiJoin", "AntiJoin", "GroupBy", "DistinctStar", "MultiplicityOperator"} <= {*MOVED}
