"""Queries that are looked up give, at every instant that can be asked for, what SQL gives over the rows in view."""

from __future__ import annotations

import gc
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.generated_streams import START
from support.local_runs import table_of
from support.shard_runs import ShardsInProcess
from support.sql_oracle import Row, answer_at, normal_row, stream_order
from support.sub_windows import DECLARATION, HALF, SCHEMA, streams
from windrow.errors import WindrowError
from windrow.plan.analysis import lookups
from windrow.plan.analysis.synopses import Synopsis
from windrow.plan.nodes import Node
from windrow.runtime.local import Engine
from windrow.runtime.local import lookups as lookups_in_process
from windrow.runtime.lookups import rechoosing
from windrow.runtime.shards import query_plans
from windrow.sharing import lookups as shared_lookups
from windrow.units import BEGINNING, FOREVER, format_timestamp


class Asked(NamedTuple):
    """A query, whether the past can be asked for, and before and after how many steps it is created and dropped."""

    text: str
    has_past: bool
    born: int
    dies: int

    def lives_at(self, step: int) -> bool:
        return self.born <= step < self.dies


cuts_of_streams = st.lists(st.integers(1, 20), max_size=10, unique=True)
lives = st.tuples(st.integers(0, 4), st.integers(2, 9))

aggregates = st.lists(
    st.sampled_from(
        ["COUNT(*)", "COUNT(x)", "SUM(x)", "SUM(w)", "AVG(x)", "AVG(w)", "MIN(x)", "MAX(y)", "MEDIAN(x)",
         "QUANTILE(x, 0.9)", "MAX(w)", "MIN(ts)"]
    ),
    min_size=1, max_size=3, unique=True,
)  # fmt: skip
bounds = st.sampled_from(
    ["COUNT(*) > 2", "COUNT(x) >= 2", "COUNT(*) < 3", "SUM(x) > 5", "SUM(x) <= 4", "4 < SUM(x)", "SUM(x) > 4.5",
     "MAX(x) > 3", "SUM(x - 4) > 1", "SUM(x - 4) < 0", "MIN(x) < 2", "MIN(x) > 1",
     "MAX(x) >= 7 AND COUNT(*) > 1", "SUM(x) > -1"]
)  # fmt: skip


@dataclass(frozen=True)
class Shape:
    """What queries that may share have in common."""

    listed: tuple[str, ...]
    rows: str
    having: str
    keyed: bool
    by_rows: bool


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    keyed, by_rows = draw(st.booleans()), draw(st.integers(0, 3)) == 0
    rows = draw(st.sampled_from(["", "", " WHERE k <> 'p'"] if by_rows else ["", " WHERE x <> 1", " WHERE k = 'p'"]))
    having = f" HAVING {draw(bounds)}" if keyed and draw(st.booleans()) else ""
    return Shape(tuple(draw(aggregates)), rows if keyed or not by_rows else "", having, keyed, by_rows)


@st.composite
def windows(draw: st.DrawFn, length: st.SearchStrategy[int]) -> str:
    long, slide = draw(length), draw(st.sampled_from([0, 0, 1, 2, 3]))
    ago = draw(st.sampled_from([0, 0, 0, 2]))
    extent = f"FROM {(long + ago) * 500} MILLISECONDS TO {ago * 500} MILLISECONDS AGO" if ago else None
    return f"[RANGE {extent or f'{long * 500} MILLISECONDS'}{f' SLIDE {slide * 500} MILLISECONDS' if slide else ''}]"


