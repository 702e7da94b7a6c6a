"""Oracle: joins with tables, whose changes are insertions and deletions at known times."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from support import operator_oracle
from support.batch_strategies import END, cuts, keys, streams, strings
from support.operator_runs import Node, Row, Source, answer, interesting_instants, run, stream
from windrow.batch import Batch, Dictionary, concat
from windrow.operators import Join, Lookup, NonRetroactiveJoin, RangeLifetime, TimeWindow
from windrow.state import StructureKind
from windrow.units import FOREVER

# A row of a table: key, string, inserted at, and deleted how much later (0 for never).
tables = st.lists(st.tuples(keys, strings, st.integers(0, END), st.integers(0, 20)), max_size=8)
LENGTH = 10


def changelog(table: list[tuple], dictionary: Dictionary) -> Batch:
    """Insertions as open tuples, deletions as negative ones."""
    put = stream([(at, key, None, text, at) for key, text, at, _ in table], dictionary)
    gone = [(at, key, text, life) for key, text, at, life in table if life]
    if not gone:
        return put
    out = stream([(at + life, key, None, text, at) for at, key, text, life in gone], dictionary)
    return concat([put, Batch(out.columns, out.ts, np.full(len(out), FOREVER), -out.sign)]).sorted_by_time()


def match(row: Row, table: list[tuple], instant: int, later: int) -> list[Row]:
    """The table rows with the row's key that are there at an instant; changes are seen `later` ticks on."""
    return [
        (*row[1:], key, None, text, at)
        for key, text, at, life in table
        if key is not None and key == row[1] and at + later <= instant and (not life or instant < at + life + later)
    ]


@given(rows=streams, table=tables, cuts=cuts)
def test_non_retroactive_join_sees_the_table_before_the_tuple(rows, table, cuts):
    dictionary = Dictionary()
    sources = {"l": stream(rows, dictionary), "t": changelog(table, dictionary)}
    windowed = Node(TimeWindow(RangeLifetime(LENGTH)), Source("l"))
    inner = run(Node(NonRetroactiveJoin((0,), (0,)), windowed, Source("t")), sources, cuts)
    windowed = Node(TimeWindow(RangeLifetime(LENGTH)), Source("l"))
    outer = run(Node(NonRetroactiveJoin((0,), (0,), gives=Lookup.PADDED), windowed, Source("t")), sources, cuts)
    for instant in interesting_instants(inner, *sources.values()):
        in_view = operator_oracle.last(LENGTH)(rows, instant)
        found = [(row, match(row, table, row[0], 1)) for row in in_view]
        assert answer(inner, instant) == Counter(pair for _, pairs in found for pair in pairs)
        padded = (pairs or [(*row[1:], None, None, None, None)] for row, pairs in found)
        assert answer(outer, instant) == Counter(pair for pairs in padded for pair in pairs)


@given(rows=streams, table=tables, cuts=cuts)
def test_retroactive_join_revisits_the_window(rows, table, cuts):
    dictionary = Dictionary()
    sources = {"l": stream(rows, dictionary), "t": changelog(table, dictionary)}
    join = Join((0,), (0,), left_structure=StructureKind.FIFO, right_structure=StructureKind.HASH)
    changes = run(Node(join, Node(TimeWindow(RangeLifetime(LENGTH)), Source("l")), Source("t")), sources, cuts)
    for instant in interesting_instants(changes, *sources.values()):
        in_view = operator_oracle.last(LENGTH)(rows, instant)
        expected = Counter(pair for row in in_view for pair in match(row, table, instant, 0))
        assert answer(changes, instant) == expected
