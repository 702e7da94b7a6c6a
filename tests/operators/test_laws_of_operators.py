"""Laws of every operator: how time is cut, and a restart after every step, change no answer at any instant.

What an operator says is alive is what consolidation leaves of all that it has emitted.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.batch_strategies import cuts, few_cuts, streams
from support.operator_cases import CASES, STRATEGIES, UPA
from support.operator_runs import Node, Source, alive, answers, interesting_instants, run, run_until, stream
from support.operator_windows import WINDOWS
from windrow.batch import Dictionary, consolidate
from windrow.operators.operator import Remembers

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


REMEMBERED = [name for name in PLANS if PLANS[name](UPA).operator.remembers is not Remembers.UNKNOWN]


@pytest.mark.parametrize("name", REMEMBERED)
@settings(max_examples=10)
@given(l=streams, r=streams, f=streams, cuts=cuts, at=st.integers(1, 60), strategy=st.sampled_from(sorted(STRATEGIES)))
def test_what_is_alive_is_what_was_emitted_and_is_left(name, l, r, f, cuts, at, strategy):  # noqa: E741
    dictionary = Dictionary()
    sources = {key: stream(rows, dictionary) for key, rows in {"l": l, "r": r, "f": f}.items()}
    plan = PLANS[name](STRATEGIES[strategy])
    emitted = run_until(plan, sources, cuts, at)
    found = alive(plan, sources, at)
    assert found.is_positive and bool((found.ts < at).all())
    instants = [instant for instant in interesting_instants(emitted) if instant >= at]
    assert answers(found, instants) == answers(emitted, instants)
    ends = consolidate(emitted.with_lifetimes(np.zeros(len(emitted), np.int64), emitted.exp))
    assert sorted(found.exp) == sorted(end for end in ends.exp if end > at)