@st.composite
def queries(draw: st.DrawFn, shape: Shape, is_first: bool) -> Asked:
    """The first of a shape is there from the beginning, and covers many others."""
    listed = shape.listed if is_first else draw(st.lists(st.sampled_from(shape.listed), min_size=1, unique=True))
    having = shape.having if is_first or draw(st.booleans()) else ""
    key, group = ("k, ", " GROUP BY k") if shape.keyed else ("", "")
    born, dies = (0, draw(st.integers(1, 9))) if is_first else draw(lives)
    if shape.by_rows:
        by, count = "PARTITION BY k " if shape.keyed else "", draw(st.integers(4 if is_first else 1, 5))
        columns = ", ".join(one.replace("w", "x") for one in listed)
        text = f"SELECT {key}{columns} FROM s [{by}ROWS {count}]{shape.rows}{group}{having}"
        return Asked(text, False, born, dies)
    length = st.integers(8 if is_first else 1, 12)
    is_plain = bool(shape.having) and draw(st.integers(0, 3)) > 0  # what an index may answer
    window = f"[RANGE {draw(length) * 500} MILLISECONDS]" if is_plain else draw(windows(length))
    source = f"(SELECT ts, k, x, y, CAST(x AS DOUBLE) / 3 AS w FROM s {window}) AS q"
    return Asked(f"SELECT {key}{', '.join(listed)} FROM {source}{shape.rows}{group}{having}", True, born, dies)


@st.composite
def together(draw: st.DrawFn, most: int) -> list[Asked]:
    """Queries of one or two shapes."""
    drawn = draw(st.lists(shapes(), min_size=1, max_size=2))
    first = [draw(queries(shape, True)) for shape in drawn]
    return first + draw(
        st.lists(st.sampled_from(drawn).flatmap(lambda shape: queries(shape, False)), min_size=1, max_size=most)
    )


def steps(
    engine: Any, rows: Sequence[Row], cuts: Sequence[int], before: Callable[[int], object] = lambda step: None
) -> Iterator[int]:
    """Push rows piece by piece; gives how far the stream is final after each. `before` each step something is done."""
    done = 0
    for step, edge in enumerate([*sorted({START + cut * HALF for cut in cuts}), None]):
        before(step)
        upto = len(rows) if edge is None else sum(1 for row in rows if row["ts"] < edge)
        if upto > done:
            engine.push("s", table_of(rows[done:upto], SCHEMA))
            done = upto
        engine.step()
        yield engine.watermark


def bag(table: Any) -> Counter[Any]:
    return Counter(normal_row(row) for row in zip(*(column.to_pylist() for column in table.columns), strict=True))


class Running(NamedTuple):
    asked: Asked
    query: Any
    plan: Node
    start: int  # rows before it are not in its windows


class Changing:
    """The queries that run, as they are created and dropped."""

    def __init__(self, engine: Any, asked: Sequence[Asked]) -> None:
        self._engine, self._asked = engine, asked
        self.now: dict[str, Running] = {}

    def change(self, step: int) -> None:
        engine = self._engine
        for number, one in enumerate(self._asked):
            name = f"q{number}"
            if one.lives_at(step) and name not in self.now:
                query = engine.query(f"{one.text} REFRESH ON LOOKUP", name=name)
                self.now[name] = Running(one, query, engine.session.catalog.get(name).plan, start_of_next(engine))
            if not one.lives_at(step) and self.now.pop(name, None) is not None:
                engine.sql(f"DROP QUERY {name}")


def check(engine: Any, asked: Sequence[Asked], rows: list[Row], cuts: Sequence[int]) -> None:
    engine.sql(DECLARATION)
    running = Changing(engine, asked)
    for final in steps(engine, rows, cuts, before=running.change):
        for asked_for, query, plan, start in running.now.values():
            there = stream_order([row for row in rows if start <= row["ts"] < final], [])
            for back in (0, 1, HALF, 3 * HALF) if asked_for.has_past and final > START else (0,):
                now = final - 1 - back
                wanted = answer_at(plan, {"s": there}, {"s": SCHEMA}, now) if final > BEGINNING else None
                try:
                    found = bag(query.answer(now if back else None))
                except WindrowError as error:
                    assert back and "not kept any more" in str(error), asked_for
                    continue
                if wanted is not None:
                    assert found == wanted, (asked_for, now, start)


