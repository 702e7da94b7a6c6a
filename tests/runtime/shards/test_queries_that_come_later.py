"""Queries that are created and dropped while others run, on shards: they share what runs, and are filled from it."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from support.shard_runs import ShardsInProcess
from windrow.units import BEGINNING, SECOND

STREAMS = """
CREATE STREAM a (t TIMESTAMP, k BIGINT, s STRING) TIMESTAMP BY t SLACK 1 SECOND;
CREATE STREAM b (t TIMESTAMP, k BIGINT, s STRING) TIMESTAMP BY t;
CREATE TABLE known (k BIGINT, name STRING);
INSERT INTO known VALUES (1, 'one'), (2, 'two'), (3, 'three')
"""
COUNTED = "SELECT s, COUNT(*) AS n FROM a [RANGE 4 SECONDS] GROUP BY s"
JOINED = "SELECT a.k, a.s, b.s AS other FROM a [RANGE 3 SECONDS], b [RANGE 2 SECONDS] WHERE a.k = b.k"
FIRST = {"counted": COUNTED, "joined": JOINED, "newest": "SELECT k, s FROM a [PARTITION BY k ROWS 2]"}
AT_ONCE = ("same", "groups", "of_newest")  # above what runs from the beginning; others read fewer columns of a window
LATER = {
    "same": COUNTED,
    "groups": f"SELECT n, COUNT(*) AS groups FROM ({COUNTED}) AS q GROUP BY n",
    "others": f"SELECT DISTINCT other FROM ({JOINED}) AS j",
    "by_name": f"SELECT j.s, known.name FROM ({JOINED}) AS j, known WHERE j.k = known.k",
    "pairs": f"SELECT s, COUNT(*) AS n FROM ({JOINED}) AS j GROUP BY s",
    "of_newest": "SELECT s, COUNT(*) AS n FROM a [PARTITION BY k ROWS 2] GROUP BY s",
    "longer": "SELECT s, COUNT(*) AS n FROM a [RANGE 5 SECONDS] GROUP BY s",
    "again": f"SELECT n, COUNT(*) AS groups FROM ({COUNTED}) AS q GROUP BY n",
    "and_again": f"SELECT s, COUNT(*) AS n FROM ({JOINED}) AS j GROUP BY s",
    "last": COUNTED,
}


def rows(second: int) -> list[dict[str, Any]]:
    return [
        {"t": second * SECOND + 1000 * place - place % 2 * SECOND // 2, "k": (second + place) % 5,
         "s": f"s{(3 * second + place) % 7}"}
        for place in range(6)
    ]  # fmt: skip


def stepped(engine: ShardsInProcess, seconds: range) -> None:
    for second in seconds:
        engine.push("a", rows(second))
        engine.push("b", rows(second + 2)[: second % 4 * 2])
        engine.step()


def an_engine(shards: int, place: Path, texts: dict[str, str], forgetful: bool = False) -> ShardsInProcess:
    engine = ShardsInProcess(shards, forgetful, checkpoint=str(place))
    engine.sql(STREAMS)
    for name, text in texts.items():
        engine.sql(f"CREATE QUERY {name} AS {text}")
    return engine


def answer(engine: ShardsInProcess, name: str) -> Counter[str]:
    return Counter(map(str, engine[name].answer().to_pylist()))


def told(engine: ShardsInProcess, name: str) -> Counter[str]:
    """What the changes of a query come to."""
    sums: Counter[str] = Counter()
    watermark = engine[name].watermark
    for row in engine[name].changes().to_pylist():
        begin, end, sign = row.pop("_ts"), row.pop("_exp"), row.pop("_sign")
        if _micros(begin) < watermark and (end is None or _micros(end) >= watermark):
            sums[str(row)] += sign
    assert all(count >= 0 for count in sums.values())
    return +sums


def is_complete(engine: ShardsInProcess, name: str) -> bool:
    """Whether the answer is that of a query that was always there."""
    since, running = engine[name].complete_from, engine.driver.plans.running(name)
    if running is None or running.start >= engine[name].watermark:
        return False  # some of its streams are behind its creation
    return since is None or engine[name].watermark > since


def _micros(time: Any) -> int:
    return round(time.timestamp() * 1e6)


@pytest.mark.parametrize("shards", [1, 2, 3])
def test_one_after_the_other_they_are_one(shards: int, tmp_path: Path) -> None:
    engine = an_engine(shards, tmp_path, {})
    for number in range(20):
        engine.sql(f"CREATE QUERY q{number} AS {COUNTED}")
        stepped(engine, range(number, number + 1))
    shared = engine.driver.sharing()
    assert 20 * shared["operators"] == shared["operators_alone"]
    assert {inbox.rpartition("/")[0] for inbox in parts(engine) if inbox.startswith("inbox/")} == {"inbox"}
    assert len([part for part in parts(engine) if part.startswith("inbox/")]) == 1
    assert answer(engine, "q19") == answer(engine, "q0") == told(engine, "q19")
    assert engine["q19"].complete_from is None, "it has all rows from the first on"


def parts(engine: ShardsInProcess) -> set[str]:
    """What is kept, on all shards."""
    from windrow.runtime.shards.storage.manifests import read_manifest

    driver = engine.driver
    assert driver.batches.last is not None
    folder = driver.checkpoint.folder
    return {part for version in driver.batches.last.versions.values() for part in read_manifest(folder, version).parts}


@pytest.mark.parametrize(("shards", "forgetful"), [(1, False), (2, False), (3, True)])
def test_what_comes_later_is_filled_from_what_runs(shards: int, forgetful: bool, tmp_path: Path) -> None:
    alone = an_engine(1, tmp_path / "alone", {**FIRST, **LATER})
    engine = an_engine(shards, tmp_path / "later", FIRST, forgetful)
    second = 6
    for each in (alone, engine):
        stepped(each, range(second))
    for name, text in LATER.items():
        engine.sql(f"CREATE QUERY {name} AS {text}")
        for each in (alone, engine):
            stepped(each, range(second, second + 1))
        second += 1
        running = engine.driver.plans.running(name)
        assert running is not None and not running.is_apart
        assert running.start > BEGINNING
        assert engine[name].complete_from is None or name not in AT_ONCE
        for known in (*FIRST, *(later for later in LATER if engine.driver.plans.running(later))):
            running = engine.driver.plans.running(known)
            if running is not None and running.start < engine[known].watermark:
                assert told(engine, known) == answer(engine, known), (name, known)
            if is_complete(engine, known):
                assert answer(engine, known) == answer(alone, known), (name, known)
    assert is_complete(engine, "others"), "a window has passed"


def test_a_restart_and_other_shards_change_nothing(tmp_path: Path) -> None:
    alone = an_engine(1, tmp_path / "alone", {**FIRST, **LATER})
    engine = an_engine(2, tmp_path / "later", FIRST)
    for each in (alone, engine):
        stepped(each, range(5))
    for second, (name, text) in enumerate(LATER.items(), 5):
        engine.sql(f"CREATE QUERY {name} AS {text}")
        engine.close()
        engine = ShardsInProcess(1 + second % 3, checkpoint=str(tmp_path / "later"))
        for each in (alone, engine):
            stepped(each, range(second, second + 1))
        before = engine[name].coverage
        engine.close()
        engine = ShardsInProcess(None, checkpoint=str(tmp_path / "later"))
        assert engine[name].coverage == before
        for known in (*FIRST, name, "same"):
            if is_complete(engine, known):
                assert answer(engine, known) == answer(alone, known), (name, known)


def test_dropping_everything_leaves_nothing(tmp_path: Path) -> None:
    engine = an_engine(2, tmp_path, FIRST)
    chance = random.Random(7)
    names = list(FIRST)
    for second in range(12):
        stepped(engine, range(second, second + 1))
        if names and chance.random() < 0.5:
            engine.sql(f"DROP QUERY {names.pop(chance.randrange(len(names)))}")
        else:
            names.append(f"n{second}")
            engine.sql(f"CREATE QUERY n{second} AS {chance.choice([*LATER.values()])}")
    for name in names:
        engine.sql(f"DROP QUERY {name}")
    stepped(engine, range(12, 14))
    assert {part.split("/")[0] for part in parts(engine)} <= {"table"}
    assert not engine.driver.plans.current.covered
    assert not engine.driver.plans.current.since
