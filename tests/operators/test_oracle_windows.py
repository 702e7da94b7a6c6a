"""Oracle: every window shows, at every instant, the rows that its definition names."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given

from support import operator_oracle
from support.batch_strategies import cuts, streams
from support.operator_runs import Node, Source, answer, interesting_instants, run, stream
from support.operator_windows import WINDOWS
from windrow.batch import Dictionary


@pytest.mark.parametrize("name", WINDOWS)
@given(rows=streams, cuts=cuts)
def test_window_shows_what_its_definition_names(name, rows, cuts):
    operator, in_view = WINDOWS[name]
    source = stream(rows, Dictionary())
    changes = run(Node(operator, Source("l")), {"l": source}, cuts)
    ordered = operator_oracle.in_order(rows)
    for instant in interesting_instants(changes, source):
        assert answer(changes, instant) == Counter(row[1:] for row in in_view(ordered, instant))