def outcomes(engine: Any, asked: Sequence[Asked], rows: list[Row], cuts: Sequence[int]) -> list[Counter[Any] | None]:
    """The answers after each step at instants of the whole stream; None for those that are refused."""
    engine.sql(DECLARATION.replace(";", " SLACK 700 MILLISECONDS;"))
    found: list[Counter[Any] | None] = []
    instants = [START + half * HALF - early for half in range(0, 22, 3) for early in (0, 1)]
    running = Changing(engine, asked)
    for final in (*steps(engine, rows, cuts, running.change), FOREVER):
        if final == FOREVER:
            engine.end("s")
            engine.step()
        for one in running.now.values():
            for instant in (None, *(instant for instant in instants if instant < final)):
                try:
                    found.append(bag(one.query.answer(instant)))
                except WindrowError as error:
                    assert "not kept any more" in str(error), one
                    found.append(None)
    return found


def start_of_next(engine: Any) -> int:
    """From when a query that is created now sees rows: on shards those later than all that have come."""
    if isinstance(engine, Engine):
        return int(engine.watermark)
    return int(engine.last_row) + (engine.last_row > BEGINNING)


def rows_at(halves: Iterable[int]) -> list[Row]:
    return [{"ts": START + n * HALF, "k": "ab"[n % 2], "x": n, "y": None} for n in halves]


@settings(max_examples=250)
@given(
    rows=streams(most=40) | streams(least=12, most=40),
    asked=together(most=4),
    cuts=cuts_of_streams,
    indexed=st.booleans(),
    kind=st.sampled_from([None, *Synopsis]),
    watched=st.booleans(),
)
def test_what_sql_gives(
    rows: list[Row], asked: list[Asked], cuts: list[int], indexed: bool, kind: Synopsis | None, watched: bool
) -> None:
    """Whatever the planner chooses, and however often it changes its mind."""
    with pytest.MonkeyPatch.context() as patch:
        _plan(patch, indexed, kind, watched)
        check(Engine(), asked, rows, cuts)


@settings(max_examples=60)
@given(
    rows=streams(most=30) | streams(least=12, most=30),
    asked=together(most=3),
    cuts=cuts_of_streams,
    shards=st.sampled_from([1, 3]),
    indexed=st.booleans(),
    kind=st.sampled_from([None, *Synopsis]),
    watched=st.booleans(),
)
def test_what_sql_gives_on_shards(
    rows: list[Row],
    asked: list[Asked],
    cuts: list[int],
    shards: int,
    indexed: bool,
    kind: Synopsis | None,
    watched: bool,
) -> None:
    """Workers have nothing in memory from batch to batch: all comes from what was written."""
    with pytest.MonkeyPatch.context() as patch:
        _plan(patch, indexed, kind, watched)
        engine = ShardsInProcess(shards, forgetful=True)
        check(engine, asked, rows, cuts)
        engine.close()


@settings(max_examples=40)
@given(
    rows=streams(least=12, most=40),
    asked=together(most=3),
    cuts=cuts_of_streams,
    shards=st.sampled_from([0, 0, 0, 2]),
    indexed=st.booleans(),
)
def test_as_with_a_synopsis_of_its_own(
    rows: list[Row], asked: list[Asked], cuts: list[int], shards: int, indexed: bool
) -> None:
    """What a later query answers, and which instants it refuses; of windows that slide it may know more of the past."""
    with pytest.MonkeyPatch.context() as patch:
        _plan(patch, indexed, None, watched=False)
        shared = outcomes(ShardsInProcess(shards) if shards else Engine(), asked, rows, cuts)
        for module in (lookups_in_process, query_plans):
            patch.setattr(module, "over_running", lambda *given: None)
        alone = outcomes(ShardsInProcess(shards) if shards else Engine(), asked, rows, cuts)
    slides = any("SLIDE" in one.text for one in asked)
    pairs = list(zip(shared, alone, strict=True))
    assert all(found == wanted for found, wanted in pairs if wanted is not None)
    assert slides or all(found is None for found, wanted in pairs if wanted is None)


