"""The answer law: at every instant, the answer is what the same query gives over the rows its windows show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache

import pytest
from hypothesis import HealthCheck, assume, event, given, seed, settings
from hypothesis import strategies as st

from support.features import EXPECTED, features, is_approximate
from support.generated_streams import FILL, SCHEMAS, SECOND, START, all_streams, instants, world_of
from support.local_runs import answers, feed
from support.own_aggregates import OWN
from support.plans import DECLARATIONS
from support.queries import queries
from support.rows_in_view import Row, stream_order
from windrow.cql import compile_query
from windrow.errors import CqlMeaningError, WindrowError
from windrow.plan.nodes import AppendOnly, Node, OutputStream
from windrow.runtime.local import LocalEngine, LocalQuery

REACHED: Counter[str] = Counter()  # how often the queries that are being tried have used each thing of the language
PARTS = 12  # of the generated queries, each with a seed of its own


def is_same_every_time() -> bool:
    """Other profiles try fewer, or ever new ones."""
    return settings.get_current_profile_name() == "default"


@cache
def reached(part: int) -> Counter[str]:
    """What queries of a part have used, when all of them have given what the oracle gives."""
    REACHED.clear()
    (seed(part)(ask_generated_queries()) if is_same_every_time() else ask_generated_queries())()
    return Counter(REACHED)


@cache
def reached_over_lifetimes() -> Counter[str]:
    REACHED.clear()
    for window in WINDOWS_OF_LIVES:
        ask_window_over_rows_with_lifetimes(window=window)
    return Counter(REACHED)


@pytest.mark.parametrize("part", range(PARTS))
def test_generated_queries(part: int) -> None:
    """They give what the oracle gives."""
    assert reached(part)["cases"]


def test_windows_over_rows_with_lifetimes() -> None:
    assert reached_over_lifetimes()["cases"]


def test_each_thing_of_the_language_is_tried_often_enough() -> None:
    if is_same_every_time():
        everything = sum(map(reached, range(PARTS)), reached_over_lifetimes())
        assert {word: everything[word] for word, least in EXPECTED.items() if everything[word] < least} == {}
        assert everything["cases"] >= 2_000


def ask_generated_queries() -> Callable[[], None]:
    """A few queries beside each other in one engine, over the same streams; rows may come out of order."""

    @settings(max_examples=1200 // PARTS, suppress_health_check=list(HealthCheck))
    @given(
        texts=st.lists(queries(outputs=False), min_size=3, max_size=3, unique=True),
        streams=all_streams(),
        delays=st.lists(st.integers(0, 4), max_size=5),
        cuts=st.lists(st.integers(0, 24), max_size=6),
        chosen=st.lists(st.integers(0, 40), min_size=1, max_size=3),
        strategy=st.sampled_from(["upa", "direct", "nt"]),
        optimizer=st.sampled_from(["on", "off"]),
    )
    def ask(
        texts: list[str],
        streams: dict[str, list[Row]],
        delays: list[int],
        cuts: list[int],
        chosen: list[int],
        strategy: str,
        optimizer: str,
    ) -> None:
        check(texts, streams, delays, cuts, chosen, strategy, optimizer)

    return ask


WINDOWS_OF_LIVES = (
    "[RANGE 3 SECONDS]",
    "[RANGE FROM 4 SECONDS TO 2 SECONDS AGO]",
    "[ROWS 3]",
    "[ROWS FROM 4 TO 2 AGO]",
    "[PARTITION BY a, b WHERE v > 1]",
    "[SINCE '2026-01-01 00:00:05']",
    "[FROM '2026-01-01 00:00:03' TO '2026-01-01 00:00:07.5']",
    "[NOW]",
)


@settings(max_examples=10)
@given(
    streams=all_streams(),
    cuts=st.lists(st.integers(0, 24), max_size=6),
    chosen=st.lists(st.integers(0, 40), min_size=1, max_size=3),
    strategy=st.sampled_from(["upa", "direct", "nt"]),
)
def ask_window_over_rows_with_lifetimes(
    window: str, streams: dict[str, list[Row]], cuts: list[int], chosen: list[int], strategy: str
) -> None:
    texts = ["SELECT a, v FROM readings {}", "SELECT b, COUNT(*), SUM(v) FROM readings {} GROUP BY b"]
    check([text.format(window) for text in texts], streams, [], cuts, chosen, strategy, "on")


def check(
    texts: Sequence[str],
    streams: dict[str, list[Row]],
    delays: list[int],
    cuts: list[int],
    chosen: list[int],
    strategy: str,
    optimizer: str,
) -> None:
    engine = LocalEngine(aggregates=OWN)
    slack = f" SLACK {max(delays) * 500} MILLISECONDS;" if any(delays) else ";"
    declarations = "".join(f"{one}{slack if 'STREAM' in one else ';'}" for one in DECLARATIONS.split(";")[:-1])
    engine.sql(f"{declarations} {FILL} SET strategy = {strategy}; SET optimizer = {optimizer}")
    running = [found for text in texts if (found := started(engine, text)) is not None]
    assume(running)
    ordered = {name: stream_order(of, ["a"] if name == "t" else []) for name, of in streams.items()}
    feed(engine, ordered, SCHEMAS, [START + cut * SECOND // 2 for cut in cuts], [half * SECOND // 2 for half in delays])
    assert not any(of["late"] or of["rejected"] for of in engine.status()["streams"].values())
    if any(delays):
        REACHED["disorder"] += 1
    for text, plan, query in running:
        moments = instants(plan, streams, chosen)
        world = world_of(text, ordered)
        for moment, found in zip(moments, answers(query, moments), strict=True):
            assert found == world.answer(moment), f"at {(moment - START) / SECOND} s: {text}"
        REACHED.update(["cases", *features(plan)])


def started(engine: LocalEngine, text: str) -> tuple[str, Node, LocalQuery] | None:
    """A query that has begun to run; None for one that has no answers to compare with, or is not run."""
    try:
        plan = compile_query(text, engine.session.catalog)
    except CqlMeaningError:
        return None
    if is_approximate(plan) or any(isinstance(node, OutputStream | AppendOnly) for node in plan.walk()):
        return None
    try:
        return text, plan, engine.query(text)
    except WindrowError as error:
        event(f"not run: {error.message}")
        return None
