"""Recovery: killed anywhere and started again, an engine comes to what it comes to undisturbed.

In this process and without Spark, so that hundreds of deaths are affordable; `tests/spark` kills real drivers.
"""

from __future__ import annotations

import random
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from support.interrupted import Came, Killer, Rows, Say, Script, bag, over_time, played
from windrow.runtime.local import LocalEngine

DECLARATIONS = (
    "CREATE STREAM a (t TIMESTAMP, k BIGINT, v BIGINT, s STRING) TIMESTAMP BY t SLACK 2 SECONDS",
    "CREATE STREAM b (t TIMESTAMP, k BIGINT, v BIGINT, s STRING) TIMESTAMP BY t SLACK 2 SECONDS",
    "CREATE TABLE names (k BIGINT, name STRING)",
    "INSERT INTO names VALUES (0, 'zero'), (1, 'one')",
)
QUERIES = {
    "joined": "SELECT a.k, a.v, b.v AS w, a.s FROM a [RANGE 6 SECONDS], b [RANGE 4 SECONDS] WHERE a.k = b.k",
    "grouped": "SELECT s, COUNT(*) AS n, SUM(v) AS total, MAX(v) AS top FROM a [RANGE 5 SECONDS] GROUP BY s",
    "newest": "SELECT k, v, s FROM a [ROWS 3]",
    "unmatched": "SELECT k FROM a [RANGE 6 SECONDS] EXCEPT ALL SELECT k FROM b [RANGE 6 SECONDS]",
    "named": "SELECT a.v, names.name FROM a [RANGE 5 SECONDS], names WHERE a.k = names.k",
    "every": "SELECT k, COUNT(*) AS n FROM a [RANGE 6 SECONDS SLIDE 2 SECONDS] GROUP BY k",
    "regrouped": "SELECT n, COUNT(*) AS m FROM (SELECT k, COUNT(*) AS n FROM b [RANGE 5 SECONDS] GROUP BY k) AS q"
    " GROUP BY n",
}


QUERIES["again"] = QUERIES["named"]
EARLY = ("joined", "grouped", "named", "every")


def created(name: str, sinks: dict[str, Path]) -> Say:
    into = f" INTO json('{sinks[name]}')" if name in sinks else ""
    return Say(f"CREATE QUERY {name} AS {QUERIES[name]}{into}")


def rows_of(batch: int, dice: random.Random) -> Rows:
    """Up to seven rows of each stream, most of them within the slack."""

    def row() -> dict[str, Any]:
        time = max(0, 20 * batch + dice.randrange(-20, 20)) * 100_000
        return {"t": time, "k": dice.randrange(3), "v": dice.randrange(9), "s": f"s{batch // 3}"}

    drawn = {name: [row() for _ in range(dice.randrange(8))] for name in "ab"}
    return Rows({name: rows for name, rows in drawn.items() if rows})


def script(dice: random.Random, sinks: dict[str, Path]) -> Script:
    """A run in which queries come and go, one is created anew under its old name, and a table changes."""
    first: Script = [*map(Say, DECLARATIONS), *(created(name, sinks) for name in (*EARLY, "newest"))]
    batches = [rows_of(number, dice) for number in range(12)]
    later = [
        created("unmatched", sinks),
        Say("INSERT INTO names VALUES (2, 'two')"),
        created("again", sinks),
        Say("DROP QUERY newest"),
        created("regrouped", sinks),
        Say("DELETE FROM names WHERE k = 1"),
        created("newest", sinks),
        Say("INSERT INTO names VALUES (1, 'uno'), (7, 'seven')"),
    ]
    mixed: list[Say | Rows] = list(batches)
    places = sorted(dice.randrange(1, len(batches)) for _ in later)
    for done, (place, statement) in enumerate(zip(places, later, strict=True)):
        mixed.insert(place + done, statement)
    return [*first, *mixed, Say("END a"), Say("END b")]


def run(seed: int, shards: int, kills: list[int]) -> tuple[Came, list[str]]:
    with TemporaryDirectory(prefix="windrow-") as place:
        sinks = {name: Path(place) / name for name in ("joined", "every", "regrouped")}
        killer = Killer(kills)
        came = played(script(random.Random(seed), sinks), Path(place) / "checkpoint", sinks, shards, killer)
        return came, killer.kills


@given(st.integers(0, 100), st.integers(1, 3))
def test_undisturbed_it_comes_to_what_the_local_engine_does(seed: int, shards: int) -> None:
    local = LocalEngine()
    refreshes: list[pa.Table] = []
    for one in script(random.Random(seed), {}):
        if isinstance(one, Say):
            one.to(local)
            if one.statement.startswith("CREATE QUERY every"):
                local["every"].subscribe(refreshes.append)
        else:
            for stream, rows in one.rows.items():
                local.push(stream, rows)
            local.step()
    local.step()
    undisturbed, _ = run(seed, shards, [])
    assert {name: undisturbed.answers[name] for name in EARLY} == {n: over_time(local[n].changes()) for n in EARLY}
    assert undisturbed.refreshes["every"] == bag(pa.concat_tables(refreshes))
    assert undisturbed.late == {name: one["late"] for name, one in local.status()["streams"].items()}


@given(st.integers(0, 3), st.integers(1, 3), st.lists(st.integers(0, 120), min_size=4, max_size=12))
def test_killed_anywhere_it_comes_to_the_same(seed: int, shards: int, kills: list[int]) -> None:
    undisturbed, _ = run(seed, shards, [])
    disturbed, happened = run(seed, shards, kills)
    assert happened
    assert disturbed == undisturbed, happened