def _plan(patch: pytest.MonkeyPatch, indexed: bool, kind: Synopsis | None, watched: bool) -> None:
    """Let the planner always take an index, have no choice of forms, or look at its choice all the time."""
    if indexed:
        patch.setattr(shared_lookups, "is_indexed", lambda *rates: (True, "always"))
    if watched:
        patch.setattr(rechoosing, "BETWEEN_LOOKS", 1)
        patch.setattr("windrow.plan.analysis.synopses._PATIENCE", 1)
    if kind is not None:
        _only(patch, kind)


def _only(patch: pytest.MonkeyPatch, kind: Synopsis) -> None:
    """Let the planner have no choice where this one is possible."""
    possible = lookups.synopses_of

    def one_of(call: Any) -> tuple[Synopsis, ...]:
        found = possible(call)
        return (kind,) if kind in found else found

    patch.setattr(shared_lookups, "synopses_of", one_of)
    patch.setitem(lookups._ONLY, kind, f"{kind.value}: no choice")


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (Engine, ["two stacks", "landmarks", "interval"]),
        (lambda: ShardsInProcess(2), ["two stacks", "interval", "interval"]),
    ],
    ids=["one process", "shards"],
)
def test_the_form_follows_what_is_asked(make: Any, expected: list[str]) -> None:
    """One window, then others, then hardly any question; on shards all that is kept is read back every time."""
    engine = make()
    engine.sql(DECLARATION)
    text = "SELECT k, MAX(x) AS most FROM s [RANGE 1 HOUR] GROUP BY k"
    query = engine.query(f"{text} REFRESH ON LOOKUP", name="q")
    forms, rows, keys = [], [], [f"k{n}" for n in range(200)]
    for others, number, questions in ((False, 1_000, 60), (True, 1_000, 60), (False, 10_000, 1)):
        for _ in range(10):
            first = len(rows)
            rows += [{"ts": START + n, "k": keys[n % 200], "x": n * 7 % 1009} for n in range(first, first + number)]
            engine.push("s", table_of([row | {"y": None} for row in rows[first:]], SCHEMA))
            engine.step()
            for ask in range(questions):
                engine.lookup(text.replace("1 HOUR", f"{ask + 1} MILLISECONDS")) if others else query.answer()
        forms.append(str(query.explain()).split("MAX(s.x) in ")[1].split(":")[0])
        most: dict[str, int] = {}
        for row in rows[:-1]:
            most[row["k"]] = max(row["x"], most.get(row["k"], 0))
        assert dict(bag(query.answer())) == dict.fromkeys(most.items(), 1)
    assert forms == expected
    engine.close()


@pytest.mark.parametrize(
    ("memory", "expected"),
    [
        ("unlimited", "in two stacks: "),
        ("'80 MB'", "in basic interval: one pass"),
        ("'80 MB'", "; two stacks would cost less and does not fit into 80 MB"),
        ("'1 kB'", "; nothing fits into 1 kB, this is the smallest"),
    ],
)
def test_a_synopsis_keeps_within_its_memory(memory: str, expected: str) -> None:
    engine = Engine()
    engine.sql(DECLARATION)
    engine.sql(f"SET synopsis_memory = {memory}")
    query = engine.query("SELECT k, MAX(x) FROM s [RANGE 1 HOUR] GROUP BY k REFRESH ON LOOKUP")
    assert expected in str(query.explain())


