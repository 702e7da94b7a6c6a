"""Aggregates over joins that are looked up give, at every instant that can be asked for, what SQL gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.generated_streams import SECOND, START
from support.local_runs import TIMESTAMP, bag_of_table, table_of
from support.rows_in_view import Row
from support.shard_runs import ShardsInProcess
from support.text_oracle import answer_at
from windrow.clock import ManualClock
from windrow.errors import WindrowError
from windrow.plan.aggregates import aggregate_call, traits_of
from windrow.plan.expressions import ColumnReference
from windrow.plan.running_nodes import JoinSynopsis
from windrow.plan.synopsis_kinds import JoinSynopsisKind
from windrow.runtime.local import LocalEngine
from windrow.runtime.lookups import rechoosing
from windrow.runtime.lookups.rechoosing import RechoosingJoin
from windrow.sharing import join_lookups
from windrow.sharing.join_synopsis_choice import JoinChoice, JoinWorkload, chosen_for_join, join_alternatives
from windrow.synopses import JoinSynopsisForm
from windrow.types import BIGINT

HALF = SECOND // 2
SCHEMAS = {
    "a": pa.schema([("ts", TIMESTAMP), ("id", pa.int64()), ("k", pa.string()), ("x", pa.int64())]),
    "b": pa.schema([("ts", TIMESTAMP), ("id", pa.int64()), ("y", pa.int64()), ("z", pa.string())]),
}
DECLARATION = """
    CREATE STREAM a (ts TIMESTAMP, id BIGINT, k STRING, x BIGINT) TIMESTAMP BY ts;
    CREATE STREAM b (ts TIMESTAMP, id BIGINT, y BIGINT, z STRING) TIMESTAMP BY ts;
