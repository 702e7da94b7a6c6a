"""ISTREAM and DSTREAM are differences of lawful answers: what each instant adds to the answer, and takes from it."""

from __future__ import annotations

from collections import Counter

import duckdb
import pyarrow as pa
import pytest
from generated_streams import FILL, SCHEMAS, SECOND, START, TABLE, rows
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from local_runs import feed
from plans import DECLARATIONS
from queries import queries
from sql_oracle import Row, answer_at, normal_row, stream_order

from windrow.cql import compile_query
from windrow.errors import CqlMeaningError, WindrowError
from windrow.plan.analysis.refreshes import slides_below
from windrow.plan.nodes import AppendOnly, Node, OutputKind, OutputStream, Stream
from windrow.plan.windows import RowCount
from windrow.runtime.local import Engine, Query

EVENTS = [START + half * SECOND // 2 + tick for half in range(50) for tick in (0, 1)]


def looks(plan: Node) -> list[int]:
    """When the answer may change; a periodic query is only looked at when it is refreshed."""
    slides = [slide for slide in slides_below(plan) if not isinstance(slide, RowCount)]
    return [event for event in EVENTS if event % slides[0] == 0] if slides else EVENTS


def told(query: Query) -> dict[int, Counter[object]]:
    """What a stream of results has told, by instant; it is never taken back."""
    changes = query.changes()
    assert set(changes["_sign"].to_pylist()) <= {1}
    assert changes["_exp"].null_count == changes.num_rows
    times = changes["_ts"].cast(pa.int64()).to_pylist()
    values = zip(*(changes[name].to_pylist() for name in changes.column_names[:-3]), strict=True)
    found: dict[int, Counter[object]] = {}
    for time, row in zip(times, values, strict=True):
        found.setdefault(time, Counter())[normal_row(row)] += 1
    return found


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(
    query=queries(),
    streams=st.fixed_dictionaries({"s": rows(), "t": rows(), "u": rows()}),
    cuts=st.lists(st.integers(0, 24), max_size=6),
    kind=st.sampled_from(["ISTREAM", "DSTREAM"]),
    strategy=st.sampled_from(["upa", "direct", "nt"]),
)
def test_differences(query: str, streams: dict[str, list[Row]], cuts: list[int], kind: str, strategy: str) -> None:
    engine = Engine()
    engine.sql(f"{DECLARATIONS} {FILL} SET strategy = {strategy}")
    text = query.replace("SELECT ", f"SELECT {kind} ", 1) if not query.startswith("WITH") else query
    try:
        plan = compile_query(text, engine.session.catalog)
        assume(isinstance(plan, OutputStream) and not plan.restore and plan.kind is not OutputKind.RSTREAM)
        assume(not any(isinstance(node, OutputStream | AppendOnly) for node in plan.inputs[0].walk()))
        running = engine.query(text)
    except (CqlMeaningError, WindrowError):
        assume(False)
    ordered = {name: stream_order(of, ["a"] if name == "t" else []) for name, of in streams.items()}
    read = {node.name for node in plan.walk() if isinstance(node, Stream)}
    first = min((row["ts"] for name in read for row in streams[name]), default=None)
    assume(first is not None and sum(len(streams[name]) for name in read) < 16)
    feed(engine, ordered, SCHEMAS, [START + cut * SECOND // 2 for cut in cuts])
    found = told(running)
    known = {**ordered, "r": TABLE, "n": TABLE}
    below = plan.inputs[0]
    before: Counter[object] = Counter()
    for moment in (event for event in looks(plan) if event >= first):
        try:
            after = answer_at(below, known, SCHEMAS, moment)
        except (duckdb.OutOfRangeException, duckdb.ConversionException):
            assume(False)
        expected = after - before if kind == "ISTREAM" else before - after
        assert found.pop(moment, Counter()) == expected, f"at {(moment - START) / SECOND} s"
        before = after
    assert all(moment > EVENTS[-1] for moment in found), "something was told between events"


@pytest.mark.parametrize("window", ["[RANGE 3 SECONDS INTERNAL]", "[ROWS 2 INTERNAL]"])
def test_internal_windows_keep_what_istream_tells(window: str) -> None:
    external = window.replace(" INTERNAL", "")
    body = "a, COUNT(*) AS n FROM s {w} GROUP BY a"
    data = [{"ts": START + n * SECOND, "a": n % 2, "b": "x", "v": 1.0} for n in range(6)]
    engine = Engine()
    engine.sql(DECLARATIONS)
    kept = engine.query(f"SELECT {body.format(w=window)}")
    gained = engine.query(f"SELECT ISTREAM {body.format(w=external)}")
    feed(engine, {"s": data}, SCHEMAS, [])
    assert told(kept) == told(gained)
    assert sum(sum(bag.values()) for bag in told(kept).values()) >= 2


def test_a_window_on_the_output_is_a_window_on_what_istream_tells() -> None:
    """Section 3.3.3: the last results, whatever the windows below still hold."""
    data = [{"ts": START + n * SECOND, "a": 1, "b": "x", "v": float(n)} for n in range(6)]
    engine = Engine()
    engine.sql(DECLARATIONS)
    query = engine.query("SELECT WSTREAM(s.v)[ROWS 2] FROM s [RANGE 1 SECOND], t [RANGE 1 HOUR] WHERE s.a = t.a")
    feed(engine, {"s": data, "t": data[:1]}, SCHEMAS, [START + 3 * SECOND])
    assert query.answer().to_pylist() == [{"v": 4.0}, {"v": 5.0}]