def test_a_query_is_found_in_what_is_kept_for_others() -> None:
    engine = Engine()
    engine.sql(DECLARATION)
    engine.query("SELECT k, SUM(x), MAX(x) FROM s [RANGE 1 MINUTE] GROUP BY k REFRESH ON LOOKUP")
    rows = rows_at(range(60))
    engine.push("s", table_of(rows, SCHEMA))
    engine.step()
    final = engine.watermark
    for text in ("SELECT k, SUM(x) FROM s [RANGE 3 SECONDS] GROUP BY k",
                 "SELECT k, MAX(x) + SUM(x) AS t FROM s [RANGE FROM 20 SECONDS TO 5 SECONDS AGO] GROUP BY k",
                 "SELECT k FROM s [RANGE 5 SECONDS] GROUP BY k HAVING SUM(x) > 300"):  # fmt: skip
        plan = engine.session.plan(text)
        there = [row for row in rows if row["ts"] < final]
        assert bag(engine.lookup(text)) == answer_at(plan, {"s": there}, {"s": SCHEMA}, final - 1), text


@pytest.mark.parametrize("make", [Engine, lambda: ShardsInProcess(2, forgetful=True)], ids=["one process", "shards"])
def test_a_later_query_keeps_nothing_of_its_own(make: Any) -> None:
    """It is looked up in what runs, also when the query is dropped that this was made for."""
    engine = make()
    engine.sql(DECLARATION)
    engine.query("SELECT k, COUNT(*), SUM(x) FROM s [RANGE 1 MINUTE] GROUP BY k REFRESH ON LOOKUP", name="first")
    engine.push("s", table_of(rows_at(range(20)), SCHEMA))
    engine.step()
    start = start_of_next(engine)
    text = "SELECT k, SUM(x) FROM s [RANGE 5 SECONDS] GROUP BY k HAVING SUM(x) > 10"
    later = engine.query(f"{text} REFRESH ON LOOKUP", name="later")
    for until, names in ((26, "first, later"), (40, "later"), (60, "later")):
        rows = rows_at(range(until))
        engine.push("s", table_of([row for row in rows if row["ts"] > engine.last_row], SCHEMA))
        if names == "later" and "first" in {query.name for query in engine.queries}:
            engine.sql("DROP QUERY first")
        engine.step()
        there = [row for row in rows if start <= row["ts"] < engine.watermark]
        assert bag(later.answer()) == answer_at(
            engine.session.plan(text), {"s": there}, {"s": SCHEMA}, START + HALF * (until - 1) - 1
        )
        assert engine.status()["state_rows"] == until - 1, "every row is kept once"
        explained = str(later.explain())
        assert f"rows from before {format_timestamp(start)} are not in its windows" in explained
        assert ("shared with first" in explained) == (names != "later")
    engine.close()


def test_a_synopsis_goes_with_the_last_query() -> None:
    engine = Engine()
    engine.sql(DECLARATION)
    engine.query("SELECT k, SUM(x) FROM s [RANGE 1 MINUTE] GROUP BY k REFRESH ON LOOKUP", name="first")
    engine.push("s", table_of(rows_at(range(10)), SCHEMA))
    engine.step()
    engine.query("SELECT k, SUM(x) FROM s [RANGE 5 SECONDS] GROUP BY k REFRESH ON LOOKUP", name="later")
    engine.query("SELECT COUNT(*) FROM s [RANGE 1 SECOND]", name="other")
    engine.push("s", table_of(rows_at(range(10, 20)), SCHEMA))
    engine.step()
    state = weakref.ref(engine._dataflow.roots["first"].state)
    engine.sql("DROP QUERY first")
    gc.collect()
    assert state() is engine._dataflow.roots["later"].state
    engine.sql("DROP QUERY later")
    gc.collect()
    assert state() is None


OF_PAIRS = "COUNT(*) FROM s [RANGE 9 SECONDS SLIDE 3 SECONDS], s [RANGE 9 SECONDS SLIDE 3 SECONDS] AS r WHERE s.x = r.x"


