"""What sharing rules make of several queries (golden), and that each answers as it does alone (differential)."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from support.expected import assert_file_holds
from support.generated_streams import FILL, SCHEMAS, SECOND, START
from support.local_runs import answers, feed
from support.plans import DECLARATIONS
from support.rows_in_view import Row, stream_order
from support.shard_runs import ShardsInProcess
from support.sharing_files import FOLDER, SharingCase, cases_in, rendered
from windrow.runtime.local import LocalEngine

FILES = sorted(FOLDER.glob("*.plan"))
CASES = [case for path in FILES for case in cases_in(path)]
HALVES = 40  # of a second, in which rows come
INSTANTS = [START + half * SECOND // 2 - tick for half in range(2 * HALVES) for tick in (1, 0)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_plans_of_queries_that_share(path: Path) -> None:
    assert_file_holds(path, rendered(cases_in(path)))


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("shards", [0, 2])
def test_each_answers_as_alone(case: SharingCase, shards: int) -> None:
    together = _answers((*case.running, *case.queries), case.settings, shards)
    alone = [_answers((text,), ("optimizer = off",), 0)[0] for text in (*case.running, *case.queries)]

    assert together == alone
    assert all(sum(map(bool, found)) >= 10 for found in alone), "these rows say little of the query"


def _answers(texts: tuple[str, ...], settings: tuple[str, ...], shards: int) -> list[list[Counter[Any]]]:
    engine: Any = ShardsInProcess(shards) if shards else LocalEngine()
    engine.sql(f"{DECLARATIONS}; {FILL}")
    for one in settings:
        engine.sql(f"SET {one}")
    queries = [engine.query(text, name=f"q{number}") for number, text in enumerate(texts)]
    rows = random.Random(1)
    streams = {name: stream_order(_stream(rows), ["a"] if name == "t" else []) for name in ("s", "t")}
    feed(engine, streams, SCHEMAS, [START + cut * SECOND // 2 for cut in (7, 19, 30)])
    found = [answers(query, INSTANTS) for query in queries]
    engine.close()
    return found


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
