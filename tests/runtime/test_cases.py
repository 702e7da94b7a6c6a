"""Query test files: every case gives its expected answers, however the rows are cut and however the query runs.

`case_files` says how a file reads. Every case runs in one batch and one row at a time (unless it says which rows come
together), with every strategy, with and without the optimizer; and the oracle says of its text what the case says.
"""

from __future__ import annotations

from collections import Counter

import pytest

from support.case_checks import AWAITED, CASES, check, staged, ways
from support.case_files import START, Case, text_of
from support.case_oracle import answers_of, refreshes_of, world_of
from support.case_runtime import LocalRuntime, Runtime
from support.cql_text import Gap
from windrow.cql import compile_query
from windrow.session import Session

RUNTIMES: tuple[Runtime, ...] = (LocalRuntime(),)


@pytest.mark.parametrize("runtime", RUNTIMES, ids=lambda runtime: runtime.name)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case: Case, runtime: Runtime, request: pytest.FixtureRequest) -> None:
    if case.name in AWAITED or case.file in AWAITED:
        request.applymarker(pytest.mark.xfail(reason=AWAITED.get(case.name, AWAITED.get(case.file)), strict=True))
    stage = staged(case)
    assert case.expected, "a case expects something"
    for way, setup in ways(case, stage.setup, stage.streams):
        check(case, setup, runtime, f"{runtime.name}, {way}")


# Cases whose answers the oracle cannot recompute from their text, by the reason that it gives. One that it can answer
# turns red, so that it is taken out of here.
GAPS = {
    "approximate aggregates": [  # their laws: tests/runtime/test_approximate.py, test_frequent.py
        "approximate: approximate aggregates of slices, beside exact ones",
        "approximate: approximate aggregates without slices are exact",
        "frequent: frequent items of sub-windows of rows",
        "frequent: frequent items of sub-windows of time, of each group, beside other aggregates",
        "frequent: what is selected before it is counted",
    ],
    "INTERNAL beside other windows": [  # their oracle: tests/sharing/test_internal_beside_external.py
        "internal: one window is external: results end with its rows",
        "internal: an external window of rows: results end when a later row pushes its part out",
        "internal: two external parts: the first to end takes the result with it",
        "internal: EXISTS in an external window: a result ends when no match is left",
        "internal: EXISTS in an INTERNAL window: a result ends with its own row",
        "internal: a group beside an INTERNAL window: a result ends when the count changes",
        "internal: UNION ALL: each branch for itself",
        "internal: with SLIDE: results come and end at refreshes",
    ],
    "INTERNAL beside a table that changes": [
        "internal: a table beside an INTERNAL window: a result ends with its row of the table",
    ],
    "DuckDB stops where a sum is out of range": ["groups: decimals of 38 digits"],
}
ANSWERED = [case for case in CASES if not any(case.blocks("error"))]


@pytest.mark.parametrize("case", ANSWERED, ids=lambda case: case.name)
def test_oracle_agrees(case: Case) -> None:
    """The files say what the oracle says of the text, at every instant that they name and wherever it could change."""
    gap = next((reason for reason, cases in GAPS.items() if case.name in cases), None)
    if gap is None:
        ask_oracle(case)
    else:
        with pytest.raises(Gap, match=gap):
            ask_oracle(case)


def ask_oracle(case: Case) -> None:
    session = Session()
    session.execute(";\n".join(staged(case).setup.declarations))
    types = compile_query(case.query, session.catalog).schema.types
    world = world_of(case)
    for instant, rows in answers_of(case, world, types):
        found = world.answer(instant)
        assert rows == found, f"the oracle at {(instant - START) / 1e6:.15g}:{text_of(found)}"
    for refreshes in refreshes_of(case, types):
        assert refreshes == world.refreshes()


def test_gaps_are_cases() -> None:
    assert {name for cases in GAPS.values() for name in cases} <= {case.name for case in ANSWERED}


def test_awaited_cases_exist() -> None:
    known = {case.name for case in CASES} | {case.file for case in CASES}

    assert set(AWAITED) <= known


def test_titles_are_unique() -> None:
    names = Counter(case.name for case in CASES)

    assert [name for name, count in names.items() if count > 1] == []