@pytest.mark.parametrize(
    ("first", "later", "start", "is_shared"),
    [
        ("k, SUM(x) FROM s [RANGE 1 MINUTE] GROUP BY k", "k, SUM(x) FROM s [RANGE 2 MINUTES] GROUP BY k", 7, False),
        ("k, SUM(x) FROM s [RANGE 1 MINUTE] GROUP BY k", "k, MAX(x) FROM s [RANGE 1 MINUTE] GROUP BY k", 7, False),
        ("k, SUM(x) FROM s [RANGE 1 MINUTE] GROUP BY k", "SUM(x) FROM s [RANGE 1 MINUTE]", 7, False),
        ("SUM(x) FROM s [RANGE 1 MINUTE]", "SUM(x) FROM s [RANGE 9 SECONDS SLIDE 3 SECONDS]", 7, True),
        ("SUM(x) FROM s [RANGE 9 SECONDS SLIDE 3 SECONDS]", "SUM(x) FROM s [RANGE 6 SECONDS SLIDE 3 SECONDS]", 6, True),
        (
            "SUM(x) FROM s [RANGE 9 SECONDS SLIDE 3 SECONDS]",
            "SUM(x) FROM s [RANGE 6 SECONDS SLIDE 3 SECONDS]",
            7,
            False,
        ),
        ("SUM(x) FROM s [RANGE 9 SECONDS SLIDE 3 SECONDS]", "SUM(x) FROM s [RANGE 6 SECONDS]", 6, False),
        (
            "k, SUM(x) FROM s [PARTITION BY k ROWS 9] GROUP BY k",
            "k, SUM(x) FROM s [PARTITION BY k ROWS 3] GROUP BY k",
            7,
            True,
        ),
        (
            "k, SUM(x) FROM s [PARTITION BY k ROWS 9] GROUP BY k",
            "k, SUM(x) FROM s [RANGE 9 SECONDS] GROUP BY k",
            7,
            False,
        ),
        ("DECAYED_SUM(x, INTERVAL 1 MINUTE) FROM s", "DECAYED_SUM(x, INTERVAL 1 MINUTE) FROM s", 7, False),
        (OF_PAIRS, OF_PAIRS, 6, False),
    ],
)
def test_which_later_queries_share(first: str, later: str, start: int, is_shared: bool) -> None:
    """The same synopsis from another time on is another one. Strategies do not matter."""
    engine = Engine()
    engine.sql(DECLARATION)
    engine.query(f"SELECT {first} REFRESH ON LOOKUP", name="first")
    engine.push("s", table_of(rows_at(range(2 * start + 1)), SCHEMA))
    engine.step()
    engine.sql("SET strategy = direct")
    query = engine.query(f"SELECT {later} REFRESH ON LOOKUP", name="later")
    engine.push("s", table_of(rows_at(range(2 * start + 1, 40)), SCHEMA))
    engine.step()
    assert ("shared with first" in str(query.explain())) == is_shared
    assert ("shared with later" in str(engine["first"].explain())) == is_shared


@pytest.mark.parametrize(
    "text",
    [
        "SELECT k, SUM(x) AS t FROM s [RANGE FROM 5 SECONDS TO 3 SECONDS AGO] GROUP BY k",
        "SELECT k FROM s [RANGE FROM 5 SECONDS TO 3 SECONDS AGO] GROUP BY k",
    ],
)
def test_windows_of_the_past_beside_what_is_only_of_now(text: str) -> None:
    engine = Engine()
    engine.sql(DECLARATION)
    query = engine.query(f"{text} REFRESH ON LOOKUP")
    engine.query("SELECT k, APPROX_COUNT(x, 0.1) AS n FROM s [RANGE 20 SECONDS] GROUP BY k REFRESH ON LOOKUP")
    rows = [row | {"k": "ab"[row["x"] >= 34]} for row in rows_at(range(40))]
    engine.push("s", table_of(rows, SCHEMA))
    engine.step()
    for now in (engine.watermark - 1, engine.watermark - 1 - HALF):
        there = [row for row in rows if row["ts"] < engine.watermark]
        assert bag(query.answer(now)) == answer_at(engine.session.plan(text), {"s": there}, {"s": SCHEMA}, now)


