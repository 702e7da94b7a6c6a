"""Query test files and generated queries on Spark: the same answers as the files say, and as the oracle gives.

Many engines run in one Spark job (`together`), on 1, 2 and 5 shards, in one batch and in several, with all
strategies, with and without the optimizer and what it brings. Every case runs in one of these ways, so that each pair
of choices meets in some case; under the soak profile in all of them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from support.case_checks import CASES, check, staged, ways
from support.case_files import Case
from support.case_runtime import OnShards, Setup
from support.features import is_approximate
from support.generated_streams import FILL, SCHEMAS, SECOND, START, all_streams, instants, world_of
from support.local_runs import answers, feed
from support.plans import DECLARATIONS
from support.queries import queries
from support.rows_in_view import Row, stream_order
from support.spark_together import OneOfMany, Together
from windrow.cql import compile_query
from windrow.errors import WindrowError
from windrow.plan.nodes import AppendOnly, OutputStream

SHARDS = (1, 2, 5)
AT_ONCE = 120  # engines in one job


class OnSpark(OnShards):
    """A runtime for query test files."""

    def __init__(self, together: Together, number: int, shards: int) -> None:
        super().__init__(shards, forgetful=False)
        self._together, self._number = together, number

    def engine(self) -> OneOfMany:
        return OneOfMany(self._together, self._number, self._shards)


Run = tuple[Case, str, Setup, int]


def ways_on_spark(case: Case, place: int) -> list[Run]:
    stage = staged(case)
    every = [
        (case, way, setup if case.is_batched else in_few_batches(setup), shards)
        for way, setup in ways(case, stage.setup, stage.streams)
        for shards in SHARDS
    ]
    return every if settings.get_current_profile_name() == "soak" else [every[place * 7 % len(every)]]


def in_few_batches(setup: Setup) -> Setup:
    """One row at a time would be many jobs with little in them."""
    size = -(-len(setup.batches) // 3)
    few: list[dict[str, list[Row]]] = []
    for first in range(0, len(setup.batches), size):
        together: dict[str, list[Row]] = {}
        for batch in setup.batches[first : first + size]:
            for name, rows in batch.items():
                together.setdefault(name, []).extend(rows)
        few.append(together)
    return replace(setup, batches=few)


@pytest.fixture(scope="module")
def errors(spark: SparkSession, request: pytest.FixtureRequest) -> dict[str, list[BaseException]]:
    """All cases that are asked for run, many in one job: what went wrong in each, by its name."""
    asked = {item.callspec.params["case"].name for item in request.session.items if _is_case(item)}
    runs = [run for place, case in enumerate(CASES) if case.name in asked for run in ways_on_spark(case, place)]
    found: dict[str, list[BaseException]] = {name: [] for name in asked}
    for first in range(0, len(runs), AT_ONCE):
        part, together = runs[first : first + AT_ONCE], Together(spark)

        def run(number: int, part: list[Run] = part, together: Together = together) -> None:
            case, way, setup, shards = part[number]
            check(case, setup, OnSpark(together, number, shards), f"Spark, {shards} shards, {way}")

        for (case, *_), error in zip(part, together.map(run, len(part)), strict=True):
            if error is not None:
                found[case.name].append(error)
    return found


def _is_case(item: pytest.Item) -> bool:
    return isinstance(item, pytest.Function) and item.originalname == "test_case_on_spark"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case_on_spark(case: Case, errors: dict[str, list[BaseException]]) -> None:
    for error in errors[case.name]:
        raise error


Generated = tuple[list[str], dict[str, list[Row]], list[int], list[int], str, str]


def generated(count: int) -> list[Generated]:
    """Queries with streams, cuts, instants, a strategy and the optimizer on or off: always the same."""
    found: list[Generated] = []

    @settings(max_examples=count, derandomize=True, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(
        st.lists(queries(outputs=False), min_size=5, max_size=5, unique=True),
        all_streams(),
        st.lists(st.integers(0, 24), max_size=2),
        st.lists(st.integers(0, 40), min_size=1, max_size=3),
        st.sampled_from(["upa", "direct", "nt"]),
        st.sampled_from(["on", "off"]),
    )
    def collect(
        texts: list[str],
        streams: dict[str, list[Row]],
        cuts: list[int],
        chosen: list[int],
        strategy: str,
        optimizer: str,
    ) -> None:
        found.append((texts, streams, cuts, chosen, strategy, optimizer))

    collect()
    return found


def test_generated_queries(spark: SparkSession) -> None:
    cases, together = generated(36), Together(spark)
    found = together.map(lambda n: compared(cases[n], together, n), len(cases))
    failed = [one for one in found if isinstance(one, BaseException)]
    assert not failed, f"{len(failed)} of {len(cases)}: {failed[0]!r}"
    assert sum(one for one in found if isinstance(one, int)) >= 100


def compared(case: Generated, together: Together, number: int) -> int:
    """How many queries gave the oracle's answers."""
    texts, streams, cuts, chosen, strategy, optimizer = case
    engine = OneOfMany(together, number, SHARDS[number % 3])
    try:
        engine.sql(f"{DECLARATIONS} {FILL} SET strategy = {strategy}; SET optimizer = {optimizer}")
        running = [found for text in texts if (found := started(engine, text)) is not None]
        ordered = {name: stream_order(of, ["a"] if name == "t" else []) for name, of in streams.items()}
        feed(engine, ordered, SCHEMAS, [START + cut * SECOND // 2 for cut in cuts])
        for text, plan, query in running:
            world, moments = world_of(text, ordered), instants(plan, streams, chosen)
            for moment, found in zip(moments, answers(query, moments), strict=True):
                assert found == world.answer(moment), f"at {(moment - START) / SECOND} s: {text}"
        return len(running)
    finally:
        engine.close()


def started(engine: OneOfMany, text: str) -> tuple[str, Any, Any] | None:
    """A query that has begun to run; None for one that has no answers to compare with, or is not run."""
    try:
        plan = compile_query(text, engine.session.catalog)
        if is_approximate(plan) or any(isinstance(node, OutputStream | AppendOnly) for node in plan.walk()):
            return None
        return text, plan, engine.query(text)
    except WindrowError:
        return None
