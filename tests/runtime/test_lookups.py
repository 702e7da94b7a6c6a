"""A non-retroactive table is looked up as it was just before the time of the row, whatever window shows the row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

import windrow
from support.shard_runs import ShardsInProcess
from windrow.errors import WindrowError

TIMES = (1, 3, 5, 6, 8, 13, 17, 18, 30)
CHANGES = (("INSERT INTO n VALUES (1, 'one')", 5), ("UPDATE n SET name = 'uno' WHERE k = 1", 13))
WINDOWS = (
    "RANGE 10 SECONDS",
    "RANGE 10 SECONDS SLIDE 10 SECONDS",
    "RANGE 9 SECONDS SLIDE 2 SECONDS",
    "RANGE FROM 12 SECONDS TO 4 SECONDS AGO",
)
FORMS = {
    "join": ("SELECT s.id, n.name FROM {s}, n WHERE s.k = n.k AND s.id >= 0", lambda name: name is not None),
    "table first": ("SELECT s.id, n.name FROM n, {s} WHERE s.k = n.k", lambda name: name is not None),
    "outer": ("SELECT s.id, n.name FROM {s} LEFT JOIN n ON s.k = n.k", lambda name: True),
    "below": (
        "SELECT q.id, n.name FROM (SELECT s.id, s.k FROM {s} WHERE s.id > -1) AS q, n WHERE q.k = n.k",
        lambda name: name is not None,
    ),
    "present": ("SELECT s.id FROM {s} WHERE EXISTS (SELECT * FROM n WHERE s.k = n.k)", lambda name: name is not None),
    "in": ("SELECT s.id FROM {s} WHERE s.k IN (SELECT k FROM n)", lambda name: name is not None),
    "not in": ("SELECT s.id FROM {s} WHERE s.k NOT IN (SELECT k FROM n)", lambda name: name is None),
    "absent": ("SELECT s.id FROM {s} WHERE NOT EXISTS (SELECT * FROM n WHERE s.k = n.k)", lambda name: name is None),
}


def name_at(time: int) -> str | None:
    return None if time <= 5 else "one" if time <= 13 else "uno"


def stamp(second: int) -> str:
    return f"2026-01-01 00:00:{second:02}"


def engines() -> Iterator[tuple[str, Any]]:
    yield "local", windrow.connect(local=True)
    for shards in (1, 3):
        yield f"{shards} shards", ShardsInProcess(shards, forgetful=shards == 3)


def met(changes: pa.Table) -> set[tuple[Any, ...]]:
    names = [name for name in changes.column_names if not name.startswith("_")]
    return {tuple(row[name] for name in names) for row in changes.to_pylist()}


@pytest.mark.parametrize("strategy", ["upa", "direct", "nt"])
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("form", FORMS)
def test_the_table_is_looked_up_at_the_time_of_the_row(form: str, window: str, strategy: str) -> None:
    text, meets = FORMS[form]
    has_name = "n.name" in text
    wanted = {(time, name_at(time)) if has_name else (time,) for time in TIMES if meets(name_at(time))}
    for where, engine in engines():
        engine.sql(f"""
            SET strategy = {strategy};
            CREATE STREAM s (ts TIMESTAMP, id INT, k INT) TIMESTAMP BY ts;
            CREATE TABLE n (k INT, name STRING, PRIMARY KEY (k)) NON RETROACTIVE
        """)
        query = engine.query(text.format(s=f"s [{window}]"))
        for change, at in CHANGES:
            engine.sql(f"{change} AT TIMESTAMP '{stamp(at)}'")
        for step in (TIMES[:2], TIMES[2:6], TIMES[6:]):
            engine.push("s", [{"ts": stamp(time), "id": time, "k": 1} for time in step])
            engine.step()
        engine.end("s")
        engine.run()
        assert met(query.changes()) == wanted, where
        engine.close()


@pytest.mark.parametrize("window", ["RANGE 10 SECONDS SLIDE 5 SECONDS", "RANGE FROM 12 SECONDS TO 4 SECONDS AGO"])
def test_rows_with_lifetimes_that_are_shown_later_are_refused(window: str) -> None:
    engine = windrow.connect(local=True)
    engine.sql("""
        CREATE STREAM s (ts TIMESTAMP, k INT, lives INTERVAL) TIMESTAMP BY ts LIFETIME BY lives;
        CREATE TABLE n (k INT, name STRING, PRIMARY KEY (k)) NON RETROACTIVE
    """)
    engine.query("SELECT s.k, n.name FROM s [RANGE 10 SECONDS], n WHERE s.k = n.k")
    with pytest.raises(WindrowError, match="leave SLIDE or AGO out"):
        engine.query(f"SELECT s.k, n.name FROM s [{window}], n WHERE s.k = n.k")