def test_rows_that_move_before_they_are_filtered_are_the_same_rows() -> None:
    engine = ShardsInProcess(2)
    engine.sql(DECLARATION.replace(";", " PUNCTUATION BY k;"))
    text = "SELECT k, SUM(x) FROM s [RANGE 1 MINUTE] WHERE x > 3 GROUP BY k"
    engine.query(f"{text} REFRESH ON LOOKUP")
    engine.push("s", table_of(rows_at(range(20)), SCHEMA))
    engine.step()
    assert bag(engine.lookup(text.replace("1 MINUTE", "2 SECONDS"))) == {("a", 16 + 18): 1, ("b", 15 + 17): 1}
    engine.close()


@pytest.mark.parametrize("make", [Engine, lambda: ShardsInProcess(2)], ids=["one process", "shards"])
@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) AS n FROM s [RANGE 100 SECONDS SLIDE 5 SECONDS]",
        "SELECT ROUND(DECAYED_COUNT(x, INTERVAL 10000 SECONDS)) AS n FROM s",
    ],
)
def test_a_lookup_finds_the_oldest_rows_that_are_kept(make: Any, text: str) -> None:
    """What is kept for the second query begins later."""
    engine = make()
    engine.sql(DECLARATION)
    for begin in (0, 7):
        engine.query(f"{text} REFRESH ON LOOKUP")
        rows = [{"ts": START + n * 2 * HALF, "k": "a", "x": 1, "y": None} for n in range(begin, 2 * begin + 7)]
        engine.push("s", table_of(rows, SCHEMA))
        engine.step()
    old, new, found = (one.to_pylist()[0]["n"] for one in (*(q.answer() for q in engine.queries), engine.lookup(text)))
    assert found == old > new > 0
    engine.close()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT k, SUM(x) FROM s [RANGE 2 MINUTES] GROUP BY k", "begins before what is kept, which is 1 MINUTE"),
        ("SELECT k, AVG(x) FROM s [RANGE 1 SECOND] GROUP BY k", "nothing that is kept answers"),
        ("SELECT y, SUM(x) FROM s [RANGE 1 SECOND] GROUP BY y", "nothing that is kept answers"),
        ("SELECT x FROM s [RANGE 1 SECOND]", "only aggregates are looked up"),
    ],
)
def test_what_is_not_kept_is_refused(text: str, message: str) -> None:
    engine = Engine()
    engine.sql(DECLARATION)
    engine.query("SELECT k, SUM(x) FROM s [RANGE 1 MINUTE] GROUP BY k REFRESH ON LOOKUP")
    engine.push("s", table_of([{"ts": START, "k": "a", "x": 1, "y": None}], SCHEMA))
    engine.step()
    with pytest.raises(WindrowError, match=message):
        engine.lookup(text)


