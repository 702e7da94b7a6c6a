"""Oracle: output streams are differences of lawful answers, and what they say depends on answers only."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given

from support import operator_oracle
from support.batch_strategies import cuts, streams
from support.operator_cases import CASES, IN_VIEW, NT, UPA
from support.operator_runs import HORIZON, Node, Row, interesting_instants, nearly, run, stream
from support.operator_runs import answers as running_answers
from windrow.batch import Batch, Dictionary, rows_to_arrow
from windrow.operators import AppendOnly, DeleteStream, InsertStream, Join, OpenLifetime, RelationStream, TimeWindow
from windrow.operators.outputs.external_parts import Numbered, WithEnd
from windrow.operators.windows.sampling import Refreshed

NAMES = ("join", "distinct, strict", "distinct, star", "anti-join", "count and sum", "join with count window")
SLIDE = 6


def reported(changes: Batch) -> dict[int, Counter[Row]]:
    """What an append-only stream says at each instant."""
    assert bool((changes.sign > 0).all())
    columns = rows_to_arrow(changes, [str(i) for i in range(len(changes.columns))]).to_pylist()
    said: dict[int, Counter[Row]] = {}
    for time, row in zip(changes.ts.tolist(), columns, strict=True):
        said.setdefault(time, Counter())[tuple(row.values())] += 1
    return {time: nearly(bag) for time, bag in said.items()}


def answers(sql: str, rows: dict[str, list[Row]]) -> list[Counter[Row]]:
    """The answer at every instant, the first being the one before time begins."""
    before = operator_oracle.ask(sql, **{name: [] for name in rows})
    every = [Counter() if "count(*)" in sql and "GROUP" not in sql else before]
    for instant in range(60):
        in_view = {name: IN_VIEW[name](value, instant) for name, value in rows.items()}
        every.append(nearly(operator_oracle.ask(sql, **in_view)))
    return every


@pytest.mark.parametrize("name", NAMES)
@given(l=streams, r=streams, cuts=cuts)
def test_output_streams_are_differences_of_answers(name, l, r, cuts):  # noqa: E741
    case, dictionary = CASES[name], Dictionary()
    rows = {"l": operator_oracle.in_order(l), "r": operator_oracle.in_order(r), "f": operator_oracle.in_order(l[:8])}
    sources = {key: stream(value, dictionary) for key, value in rows.items()}

    def said(operator):
        return reported(run(Node(operator, case.build(UPA)), sources, cuts))

    every = answers(case.sql, rows)
    new = {t: gained for t in range(60) if (gained := every[t + 1] - every[t])}
    gone = {t: lost for t in range(60) if (lost := every[t] - every[t + 1])}
    assert said(InsertStream()) == new
    assert said(AppendOnly()) == new
    assert said(DeleteStream()) == gone
    whole = {t: every[t + 1] for t in range(0, 60, SLIDE) if every[t + 1]}
    assert {t: bag for t, bag in said(RelationStream(SLIDE)).items() if t < 60} == whole
    restored: dict[int, Counter[Row]] = {}
    for time, bag in new.items():
        restored.setdefault((time // SLIDE + 1) * SLIDE, Counter()).update(bag)
    later = Node(TimeWindow(OpenLifetime(slide=SLIDE)), Node(InsertStream(), case.build(UPA)))
    assert reported(run(later, sources, cuts)) == {t: bag for t, bag in restored.items() if t < HORIZON}


def _beside_external(case_windows):
    """l is internal, f external: pairs with the numbers of their rows of f, which are watched."""
    left, right = case_windows.window("l"), Node(Numbered(), case_windows.window("f"))
    pairs = Node(Join((0,), (0,)), left, right)
    watched = Node(Numbered(), case_windows.window("f"))
    return Node(AppendOnly(numbers=(8,)), pairs, watched)


LAWFUL = {
    "ends of external parts": lambda: Node(
        AppendOnly(ends=(8,)), Node(Join((0,), (0,)), UPA.window("l"), Node(WithEnd(), UPA.window("r")))
    ),
    "numbers of external parts": lambda: _beside_external(UPA),
    "numbers of external parts, told": lambda: _beside_external(NT),
    "numbered groups": lambda: Node(Numbered(), CASES["count and sum"].build(UPA)),
    "refreshed groups": lambda: Node(Refreshed(SLIDE), CASES["count and sum"].build(UPA)),
    "answers at refreshes": lambda: Node(RelationStream(SLIDE), CASES["anti-join"].build(UPA)),
}


@pytest.mark.parametrize("name", LAWFUL)
@given(l=streams, r=streams, cuts=cuts)
def test_cuts_and_restarts_do_not_show(name, l, r, cuts):  # noqa: E741
    dictionary = Dictionary()
    rows = {"l": l, "r": r, "f": r[:8]}
    sources = {key: stream(operator_oracle.in_order(value), dictionary) for key, value in rows.items()}
    whole, cut, restarted = (
        run(LAWFUL[name](), sources, where, restarts) for where, restarts in (((), False), (cuts, False), (cuts, True))
    )
    instants = interesting_instants(whole, cut)
    numbered = name == "numbered groups"  # which numbers are free may differ; that rows are told apart may not

    def shown(changes):
        found = running_answers(changes, instants)
        return [Counter(row[:-1] for row in bag.elements()) for bag in found] if numbered else found

    assert shown(whole) == shown(cut) == shown(restarted)
    if numbered:
        assert all(count == 1 for bag in running_answers(whole, instants) for count in bag.values())
