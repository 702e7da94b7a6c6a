"""What sinks get: the modes of INTO, on the local runtime and on shards, and the forms that readers ask for.

Upserts are checked by applying them: what they have made of a table at an instant is the answer at that instant.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.python_sink import EMITTED
from support.shard_runs import ShardsInProcess
from windrow.errors import WindrowError
from windrow.runtime.local import LocalEngine
from windrow.runtime.modes import Mode
from windrow.runtime.outputs.sinks import SinkForm
from windrow.units import SECOND

STREAMS = """
    CREATE STREAM s (ts TIMESTAMP, k STRING, v INT) TIMESTAMP BY ts;
    CREATE STREAM t (ts TIMESTAMP, k STRING, v INT) TIMESTAMP BY ts;
"""
KEYED = {
    "k": "SELECT k, COUNT(*) AS n, SUM(v) AS total FROM s [RANGE 4 SECONDS] GROUP BY k",
    "": "SELECT COUNT(*) AS n FROM s [RANGE 3 SECONDS]",
    "k,v": "SELECT DISTINCT k, v FROM s [RANGE 3 SECONDS]",
    "a": "SELECT k AS a, v FROM s [PARTITION BY k ROWS 1]",
    "x,y": "SELECT s.k AS x, t.k AS y, s.v FROM s [PARTITION BY k ROWS 1], t [PARTITION BY k ROWS 1] WHERE s.v = t.v",
    "p": "SELECT k AS p, MAX(v) AS top FROM s [RANGE 4 SECONDS SLIDE 2 SECONDS] GROUP BY k",
}


def fed(engine: Any, batches: Sequence[Sequence[tuple[str, int, str | None, int | None]]]) -> None:
    """Rows (stream, second, k, v), batch by batch, then the end."""
    for batch in batches:
        for name in ("s", "t"):
            rows = [{"ts": f"2026-01-01 00:00:{at:02}", "k": k, "v": v} for stream, at, k, v in batch if stream == name]
            if rows:
                engine.push(name, rows)
        engine.step()
    for name in ("s", "t"):
        engine.end(name)
    engine.step()
    engine.run()


def engines() -> Iterator[Any]:
    yield LocalEngine()
    yield ShardsInProcess(1)
    yield ShardsInProcess(3, forgetful=True)


def micros(table: pa.Table, column: str) -> list[int]:
    return list(table.column(column).cast(pa.int64()).to_pylist())


def answers(changes: pa.Table, instants: Sequence[int]) -> list[Counter[tuple[Any, ...]]]:
    """From a changelog."""
    rows = list(zip(*(changes.column(name).to_pylist() for name in changes.column_names[:-3]), strict=True))
    ends = [2**63 if end is None else end for end in micros(changes, "_exp")]
    tuples = list(zip(rows, micros(changes, "_ts"), ends, changes.column("_sign").to_pylist(), strict=True))
    found = []
    for instant in instants:
        counts: Counter[tuple[Any, ...]] = Counter()
        for row, begin, end, sign in tuples:
            if begin <= instant < end:
                counts[row] += sign
        found.append(+counts)
    return found


def applied(upserts: pa.Table, key: Sequence[str], instants: Sequence[int]) -> list[Counter[tuple[Any, ...]]]:
    """What a table holds after all upserts up to an instant."""
    names = upserts.column_names[:-2]
    rows = list(zip(*(upserts.column(name).to_pylist() for name in names), strict=True))
    places = [names.index(name) for name in key]
    events = sorted(zip(micros(upserts, "_ts"), upserts.column("_sign").to_pylist(), range(len(rows)), strict=True))
    told = [(at, tuple(rows[row][place] for place in places)) for at, _, row in events]
    assert len(set(told)) == len(told), "a key is told once an instant"
    found = []
    for instant in instants:
        table = {}
        for at, sign, row in events:
            if at <= instant:
                of = tuple(rows[row][place] for place in places)
                table[of] = rows[row] if sign > 0 else None
        found.append(Counter(row for row in table.values() if row is not None))
    return found


@st.composite
def batches(draw: st.DrawFn) -> list[list[tuple[str, int, str | None, int | None]]]:
    """Rows of two streams in the order of time, cut somewhere."""
    row = st.tuples(
        st.sampled_from("st"), st.integers(0, 20), st.sampled_from(["a", "b", "c", None]), st.integers(0, 3)
    )
    rows = sorted(draw(st.lists(row, min_size=1, max_size=25)), key=lambda row: row[1])
    cuts = sorted(draw(st.sets(st.integers(1, 20), max_size=5)))
    edges = [0, *cuts, 60]
    return [[row for row in rows if a <= row[1] < b] for a, b in pairwise(edges)]


@given(batches(), st.sampled_from(sorted(KEYED)), st.sampled_from([0, 1, 2]))
def test_upserts_make_the_answer(
    rows: list[list[tuple[str, int, str | None, int | None]]], key: str, which: int
) -> None:
    engine = list(engines())[which]
    engine.sql(f"{STREAMS} CREATE QUERY q AS {KEYED[key]} INTO python('support.python_sink:record', mode => 'upsert')")
    EMITTED.clear()
    fed(engine, rows)
    changes = engine["q"].changes()
    begin = 1_767_225_600 * SECOND
    instants = range(begin, begin + 30 * SECOND, SECOND // 2)
    names = [name for name in key.split(",") if name]
    upserts = pa.concat_tables(EMITTED) if EMITTED else None
    found = [Counter[tuple[Any, ...]]()] * len(instants) if upserts is None else applied(upserts, names, instants)
    assert found == answers(changes, instants)


@given(batches(), st.sampled_from(["SELECT k, v FROM s [RANGE 3 SECONDS]", *KEYED.values()]), st.sampled_from([1, 3]))
def test_streams_of_results_are_those_that_the_language_has(
    rows: list[list[tuple[str, int, str | None, int | None]]], query: str, shards: int
) -> None:
    engine = ShardsInProcess(shards)
    engine.sql(STREAMS)
    asked = engine.query(query, name="asked")
    modes = {Mode.ISTREAM: "ISTREAM", Mode.DSTREAM: "DSTREAM"}
    for mode, word in modes.items():
        try:
            engine.driver.add_output_mode(asked, SinkForm(mode))
        except WindrowError as error:
            assert "on several shards" in error.message and shards > 1
            return
        engine.query(query.replace("SELECT", f"SELECT {word}", 1), name=f"by_{word}")
    fed(engine, rows)
    for mode, word in modes.items():
        wanted = engine[f"by_{word}"].changes().drop_columns(["_exp", "_sign"])
        assert bag(engine.driver.answers.emitted(asked, mode)) == bag(wanted)


def bag(table: pa.Table) -> Counter[str]:
    return Counter(repr(row) for row in table.to_pylist())


ROWS = [[("s", 1, "a", 1), ("s", 2, "b", 2)], [("s", 3, "a", 5)], [("s", 9, "b", 1), ("t", 9, "a", 1)]]
BY_KEY = "SELECT k, SUM(v) AS total FROM s [RANGE 4 SECONDS] GROUP BY k"


@pytest.mark.parametrize("form", ["parquet", "json", "csv"])
@pytest.mark.parametrize("mode", ["changelog", "upsert", "snapshot"])
def test_files_have_the_same_rows_on_shards(form: str, mode: str, tmp_path: Path) -> None:
    found = []
    for number, engine in enumerate(engines()):
        folder = tmp_path / str(number)
        engine.sql(f"{STREAMS} CREATE QUERY q AS {BY_KEY} INTO {form}('{folder}', mode => '{mode}')")
        fed(engine, ROWS)
        paths = sorted(folder.iterdir())
        assert paths and all(path.name.startswith("part-") for path in paths)
        if form == "parquet":
            found.append(bag(pa.concat_tables([pa.parquet.read_table(path) for path in paths])))
        else:
            found.append(Counter(line for path in paths for line in path.read_text().splitlines()[form == "csv" :]))
    assert found[0] == found[1] == found[2] and found[0]


def test_modes_add_their_columns(tmp_path: Path) -> None:
    engine = LocalEngine()
    engine.sql(STREAMS)
    for mode in ("changelog", "upsert", "snapshot"):
        engine.sql(f"CREATE QUERY {mode} AS {BY_KEY} INTO json('{tmp_path}/{mode}', mode => '{mode}')")
    fed(engine, ROWS)
    lines = {
        mode.name: [json.loads(line) for path in sorted(mode.iterdir()) for line in path.read_text().splitlines()]
        for mode in tmp_path.iterdir()
    }

    def at(second: int) -> str:
        return f"2026-01-01T00:00:{second:02}+00:00"

    assert lines["upsert"] == [
        {"k": "a", "total": 1, "_ts": at(1), "_sign": 1},
        {"k": "b", "total": 2, "_ts": at(2), "_sign": 1},
        {"k": "a", "total": 6, "_ts": at(3), "_sign": 1},
        {"k": "a", "total": 5, "_ts": at(5), "_sign": 1},
        {"k": "b", "total": 2, "_ts": at(6), "_sign": -1},
        {"k": "a", "total": 5, "_ts": at(7), "_sign": -1},
        {"k": "b", "total": 1, "_ts": at(9), "_sign": 1},
        {"k": "b", "total": 1, "_ts": at(13), "_sign": -1},
    ]
    before_2, before_3 = "2026-01-01T00:00:01.999999+00:00", "2026-01-01T00:00:02.999999+00:00"
    assert lines["snapshot"] == [
        {"k": "a", "total": 1, "_ts": before_2},
        {"k": "a", "total": 1, "_ts": before_3},
        {"k": "b", "total": 2, "_ts": before_3},
        {"k": "b", "total": 1, "_ts": at(9)},
    ]
    assert {"_ts", "_exp", "_sign"} < lines["changelog"][0].keys()


@pytest.mark.parametrize("which", range(3))
def test_a_function_can_tell_pieces_apart(which: int) -> None:
    engine = list(engines())[which]
    engine.sql(f"{STREAMS} CREATE QUERY q AS {BY_KEY} INTO python('support.python_sink:record')")
    EMITTED.clear()
    fed(engine, [[*batch, ("t", batch[-1][1], "a", 1)] for batch in ROWS])
    labels = [(table.schema.metadata[b"query"], int(table.schema.metadata[b"batch"])) for table in EMITTED]
    assert len(set(labels)) == len(labels) >= 2
    assert {query for query, _ in labels} == {b"q"}


def test_a_folder_with_results_is_refused_on_shards(tmp_path: Path) -> None:
    (tmp_path / "part-000.json").write_text("{}")
    engine = ShardsInProcess(2)
    engine.sql(STREAMS)
    with pytest.raises(WindrowError, match="has results already"):
        engine.sql(f"CREATE QUERY q AS {BY_KEY} INTO json('{tmp_path}')")
    assert engine.session.catalog.get("q") is None