@settings(max_examples=60)
@given(rows=streams(most=60), cuts=st.lists(st.integers(0, 24), max_size=6), length=st.integers(1, 12))
def test_within_the_error(rows: list[Row], cuts: list[int], length: int) -> None:
    """COUNT and SUM of whole numbers that are not negative; and the same where every change is told, exactly."""
    engine = Engine()
    engine.sql(DECLARATION)
    listed = "k, APPROX_COUNT(x, 0.2) AS n, APPROX_SUM(x, 0.2) AS t"
    window = f"[RANGE {length * 500} MILLISECONDS]"
    running = {BEGINNING: engine.query(f"SELECT {listed} FROM s {window} GROUP BY k REFRESH ON LOOKUP")}
    told = engine.query(f"SELECT {listed} FROM s {window} GROUP BY k")
    exact = engine.session.plan(f"SELECT k, COUNT(x) AS n, COALESCE(SUM(x), 0) AS t FROM s {window} GROUP BY k")

    def one_more(step: int) -> None:
        if engine.watermark not in running:
            running[engine.watermark] = engine.query(f"SELECT {listed} FROM s {window} GROUP BY k REFRESH ON LOOKUP")

    for final in steps(engine, rows, cuts, before=one_more):
        if all(row["ts"] >= final for row in rows):
            continue
        for start, query in running.items():
            there = [row for row in rows if start <= row["ts"] < final]
            wanted = {row[0]: row[1:] for row in answer_at(exact, {"s": there}, {"s": SCHEMA}, final - 1)}
            if start == BEGINNING:
                assert {row["k"]: (row["n"], row["t"] or 0) for row in told.answer().to_pylist()} == wanted
            found = {row["k"]: (row["n"], row["t"]) for row in query.answer().to_pylist()}
            assert found.keys() == wanted.keys()
            for key, values in wanted.items():
                assert all(abs(one - right) <= 0.2 * right for one, right in zip(found[key], values, strict=True))


@settings(max_examples=60)
@given(rows=streams(most=40), cuts=st.lists(st.integers(0, 24), max_size=6), half=st.integers(1, 9))
def test_fading(rows: list[Row], cuts: list[int], half: int) -> None:
    engine = Engine()
    engine.sql(DECLARATION)
    life = f"INTERVAL {half * 500} MILLISECONDS"
    listed = ", ".join(f"DECAYED_{name}(x, {life}) AS {name.lower()}" for name in ("SUM", "COUNT", "AVG"))
    query = engine.query(f"SELECT k, {listed} FROM s GROUP BY k REFRESH ON LOOKUP")
    for final in steps(engine, rows, cuts):
        wanted: dict[Any, list[float]] = {}
        for row in rows:
            if row["ts"] < final:
                total = wanted.setdefault(row["k"], [0.0, 0.0])
                weight = 2.0 ** -((final - 1 - row["ts"]) / (half * HALF)) if row["x"] is not None else 0.0
                total[0] += weight * (row["x"] or 0)
                total[1] += weight
        found = {row["k"]: row for row in query.answer().to_pylist()}
        assert found.keys() == wanted.keys()
        for key, (total, weight) in wanted.items():
            assert found[key]["count"] == pytest.approx(weight)
            if weight:
                assert found[key]["sum"] == pytest.approx(total)
                assert found[key]["avg"] == pytest.approx(total / weight)
            else:
                assert found[key]["sum"] is found[key]["avg"] is None


def test_a_negative_value_makes_an_approximate_sum_null_until_it_leaves() -> None:
    engine = Engine()
    engine.sql(DECLARATION)
    query = engine.query("SELECT APPROX_SUM(x, 0.1) AS t FROM s [RANGE 3 SECONDS] REFRESH ON LOOKUP")
    found = []
    for second, x in enumerate([1, -1, 2, 2, 2, 2, 2]):
        engine.push("s", table_of([{"ts": START + 2 * second * HALF, "k": "a", "x": x, "y": None}], SCHEMA))
        engine.step()
        found += query.answer()["t"].to_pylist()
    assert found == [0, 1, None, None, None, 6, 6]


def test_what_fades_is_not_told() -> None:
    engine = Engine()
    engine.sql(DECLARATION)
    with pytest.raises(WindrowError, match="add REFRESH ON LOOKUP"):
        engine.query("SELECT DECAYED_SUM(x, INTERVAL 1 MINUTE) FROM s")


def test_it_tells_nothing_by_itself() -> None:
    engine = Engine()
    engine.sql(DECLARATION)
    query = engine.query("SELECT SUM(x) FROM s [RANGE 1 MINUTE] REFRESH ON LOOKUP")
    for ask in (query.changes, lambda: query.subscribe(print)):
        with pytest.raises(WindrowError, match="tells no changes"):
            ask()
