"""Query test files: every case gives its expected answers, however the rows are cut and however the query runs.

`case_files` says how a file reads. Every case runs in one batch and one row at a time (unless it says which rows come
together), with every strategy, with and without the optimizer; where the oracle can answer, it must agree with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import duckdb
import pytest

from support.case_checks import AWAITED, CASES, check, staged, ways
from support.case_files import START, Case, bag_of, moment, row_of, text_of
from support.case_runtime import LocalRuntime, Runtime
from support.sql_oracle import answer_at, stream_order
from windrow.cql import compile_query
from windrow.plan.nodes import AppendOnly, Limit, Node, OutputStream, Stream, Table, Windowed
from windrow.session import Session
from windrow.types import Type
from windrow.units import FOREVER

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


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_oracle_agrees(case: Case) -> None:
    """The files say what the oracle says, at every instant that they name and, for changes, at every edge."""
    if any(case.blocks("error")) or any(case.blocks("late")):
        pytest.skip("no answers to compare")
    stage = staged(case)
    if any(punctuation.where for entry in stage.entries.values() for punctuation in entry.punctuations):
        pytest.skip("some rows are no data")
    session = Session()
    session.execute(";\n".join(stage.setup.declarations))
    plan = compile_query(case.query, session.catalog)
    if not can_answer(plan):
        pytest.skip("the oracle does not know this")
    ordered = {name: stream_order(rows, stage.entries[name].ties) for name, rows in stage.streams.items()}
    first = min((row["ts"] for rows in ordered.values() for row in rows), default=FOREVER)
    for instant, rows in expected_answers(case, plan.schema.types):
        if instant < first:  # time begins with the first row
            assert not rows
            continue
        try:
            found = answer_at(plan, ordered, stage.setup.schemas, instant)
        except duckdb.Error as error:
            pytest.skip(f"DuckDB stops where Spark's meaning is null: {error}")
        assert rows == found, f"the oracle at {(instant - START) / 1e6:.15g}:{text_of(found)}"


def can_answer(plan: Node) -> bool:
    """Whether plain SQL says it all: no tables that change, no output streams, windows on streams only, no LIMIT."""
    for node in plan.walk():
        if isinstance(node, AppendOnly | Limit | OutputStream | Table):
            return False
        if isinstance(node, Windowed) and not isinstance(node.input, Stream):
            return False
    return True


def expected_answers(case: Case, types: tuple[Type, ...]) -> Iterator[tuple[int, Counter[Any]]]:
    for block in case.blocks("at"):
        if block.lines != [["not final"]]:
            yield moment(block.subject), bag_of(block.lines, types)
    for block in case.blocks("changes"):
        bag: Counter[Any] = Counter()
        times = sorted({moment(line[0]) for line in block.lines})
        for time in times:
            for _, sign, *row in (line for line in block.lines if moment(line[0]) == time):
                bag[row_of(row, types)] += 1 if sign == "+" else -1
            yield time, +bag
    for block in case.blocks("refreshes"):
        for time in dict.fromkeys(line[0] for line in block.lines):
            yield moment(time), bag_of([row for end, *row in block.lines if end == time], types)


def test_awaited_cases_exist() -> None:
    known = {case.name for case in CASES} | {case.file for case in CASES}

    assert set(AWAITED) <= known


def test_titles_are_unique() -> None:
    names = Counter(case.name for case in CASES)

    assert [name for name, count in names.items() if count > 1] == []