"""
Streams = dict[str, list[Row]]

aggregates = st.lists(
    st.sampled_from(
        ["COUNT(*)", "COUNT(b.y)", "SUM(a.x)", "SUM(a.x * b.y)", "AVG(b.y)", "AVG(CAST(a.x AS DOUBLE) / 3)",
         "MIN(a.x)", "MAX(b.z)", "MAX(a.x + b.y)", "MIN(a.ts)", "SUM(CAST(b.y AS DECIMAL(30, 2)))"]
    ),
    min_size=1, max_size=3, unique=True,
)  # fmt: skip
joins = st.sampled_from(
    ["a {0}, b {1} WHERE a.id = b.id",
     "a {0}, b {1} WHERE a.id = b.id",
     "a {0} JOIN b {1} ON a.id = b.id AND a.x <= b.y WHERE a.x <> 1",
     "(SELECT id, k, x, ts FROM a {0} WHERE x > 0) AS a JOIN b {1} ON a.id = b.id",
     "a {0} JOIN (SELECT id, x AS y, k AS z FROM a {1}) AS b ON a.id = b.id",
     "a {0}, b {1}"]
)  # fmt: skip


@st.composite
def streams(draw: st.DrawFn, most: int) -> Streams:
    """Ties in time, skewed keys, nulls, bursts."""
    found: Streams = {}
    for name, values in (("a", ("k", "x")), ("b", ("y", "z"))):
        times = sorted(draw(st.lists(st.integers(0, 20), max_size=most)))
        of = {
            "k": st.sampled_from(["p", "q", None]),
            "x": st.none() | st.integers(0, 3),
            "y": st.none() | st.integers(-2, 9),
            "z": st.sampled_from(["b", "a", None, "longer"]),
        }
        ids = st.none() | st.integers(0, 2)
        found[name] = [
            {"ts": START + time * HALF, "id": draw(ids), **{value: draw(of[value]) for value in values}}
            for time in times
        ]
    return found


@st.composite
def workloads(draw: st.DrawFn) -> list[str]:
    """Queries over one join or two, most of them with one slide, so that they share."""
    written = draw(st.lists(joins, min_size=1, max_size=2))
    slides = draw(st.lists(st.integers(1, 4), min_size=1, max_size=2))
    found = []
    for _ in range(draw(st.integers(1, 4))):
        slide = draw(st.sampled_from(slides)) * 500
        windows = (f"[RANGE {draw(st.integers(1, 12)) * 500} MILLISECONDS SLIDE {slide} MILLISECONDS]" for _ in "ab")
        key, group = draw(st.sampled_from([("a.k, ", " GROUP BY a.k"), ("b.z, a.k, ", " GROUP BY b.z, a.k"), ("", "")]))
        having = draw(st.sampled_from(["", "", " HAVING COUNT(*) > 2"]))
        source = draw(st.sampled_from(written)).format(*windows)
        found.append(f"SELECT {key}{', '.join(draw(aggregates))} FROM {source}{group}{having}")
    return found


def steps(engine: Any, rows: Streams, cuts: Sequence[int]) -> Iterator[int]:
    """Push rows of both streams piece by piece, then end them; gives how far they are final."""
    done = dict.fromkeys(rows, 0)
    for edge in [*sorted({START + cut * HALF for cut in cuts}), None]:
        for name, all_rows in rows.items():
            upto = len(all_rows) if edge is None else sum(1 for row in all_rows if row["ts"] < edge)
            if upto > done[name]:
                engine.push(name, table_of(all_rows[done[name] : upto], SCHEMAS[name]))
                done[name] = upto
        engine.step()
        yield engine.watermark
    for name in rows:
        engine.end(name)
    engine.step()
    yield engine.watermark


def check(engine: Any, asked: Sequence[str], rows: Streams, cuts: Sequence[int], strategy: str = "upa") -> None:
    engine.sql(f"{DECLARATION} SET strategy = {strategy};")
    running = [engine.query(f"{text} REFRESH ON LOOKUP", name=f"q{n}") for n, text in enumerate(asked)]
    for final in steps(engine, rows, cuts):
        there = {name: [row for row in all_rows if row["ts"] < final] for name, all_rows in rows.items()}
        if not any(there.values()):
            continue
        ended = final > START + 100 * SECOND
        newest = max(row["ts"] for some in there.values() for row in some)
        instants = [final - 1, final - 2, final - HALF] if not ended else [newest, newest + HALF, newest + 4 * SECOND]
        for query, text in zip(running, asked, strict=True):
            for instant in instants:
                try:
                    found = bag_of_table(query.answer(instant))
                except WindrowError as error:
                    assert instant != final - 1 and "not kept any more" in str(error), text
                    continue
                assert found == answer_at(text, there, SCHEMAS, instant), (text, instant - START, final - START)


def only(patch: pytest.MonkeyPatch, kind: JoinSynopsisKind | None) -> None:
    """Let the planner have no choice where this one is possible."""

    def first(traits: Any, load: Any) -> JoinChoice:
        found = join_alternatives(traits, load)
        return next((one for one in found if one.kind is kind), chosen_for_join(traits, load))

    patch.setattr(join_lookups, "chosen_for_join", first)


@settings(max_examples=250)
@given(
    rows=streams(most=16),
    asked=workloads(),
    cuts=st.lists(st.integers(0, 24), max_size=6),
    kind=st.sampled_from([None, *JoinSynopsisKind]),
    strategy=st.sampled_from(["upa", "upa", "direct", "nt"]),
    watched=st.booleans(),
)
def test_what_sql_gives(
    rows: Streams, asked: list[str], cuts: list[int], kind: JoinSynopsisKind | None, strategy: str, watched: bool
) -> None:
    """Whatever the planner chooses, and however often it changes its mind."""
    with pytest.MonkeyPatch.context() as patch:
        only(patch, kind)
        if watched:
            patch.setattr(rechoosing, "BETWEEN_POLLS", 1)
            patch.setattr("windrow.sharing.synopsis_choice._PATIENCE", 1)
        check(LocalEngine(), asked, rows, cuts, strategy)


@settings(max_examples=60)
@given(
    rows=streams(most=12),
    asked=workloads(),
    cuts=st.lists(st.integers(0, 24), max_size=4),
    shards=st.sampled_from([1, 3]),
    kind=st.sampled_from([None, *JoinSynopsisKind]),
    strategy=st.sampled_from(["upa", "upa", "nt"]),
)
def test_what_sql_gives_on_shards(
    rows: Streams, asked: list[str], cuts: list[int], shards: int, kind: JoinSynopsisKind | None, strategy: str
) -> None:
    """Workers have nothing in memory from batch to batch: all comes from what was written."""
    with pytest.MonkeyPatch.context() as patch:
        only(patch, kind)
        engine = ShardsInProcess(shards, forgetful=True)
        check(engine, asked, rows, cuts, strategy)
        engine.close()


A_K = (
    "SELECT a.k, {0} FROM a [RANGE {1} SECONDS SLIDE {3} SECONDS], b [RANGE {2} SECONDS SLIDE {3} SECONDS]"
    " WHERE a.id = b.id GROUP BY a.k"
)


def some_rows(count: int = 120) -> Streams:
    """Three keys and two groups, two rows a second of each stream."""
    times = [START + n * HALF for n in range(count)]
    first = [{"ts": time, "id": n % 3, "k": "pq"[n % 2], "x": n} for n, time in enumerate(times)]
    second = [{"ts": time, "id": n % 5, "y": n * n % 17, "z": None} for n, time in enumerate(times)]
    return {"a": first, "b": second}


def started(engine: Any, *asked: str) -> list[Any]:
    """Queries that have seen some rows."""
    engine.sql(DECLARATION)
    running = [engine.query(f"{text} REFRESH ON LOOKUP") for text in asked]
    for name, all_rows in some_rows().items():
        engine.push(name, table_of(all_rows, SCHEMAS[name]))
    engine.step()
    return running


def test_queries_with_one_slide_share_one_join() -> None:
    """Whatever the lengths of their windows and their aggregates; it has what all of them need."""
    lengths = (("SUM(a.x)", 60, 80), ("MAX(b.y)", 40, 40), ("AVG(a.x)", 20, 30))
    engine = LocalEngine()
    *shared, other = started(engine, *(A_K.format(*one, 10) for one in lengths), A_K.format("SUM(a.x)", 60, 80, 20))
    synopses = [query.explain().plan.inputs[0].inputs[0] for query in (*shared, other)]
    assert synopses[0] == synopses[1] == synopses[2] != synopses[3]
    (kept,) = (
        one for one in engine._running._lookups.synopses() if isinstance(one, JoinSynopsis) and one.slide == 10 * SECOND
    )
    assert (kept.slice, kept.lengths, kept.difference) == (10 * SECOND, (60 * SECOND, 80 * SECOND), 2)
    assert [named.call.function for named in kept.aggregates] == ["COUNT", "SUM", "MAX", "AVG"]
    assert synopses[0].detail.endswith("in 8 slices of 10 SECONDS, two windows up to 2 apart")


def test_slices_that_would_be_too_many_are_not_shared() -> None:
    """Slices of 1 and of 1.001 seconds have a millisecond in common."""
    engine = LocalEngine()
    windows = [f"[RANGE {length} MILLISECONDS SLIDE 1001000 MILLISECONDS]" for length in (599_000, 599_599)]
    started(engine, *(f"SELECT COUNT(*) FROM a {one}, b {one} WHERE a.id = b.id" for one in windows))
    assert sorted(one.slice for one in engine._running._lookups.synopses()) == [SECOND, 1_001_000]


@pytest.mark.parametrize("shards", [0, 3])
@pytest.mark.parametrize(
    "text",
    [
        A_K.format("SUM(a.x)", 20, 20, 10),
        A_K.format("MAX(b.y) + COUNT(*) AS t", 10, 30, 10),
        A_K.format("SUM(a.x)", 40, 20, 10),
        "SELECT a.k FROM a [RANGE 20 SECONDS SLIDE 10 SECONDS], b [RANGE 20 SECONDS SLIDE 10 SECONDS] WHERE a.id = b.id"
        " GROUP BY a.k HAVING SUM(a.x) > 2000",
    ],
)
def test_a_query_is_found_in_what_is_kept_for_others(shards: int, text: str) -> None:
    engine: Any = ShardsInProcess(shards, forgetful=True) if shards else LocalEngine()
    started(engine, A_K.format("SUM(a.x), MAX(b.y)", 40, 40, 10), A_K.format("COUNT(*)", 40, 20, 10))
    there = {name: [row for row in all_rows if row["ts"] < engine.watermark] for name, all_rows in some_rows().items()}
    wanted = answer_at(text, there, SCHEMAS, engine.watermark - 1)
    assert bag_of_table(engine.lookup(text)) == wanted
    assert wanted
    engine.close()


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (A_K.format("SUM(a.x)", 50, 40, 10), "are not among those", "ask for up to 40 SECONDS and 30 SECONDS"),
        (A_K.format("SUM(a.x)", 15, 15, 10), "are not among those", "multiples of 10 SECONDS, at most 10 SECONDS"),
        (A_K.format("SUM(a.x)", 10, 30, 10), "are not among those", "at most 10 SECONDS apart"),
        (A_K.format("SUM(a.x)", 20, 20, 5), "nothing that is kept answers", "these groups, aggregates and SLIDE"),
        (A_K.format("AVG(a.x)", 20, 20, 10), "nothing that is kept answers", "these groups, aggregates and SLIDE"),
        ("SELECT SUM(x) FROM a [RANGE 1 MINUTE]", "nothing that is kept answers", "these groups and aggregates"),
    ],
)  # fmt: skip
def test_what_is_not_kept_is_refused(text: str, message: str, hint: str) -> None:
    engine = LocalEngine()
    started(engine, A_K.format("SUM(a.x)", 40, 30, 10))
    with pytest.raises(WindrowError, match=message) as caught:
        engine.lookup(text)
    assert hint in str(caught.value)


def test_groups_without_pairs_are_forgotten() -> None:
    """Many come and go; their places are used again, and nothing of one is found in the next."""
    rows: Streams = {"a": [], "b": []}
    for n in range(200):
        rows["a"].append({"ts": START + n * SECOND, "id": n, "k": f"k{n}", "x": n})
        rows["b"].append({"ts": START + n * SECOND, "id": n, "y": n, "z": None})
    for kind in JoinSynopsisKind:
        with pytest.MonkeyPatch.context() as patch:
            only(patch, kind)
            engine = LocalEngine()
            engine.sql(DECLARATION)
            query = engine.query(f"{A_K.format('SUM(a.x), MAX(b.y)', 4, 3, 1)} REFRESH ON LOOKUP")
            for first in range(0, 200, 10):
                for name, all_rows in rows.items():
                    engine.push(name, table_of(all_rows[first : first + 10], SCHEMAS[name]))
                engine.step()
                last = first + 7  # the last refresh is at the next row, and the watermark at the one after that
                found = [(n, n) for n in range(max(0, last - 2), last + 1)]
                assert sorted((row["sum"], row["max"]) for row in query.answer().to_pylist()) == found
            ((_, state),) = engine._running._lookups.synopses().values()
            assert len(state.groups) <= 4
            assert state.groups.capacity <= 64


@pytest.mark.parametrize(
    ("lookups", "kinds"),
    [(10.0, ("BIJ", "BIJ")), (1_000.0, ("IJ", "IJ")), (100_000.0, ("RJ", "IJ"))],
)
def test_the_more_is_asked_the_less_a_lookup_has_to_merge(lookups: float, kinds: tuple[str, str]) -> None:
    load = JoinWorkload(1_000.0, lookups, (64,), 64, 0)
    x = ColumnReference("x", BIGINT)
    found = [chosen_for_join(traits_of(aggregate_call(name, [x])), load) for name in ("SUM", "MAX")]
    assert tuple(one.kind.value for one in found) == kinds
    assert all(one.reason.startswith(f"{one.kind.value}: a pair goes into") for one in found)


def test_slices_alone_when_no_more_fits() -> None:
    load = JoinWorkload(1_000.0, 100_000.0, (64,), 64, 0, groups=10, memory=64 * 16 * 10)
    found = chosen_for_join(traits_of(aggregate_call("SUM", [ColumnReference("x", BIGINT)])), load)
    assert found.kind.value == "BIJ" and "RJ would cost less and does not fit into 10.2 kB" in found.reason


@pytest.mark.parametrize("shards", [0, 3])
def test_streams_by_the_time_at_which_rows_come(shards: int) -> None:
    """They have no column of time; the pairs know that of both rows nevertheless."""
    clock = ManualClock(START)
    engine: Any = ShardsInProcess(shards, forgetful=True, clock=clock) if shards else LocalEngine(clock=clock)
    engine.sql(
        "CREATE STREAM a (id BIGINT, k STRING, x BIGINT) ARRIVAL; CREATE STREAM b (id BIGINT, y BIGINT) ARRIVAL;"
    )
    text = A_K.format("COUNT(*) AS n, SUM(a.x + b.y) AS t", 6, 4, 2)
    looked_up, told = engine.query(f"{text} REFRESH ON LOOKUP"), engine.query(text)
    for n in range(20):
        clock.advance(SECOND)
        engine.push("a", pa.table({"id": [n % 3], "k": ["pq"[n % 2]], "x": [n]}))
        engine.push("b", pa.table({"id": [n % 2], "y": [n]}))
        engine.step()
        assert bag_of_table(looked_up.answer()) == bag_of_table(told.answer())
    assert looked_up.answer().num_rows
    engine.close()


def test_the_form_follows_what_is_asked() -> None:
    """Few questions, then many: from slices alone to running values, and for MAX to dyadic intervals."""
    engine = LocalEngine()
    text = A_K.format("SUM(a.x), MAX(b.y)", 32, 32, 1)
    (query,) = started(engine, text)
    later = {name: [{**row, "ts": row["ts"] + 60 * SECOND} for row in some] for name, some in some_rows().items()}
    rows = {name: some + later[name] for name, some in some_rows().items()}
    ((kept, (_, state)),) = engine._running._lookups.synopses().items()
    state.synopses = [one.converted(JoinSynopsisForm.BASIC) for one in state.synopses]
    engine._running._lookups._watching[state] = RechoosingJoin(replace(kept, kinds=("BIJ", "BIJ", "BIJ")))
    for first in range(0, 120, 10):
        for name, some in later.items():
            engine.push(name, table_of(some[first : first + 10], SCHEMAS[name]))
        engine.step()
        state.use.lookups = 100_000
        there = {name: [row for row in some if row["ts"] < engine.watermark] for name, some in rows.items()}
        assert bag_of_table(query.answer()) == answer_at(text, there, SCHEMAS, engine.watermark - 1)
    assert [one.form for one in state.synopses] == [
        JoinSynopsisForm.RUNNING,
        JoinSynopsisForm.RUNNING,
        JoinSynopsisForm.INTERVAL,
    ]
    notes = query.explain().plan.inputs[0].inputs[0].notes
    assert all("as measured" in note for note in notes)
