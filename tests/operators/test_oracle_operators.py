"""Oracle: at every instant the results alive are what plain SQL gives over the rows in view."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import operator_oracle
from support.batch_strategies import cuts, streams
from support.operator_cases import CASES, IN_VIEW, STRATEGIES
from support.operator_runs import answer, interesting_instants, nearly, run, stream
from windrow.batch import Dictionary


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("name", CASES)
@given(data=st.data(), l=streams, r=streams, f=streams, cuts=cuts)
def test_answers_equal_recomputation(name, strategy, data, l, r, f, cuts):  # noqa: E741
    case, dictionary = CASES[name], Dictionary()
    rows = {"l": operator_oracle.in_order(l), "r": operator_oracle.in_order(r), "f": operator_oracle.in_order(f)}
    sources = {key: stream(value, dictionary) for key, value in rows.items()}
    changes = run(case.build(STRATEGIES[strategy]), sources, cuts)
    every = interesting_instants(changes, *sources.values())
    for instant in data.draw(st.lists(st.sampled_from(every), min_size=1, max_size=6, unique=True)):
        in_view = {key: IN_VIEW[key](value, instant) for key, value in rows.items()}
        assert nearly(answer(changes, instant)) == nearly(operator_oracle.ask(case.sql, **in_view))
