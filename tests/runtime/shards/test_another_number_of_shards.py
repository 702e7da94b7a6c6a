"""A checkpoint is opened with another number of shards: every state goes where it belongs, or it is refused."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from support.shard_runs import ShardsInProcess
from windrow.errors import CheckpointError
from windrow.units import SECOND

STREAMS = """
CREATE STREAM a (t TIMESTAMP, k BIGINT, s STRING) TIMESTAMP BY t SLACK 2 SECONDS;
CREATE STREAM b (t TIMESTAMP, k BIGINT, s STRING) TIMESTAMP BY t SLACK 2 SECONDS;
CREATE TABLE known (k BIGINT, name STRING);
INSERT INTO known VALUES (1, 'one'), (2, 'two'), (3, 'three')
"""
QUERIES = {
    "counted": "SELECT s, COUNT(*) AS n, SUM(k) AS sum FROM a [RANGE 7 SECONDS] GROUP BY s",
    "highest": "SELECT k, MAX(s) AS high, MIN(s) AS low FROM a [RANGE 5 SECONDS SLIDE 2 SECONDS] GROUP BY k",
    "all_of_them": "SELECT COUNT(*) AS n FROM a [RANGE 5 SECONDS]",
    "different": "SELECT DISTINCT s FROM a [RANGE 4 SECONDS]",
    "joined": "SELECT a.s, b.s AS other FROM a [RANGE 4 SECONDS], b [RANGE 6 SECONDS] WHERE a.k = b.k",
    "matched": "SELECT k, s FROM a [RANGE 4 SECONDS] WHERE k IN (SELECT k FROM b [RANGE 3 SECONDS])",
    "without": "SELECT k, s FROM a [RANGE 4 SECONDS] WHERE NOT EXISTS "
    "(SELECT 1 FROM b [RANGE 3 SECONDS] WHERE a.k = b.k)",
    "less": "SELECT k FROM a [RANGE 5 SECONDS] EXCEPT ALL SELECT k FROM b [RANGE 5 SECONDS]",
    "newest": "SELECT k, s FROM a [PARTITION BY k ROWS 2]",
    "of_newest": "SELECT s, COUNT(*) AS n FROM a [PARTITION BY k ROWS 2] GROUP BY s",
    "rows": "SELECT s, COUNT(*) AS n FROM a [ROWS 9] GROUP BY s",
    "first": "SELECT s, k FROM a [RANGE 5 SECONDS] ORDER BY s, k LIMIT 3",
    "named": "SELECT a.s, known.name FROM a [RANGE 4 SECONDS], known WHERE a.k = known.k",
    "groups": "SELECT n, COUNT(*) AS groups FROM "
    "(SELECT s, COUNT(*) AS n FROM a [RANGE 6 SECONDS] GROUP BY s) AS q GROUP BY n",
    "new": "SELECT ISTREAM DISTINCT s FROM a [RANGE 3 SECONDS]",
}


def rows(second: int) -> list[dict[str, Any]]:
    times = [second * SECOND + 1000 * place - (place % 3) * SECOND for place in range(9)]
    return [
        {"t": max(time, 0), "k": (second + place) % 5, "s": f"s{(3 * second + place) % 7}"}
        for place, time in enumerate(times)
    ]


def stepped(engine: ShardsInProcess, seconds: range) -> None:
    for second in seconds:
        engine.push("a", rows(second))
        engine.push("b", rows(second + 2)[: second % 4 * 2])
        engine.step()


def answers(engine: ShardsInProcess) -> dict[str, Counter[Any]]:
    return {name: Counter(map(str, engine[name].answer().to_pylist())) for name in QUERIES}


def emitted(engine: ShardsInProcess) -> dict[str, list[str]]:
    """What refreshes had, and what there was at every instant, by the changes."""
    told = {name: engine[name] for name in QUERIES}
    return {name: sorted(map(str, query.refreshes().to_pylist())) for name, query in told.items() if query.slide}


@pytest.mark.parametrize("numbers", [(1, 2), (2, 3, 1), (3, 2, 4)], ids=str)
def test_states_go_where_they_belong(tmp_path: Path, numbers: tuple[int, ...]) -> None:
    alone = ShardsInProcess(1, checkpoint=str(tmp_path / "alone"))
    alone.sql(STREAMS)
    moving = ShardsInProcess(numbers[0], checkpoint=str(tmp_path / "moving"))
    moving.sql(STREAMS)
    for name, text in QUERIES.items():
        for engine in (alone, moving):
            engine.sql(f"CREATE QUERY {name} AS {text}")
    second = 0
    for number in numbers:
        if number != numbers[0]:
            moving.close()
            moving = ShardsInProcess(number, checkpoint=str(tmp_path / "moving"))
        for engine in (alone, moving):
            stepped(engine, range(second, second + 4))
        second += 4
        assert moving.shards == number
        assert answers(moving) == answers(alone)
    assert emitted(moving) == emitted(alone)
    moving.close()
    without_a_number = ShardsInProcess(None, checkpoint=str(tmp_path / "moving"))
    assert without_a_number.shards == numbers[-1]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT s, SUM(k) AS sum FROM a GROUP BY s",
        "SELECT a.k, a.s FROM a [RANGE 4 SECONDS] LEFT JOIN b [RANGE 4 SECONDS] ON a.k = b.k",
    ],
)
def test_a_state_that_stays_is_refused_by_name(tmp_path: Path, query: str) -> None:
    engine = ShardsInProcess(2, checkpoint=str(tmp_path))
    engine.sql(STREAMS)
    engine.sql(f"CREATE QUERY ever AS {query}")
    engine.sql(f"CREATE QUERY counted AS {QUERIES['counted']}")
    stepped(engine, range(3))
    engine.close()
    with pytest.raises(CheckpointError, match=r"has 2 shards, and the state of ever cannot be taken to 3"):
        ShardsInProcess(3, checkpoint=str(tmp_path))
    again = ShardsInProcess(2, checkpoint=str(tmp_path))
    again.sql("DROP QUERY ever")
    stepped(again, range(3, 4))
    again.close()
    moved = ShardsInProcess(3, checkpoint=str(tmp_path))
    stepped(moved, range(4, 6))
    assert moved["counted"].answer().num_rows


def test_nothing_of_the_old_shards_is_left(tmp_path: Path) -> None:
    engine = ShardsInProcess(3, checkpoint=str(tmp_path))
    engine.sql(STREAMS)
    engine.sql(f"CREATE QUERY counted AS {QUERIES['counted']}")
    stepped(engine, range(3))
    engine.close()
    engine = ShardsInProcess(2, checkpoint=str(tmp_path))
    stepped(engine, range(3, 6))
    engine.close()
    engine = ShardsInProcess(2, checkpoint=str(tmp_path))  # sweeps what no commit knows
    stepped(engine, range(6, 7))
    last = engine.driver.batches.last
    assert last is not None
    assert {number for _, number in last.versions} == {0, 1}
