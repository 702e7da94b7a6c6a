"""Query test files and generated queries on Spark: the same answers as the files say, and as the oracle gives.

All of them run in a few engines: on 1, 2 and 5 shards, in one batch and in several, with all strategies, with and
without the optimizer and what it brings. Every case runs in one of these ways, so that each pair of choices meets in
some case; under the soak profile in all of them.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import windrow
from support.case_checks import CASES, check, staged, ways
from support.case_files import Case
from support.case_runtime import Outcome, Setup
from support.cases_together import Apart, apart, batches_by, run_together
from support.features import is_approximate
from support.generated_streams import FILLING, SCHEMAS, SECOND, START, all_streams, instants, world_of
from support.plans import DECLARATIONS
from support.queries import queries
from support.rows_in_view import Row, stream_order
from windrow.cql import compile_query
from windrow.errors import WindrowError
from windrow.plan.nodes import AppendOnly, Node, OutputStream
from windrow.session import Session

SHARDS = (1, 2, 5)


class Run(NamedTuple):
    case: Case
    way: str
    setup: Setup
    shards: int


class Done:
    """A runtime that has run already."""

    name = "Spark"

    def __init__(self, found: Outcome | WindrowError) -> None:
        self._found = found

    def run(self, setup: Setup) -> Outcome:
        if isinstance(self._found, WindrowError):
            raise self._found
        return self._found


def ways_on_spark(case: Case, place: int) -> list[Run]:
    stage = staged(case)
    every = [
        Run(case, way, setup if case.is_batched else in_few_batches(setup), shards)
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
def errors(
    spark: SparkSession, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, list[BaseException]]:
    """All cases that are asked for run, those for a number of shards in one engine: what went wrong, by their names."""
    asked = {item.callspec.params["case"].name for item in request.session.items if _is_case(item)}
    runs = [run for place, case in enumerate(CASES) if case.name in asked for run in ways_on_spark(case, place)]
    found: dict[str, list[BaseException]] = {name: [] for name in asked}
    for shards in SHARDS:
        mine = [run for run in runs if run.shards == shards]
        place = tmp_path_factory.mktemp(f"shards{shards}")
        outcomes = on_spark(spark, place, shards, [apart(run.setup, number) for number, run in enumerate(mine)])
        for run, outcome in zip(mine, outcomes, strict=True):
            try:
                check(run.case, run.setup, Done(outcome), f"Spark, {shards} shards, {run.way}")
            except BaseException as error:
                found[run.case.name].append(error)
    return found


def on_spark(spark: SparkSession, place: Path, shards: int, cases: list[Apart]) -> list[Outcome | WindrowError]:
    if not cases:
        return []
    with windrow.connect(spark=spark, checkpoint=str(place), shards=shards) as engine:
        return run_together(engine, cases)


def _is_case(item: pytest.Item) -> bool:
    return isinstance(item, pytest.Function) and item.originalname == "test_case_on_spark"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case_on_spark(case: Case, errors: dict[str, list[BaseException]]) -> None:
    for error in errors[case.name]:
        raise error


class Generated(NamedTuple):
    """Queries over the same rows, and the instants at which their answers are compared."""

    setup: Setup  # without a query of theirs
    streams: dict[str, list[Row]]
    queries: dict[str, list[int]]


def generated(count: int) -> list[Generated]:
    """Always the same."""
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
        ordered = {name: stream_order(of, ["a"] if name == "t" else []) for name, of in streams.items()}
        setup = Setup(
            [*DECLARATIONS.split(";")[:-1], *FILLING.values()],
            "SELECT a FROM s",
            [],
            {name: SCHEMAS[name] for name in ordered},
            batches_by(ordered, [START + cut * SECOND // 2 for cut in cuts]),
            list(ordered),
            {"strategy": strategy, "optimizer": optimizer},
        )
        plans = {text: plan for text in texts if (plan := answered(text)) is not None}
        moments = {text: instants(plan, streams, chosen) for text, plan in plans.items()}
        found.append(Generated(setup, ordered, moments))

    collect()
    return found


def answered(text: str) -> Node | None:
    """The plan of a query; None for one that has no answers to compare with."""
    session = Session()
    session.execute(DECLARATIONS)
    try:
        plan = compile_query(text, session.catalog)
    except WindrowError:
        return None
    strange = is_approximate(plan) or any(isinstance(node, OutputStream | AppendOnly) for node in plan.walk())
    return None if strange else plan


def test_generated_queries(spark: SparkSession, tmp_path: Path) -> None:
    every, compared = generated(36), 0
    for place, shards in enumerate(SHARDS):
        mine, cases = every[place :: len(SHARDS)], list[Apart]()
        for number, case in enumerate(mine):
            declared = apart(case.setup, number)
            cases += [declared, *(declared.beside(text) for text in case.queries)]
        outcomes = iter(on_spark(spark, tmp_path / str(shards), shards, cases))
        for case in mine:
            assert isinstance(next(outcomes), Outcome)
            for text, moments in case.queries.items():
                outcome, world = next(outcomes), world_of(text, case.streams)
                if isinstance(outcome, WindrowError):
                    continue
                for moment in moments:
                    assert outcome.answer(moment) == world.answer(moment), f"at {(moment - START) / SECOND} s: {text}"
                compared += 1
    assert compared >= 100
