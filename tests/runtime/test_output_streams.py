"""Output streams, RESTORE and windows on streams of results are what their definitions say of lawful answers."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from support.features import is_approximate
from support.generated_streams import FILL, SCHEMAS, SECOND, START, all_streams, world_of
from support.local_runs import answers, feed
from support.normal_rows import normal_row
from support.own_aggregates import OWN
from support.plans import DECLARATIONS
from support.queries import queries
from support.rows_in_view import Row, stream_order
from windrow.cql import compile_query
from windrow.errors import CqlMeaningError, WindrowError
from windrow.plan.nodes import AppendOnly, OutputKind, OutputStream
from windrow.runtime.local import LocalEngine, LocalQuery

HALVES = [START + half * SECOND // 2 for half in range(40)]
TICKS = [START + half * SECOND // 2 + tick for half in range(50) for tick in (0, 1)]
HORIZON = HALVES[-1]

streams_of_rows = all_streams()
some_cuts = st.lists(st.integers(0, 24), max_size=6)
strategies = st.sampled_from(["upa", "direct", "nt"])


class Run:
    """A query with everything it told, on streams that have ended, and the world that the oracle recomputes from."""

    def __init__(
        self, query: str, streams: dict[str, list[Row]], cuts: list[int], strategy: str, instants: list[int]
    ) -> None:
        engine = LocalEngine(aggregates=OWN)
        engine.sql(f"{DECLARATIONS} {FILL} SET strategy = {strategy}")
        self.plan = compile_query(query, engine.session.catalog)
        self.query = engine.query(query)
        self.refreshes: dict[int, Counter[Any]] = {}
        self.query.subscribe(self._hear)
        ordered = {name: stream_order(of, ["a"] if name == "t" else []) for name, of in streams.items()}
        self.world = world_of(query, ordered, instants)
        feed(engine, ordered, SCHEMAS, [START + cut * SECOND // 2 for cut in cuts])

    def _hear(self, table: pa.Table) -> None:
        if "_window_end" in table.column_names:
            columns = [table[name].to_pylist() for name in table.column_names[:-1]]
            for end, *row in zip(table["_window_end"].cast(pa.int64()).to_pylist(), *columns, strict=True):
                self.refreshes.setdefault(end, Counter())[normal_row(row)] += 1


def emitted_by(query: LocalQuery) -> dict[int, Counter[Any]]:
    """What a stream of results has told, by instant; it is never taken back."""
    changes = query.changes()
    assert set(changes["_sign"].to_pylist()) <= {1}
    assert changes["_exp"].null_count == changes.num_rows
    times = changes["_ts"].cast(pa.int64()).to_pylist()
    values = zip(*(changes[name].to_pylist() for name in changes.column_names[:-3]), strict=True)
    found: dict[int, Counter[Any]] = {}
    for time, row in zip(times, values, strict=True):
        found.setdefault(time, Counter())[normal_row(row)] += 1
    return found


def until_horizon(found: dict[int, Counter[Any]]) -> dict[int, Counter[Any]]:
    return {time: bag for time, bag in sorted(found.items()) if time <= HORIZON and bag}


def check(run: Run) -> None:
    """All that a run has shown is what the oracle says."""
    world = run.world
    if world.query.kind == "RSTREAM":
        assert until_horizon(run.refreshes) == until_horizon(world.refreshes())
    elif world.emits:
        assert until_horizon(emitted_by(run.query)) == until_horizon(world.emitted())
    else:
        for moment, found in zip(world.instants, answers(run.query, world.instants), strict=True):
            assert found == world.answer(moment), f"at {(moment - START) / SECOND} s"


@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(
    query=queries(),
    streams=streams_of_rows,
    cuts=some_cuts,
    kind=st.sampled_from(["ISTREAM", "DSTREAM"]),
    strategy=strategies,
)
def test_differences(query: str, streams: dict[str, list[Row]], cuts: list[int], kind: str, strategy: str) -> None:
    """ISTREAM and DSTREAM of every kind of query."""
    text = query.replace("SELECT ", f"SELECT {kind} ", 1) if not query.startswith("WITH") else query
    assume(sum(len(of) for of in streams.values()) < 24)
    try:
        run = Run(text, streams, cuts, strategy, TICKS)
    except (CqlMeaningError, WindrowError) as error:
        event(f"not run: {error.message}")
        assume(False)
    plan = run.plan
    assume(isinstance(plan, OutputStream) and not plan.restore and plan.kind is not OutputKind.RSTREAM)
    assume(not is_approximate(plan))
    assume(not any(isinstance(node, OutputStream | AppendOnly) for node in plan.inputs[0].walk()))
    assume(run.world.first is not None)
    found = {time: bag for time, bag in emitted_by(run.query).items() if time <= TICKS[-1]}
    assert found == run.world.emitted()


BODIES = (
    "s.a, s.b FROM s {w1}",
    "a, b FROM s {w1} WHERE v > 0",
    "s.b, t.v FROM s {w1}, t {w2} WHERE s.a = t.a",
    "s.a FROM s {w1}, t {w2} WHERE s.a = t.a",
    "s.b, r.name FROM s {w1} JOIN r ON s.a = r.a",
    "b FROM s {w1} WHERE EXISTS (SELECT * FROM t {w2} WHERE t.a = s.a)",
    "a FROM s {w1} UNION ALL SELECT a FROM t {w2}",
    "COUNT(*) AS n FROM s {w1}",
    "b, SUM(a) AS total FROM s {w1} GROUP BY b",
    "SUM(s.a) AS total, MAX(t.a) AS most FROM s {w1}, t {w2} WHERE s.b = t.b",
)
NEGATIONS = (
    "b FROM s {w1} WHERE NOT EXISTS (SELECT * FROM t {w2} WHERE t.a = s.a)",
    "a FROM s {w1} EXCEPT ALL SELECT a FROM t {w2}",
    "DISTINCT s.a FROM s {w1}, t {w2} WHERE s.a = t.a",
    "s.a, t.b FROM s {w1} LEFT JOIN t {w2} ON s.a = t.a",
)
LENGTHS = ("RANGE 1 SECOND", "RANGE 2500 ms", "RANGE 4 SECONDS", "ROWS 2", "ROWS 4", "PARTITION BY a ROWS 1")
OUTER = (
    "SELECT * FROM ({q}) [RANGE 3 SECONDS] AS q",
    "SELECT * FROM ({q}) [ROWS 3] AS q",
    "SELECT COUNT(*) AS n FROM ({q}) [RANGE 4 SECONDS SLIDE 2 SECONDS] AS q",
    "SELECT COUNT(*) AS n FROM ({q}) [ROWS 2] AS q, u [RANGE 2 SECONDS]",
    "SELECT ISTREAM COUNT(*) AS n FROM ({q}) [ROWS 3] AS q",
    "SELECT RSTREAM COUNT(*) AS n FROM ({q}) [RANGE 5 SECONDS SLIDE 2500 ms] AS q",
    "SELECT * FROM (SELECT ISTREAM * FROM ({q}) [RANGE 2 SECONDS] AS q) [ROWS 2] AS p",
    "SELECT ISTREAM RESTORE COUNT(*) AS n FROM ({q}) [RANGE 3 SECONDS SLIDE 3 SECONDS] AS q",
)


@st.composite
def bodies(draw: st.DrawFn, slide: str, pool: tuple[str, ...] = BODIES + NEGATIONS, suffix: str = "") -> str:
    """A query without its SELECT, its windows with one slide."""
    w1, w2 = (f"[{draw(st.sampled_from(LENGTHS))}{slide}{suffix}]" for _ in range(2))
    return draw(st.sampled_from(pool)).format(w1=w1, w2=w2)


def _runs(query: str, streams: dict[str, list[Row]], cuts: list[int], strategy: str) -> None:
    run = Run(query, streams, cuts, strategy, HALVES)
    assume(run.world.first is not None)
    check(run)


slides = st.sampled_from([" SLIDE 1 SECOND", " SLIDE 2 SECONDS", " SLIDE 3 SECONDS"])


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(data=st.data(), streams=streams_of_rows, cuts=some_cuts, strategy=strategies)
def test_periodic_output(data: st.DataObject, streams: dict[str, list[Row]], cuts: list[int], strategy: str) -> None:
    """The four streams of a periodic query, with RESTORE and without."""
    kind = data.draw(st.sampled_from(["ISTREAM", "DSTREAM", "RSTREAM", "ISTREAM RESTORE", "RSTREAM RESTORE"]))
    _runs(f"SELECT {kind} {data.draw(bodies(data.draw(slides)))}", streams, cuts, strategy)


@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(data=st.data(), streams=streams_of_rows, cuts=some_cuts, strategy=strategies)
def test_windows_on_streams_of_results(
    data: st.DataObject, streams: dict[str, list[Row]], cuts: list[int], strategy: str
) -> None:
    """A window on a sub-query that gives a stream, and windows on windows."""
    kind = data.draw(st.sampled_from(["ISTREAM", "DSTREAM", "RSTREAM", "ISTREAM RESTORE", "RSTREAM RESTORE"]))
    slide = data.draw(slides if kind[0] == "R" or "RESTORE" in kind else st.one_of(st.just(""), slides))
    inner = f"SELECT {kind} {data.draw(bodies(slide))}"
    _runs(data.draw(st.sampled_from(OUTER)).format(q=inner), streams, cuts, strategy)


@settings(max_examples=30, suppress_health_check=list(HealthCheck))
@given(data=st.data(), streams=streams_of_rows, cuts=some_cuts, strategy=strategies)
def test_internal_windows(data: st.DataObject, streams: dict[str, list[Row]], cuts: list[int], strategy: str) -> None:
    """All windows internal: alone, below a window, and as WSTREAM."""
    slide = data.draw(st.one_of(st.just(""), slides))
    form = data.draw(st.sampled_from(["{q}", "WSTREAM [ROWS 3]", "WSTREAM [RANGE 2 SECONDS]", *OUTER]))
    if form.startswith("WSTREAM"):
        query = f"SELECT {form} {data.draw(bodies(slide, BODIES))}"
    else:
        query = form.format(q=f"SELECT {data.draw(bodies(slide, BODIES, ' INTERNAL'))}")
    assume("JOIN r" not in query or form.startswith("WSTREAM"))
    _runs(query, streams, cuts, strategy)


@pytest.mark.parametrize("window", ["[RANGE 3 SECONDS INTERNAL]", "[ROWS 2 INTERNAL]"])
def test_internal_windows_keep_what_istream_tells(window: str) -> None:
    external = window.replace(" INTERNAL", "")
    body = "a, COUNT(*) AS n FROM s {w} GROUP BY a"
    data = [{"ts": START + n * SECOND, "a": n % 2, "b": "x", "v": 1.0} for n in range(6)]
    engine = LocalEngine()
    engine.sql(DECLARATIONS)
    kept = engine.query(f"SELECT {body.format(w=window)}")
    gained = engine.query(f"SELECT ISTREAM {body.format(w=external)}")
    feed(engine, {"s": data}, SCHEMAS, [])
    assert emitted_by(kept) == emitted_by(gained)
    assert sum(sum(bag.values()) for bag in emitted_by(kept).values()) >= 2


def test_a_window_on_the_output_is_a_window_on_what_istream_tells() -> None:
    """Section 3.3.3: the last results, whatever the windows below still hold."""
    data = [{"ts": START + n * SECOND, "a": 1, "b": "x", "v": float(n)} for n in range(6)]
    engine = LocalEngine()
    engine.sql(DECLARATIONS)
    query = engine.query("SELECT WSTREAM(s.v)[ROWS 2] FROM s [RANGE 1 SECOND], t [RANGE 1 HOUR] WHERE s.a = t.a")
    feed(engine, {"s": data, "t": data[:1]}, SCHEMAS, [START + 3 * SECOND])
    assert query.answer().to_pylist() == [{"v": 4.0}, {"v": 5.0}]
