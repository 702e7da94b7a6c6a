"""Each rule alone, in its file: what it makes of a plan (golden), and that the answers stay the same (differential)."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from support.expected import assert_file_holds
from support.generated_streams import SCHEMAS, SECOND, START
from support.local_runs import answers, feed
from support.planned_runs import planned_engine, run_plans
from support.rows_in_view import Row, stream_order
from support.rule_files import ALL_RULES, FOLDER, RuleCase, cases_in, plans_of, rendered, sketch
from windrow.plan.nodes import Node, Table
from windrow.plan.rewrite import bottom_up

FILES = sorted(FOLDER.glob("*.plan"))
CASES = [case for path in FILES for case in cases_in(path)]
HALVES = 40  # of a second, in which rows come
INSTANTS = [START + half * SECOND // 2 - tick for half in range(2 * HALVES) for tick in (1, 0)]


def test_every_rule_has_a_file_and_every_file_a_rule() -> None:
    assert {path.stem for path in FILES} == ALL_RULES.keys()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_plans_before_and_after(path: Path) -> None:
    cases = cases_in(path)

    assert not all(case.unchanged for case in cases), "a rule that changes nothing"
    assert_file_holds(path, rendered(cases))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_rule_changes_what_it_is_said_to_change(case: RuleCase) -> None:
    before, changed = plans_of(case)

    assert bool(changed) is not case.unchanged
    assert before not in changed


@pytest.mark.parametrize("case", [case for case in CASES if not case.unchanged], ids=str)
def test_answers_are_the_same_at_all_instants(case: RuleCase) -> None:
    before, changed = plans_of(case)
    seen = Counter[str]()
    for seed in range(3):
        expected, *others = _answers(case.query, [with_meaning(before), *changed], random.Random(seed))
        for plan, found in zip(changed, others, strict=True):
            assert found == expected, sketch(plan)
        seen["instants with an answer"] += sum(map(bool, expected))
        seen["changes of the answer"] += sum(one != other for one, other in itertools.pairwise(expected))

    assert min(seen.values()) >= 10, f"these rows say little of the query: {seen}"


def with_meaning(plan: Node) -> Node:
    """Non-retroactive tables as retroactive ones with the same rows: what such a plan means before the required rules.

    While no table changes, the time at which one is looked up makes no difference.
    """

    def rule(node: Node) -> Node | None:
        is_early = isinstance(node, Table) and not node.retroactive
        return replace(node, name="r", retroactive=True) if is_early else None

    return bottom_up(plan, rule)


def _answers(query: str, plans: list[Node], rows: random.Random) -> list[list[Counter[object]]]:
    engine = planned_engine()
    running = run_plans(engine, query, plans)
    streams = {name: stream_order(_stream(rows), ["a"] if name == "t" else []) for name in ("s", "t", "u")}
    feed(engine, streams, SCHEMAS, [START + rows.randrange(HALVES) * SECOND // 2 for _ in range(4)])
    return [answers(query, INSTANTS) for query in running]


def _stream(rows: random.Random) -> list[Row]:
    """Few values, so that rows meet; ties, nulls and gaps."""
    times = sorted(rows.randrange(HALVES) for _ in range(HALVES))
    return [
        {
            "ts": START + time * SECOND // 2,
            "a": rows.choice([0, 1, 2, 3, None]),
            "b": rows.choice(["x", "y", None]),
            "v": rows.choice([-1.0, 0.0, 1.0, 2.5, None]),
        }
        for time in times
    ]
