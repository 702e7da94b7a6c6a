"""Differential: UPA, DIRECT and NT give the same answers at every instant."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from support.batch_strategies import cuts, streams
from support.operator_cases import CASES, DIRECT, NT, UPA
from support.operator_runs import answers, interesting_instants, run, stream
from windrow.batch import Dictionary


@pytest.mark.parametrize("name", CASES)
@settings(max_examples=8)
@given(l=streams, r=streams, f=streams, cuts=cuts)
def test_strategies_agree(name, l, r, f, cuts):  # noqa: E741
    dictionary = Dictionary()
    sources = {key: stream(rows, dictionary) for key, rows in {"l": l, "r": r, "f": f}.items()}
    upa, direct, told = (run(CASES[name].build(s), sources, cuts) for s in (UPA, DIRECT, NT))
    instants = interesting_instants(upa, direct, told)
    assert answers(upa, instants) == answers(direct, instants) == answers(told, instants)
