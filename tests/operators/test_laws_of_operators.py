"""Laws of every operator: how time is cut, and a restart after every step, change no answer at any instant."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from support.batch_strategies import cuts, few_cuts, streams
from support.operator_cases import CASES, UPA
from support.operator_runs import Node, Source, answers, interesting_instants, run, stream
from support.operator_windows import WINDOWS
from windrow.batch import Dictionary

PLANS = {name: case.build for name, case in CASES.items()} | {
    f"window: {name}": (lambda s, w=window: Node(w, Source("l"))) for name, (window, _) in WINDOWS.items()
}


@pytest.mark.parametrize("name", PLANS)
@settings(max_examples=8)
@given(l=streams, r=streams, f=streams, cuts=cuts, stops=few_cuts)
def test_answers_do_not_depend_on_cuts_or_restarts(name, l, r, f, cuts, stops):  # noqa: E741
    dictionary = Dictionary()
    sources = {key: stream(rows, dictionary) for key, rows in {"l": l, "r": r, "f": f}.items()}
    whole = run(PLANS[name](UPA), sources)
    instants = interesting_instants(whole, *sources.values())
    expected = answers(whole, instants)
    assert answers(run(PLANS[name](UPA), sources, cuts), instants) == expected
    assert answers(run(PLANS[name](UPA), sources, stops, restarts=True), instants) == expected
