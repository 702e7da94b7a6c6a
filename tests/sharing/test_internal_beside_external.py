"""INTERNAL windows beside external ones: a result lives from when all its parts are alive until an external one ends.

The oracle asks DuckDB at every instant for the rows of the query, each with marks of its external parts: the end of a
row of a time-based window, else which row it is. What an instant adds to this is born then, and stays until the first
of its marks has ended. Windows are their definitions (`rows_in_view`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from support.generated_streams import FILL, SCHEMA, SCHEMAS, SECOND, START, TABLE, TABLE_SCHEMA
from support.local_runs import answers, feed, table_of
from support.normal_rows import normal_row
from support.plans import DECLARATIONS
from support.rows_in_view import Row, in_view, stream_order
from support.spark_on_duckdb import CONNECTION
from windrow.cql import compile_query
from windrow.plan.nodes import Windowed
from windrow.runtime.local import LocalEngine

INSTANTS = [START + half * SECOND // 2 for half in range(32)]
MARKED = SCHEMA.append(pa.field("mark", pa.int64()))


@dataclass(frozen=True)
class Form:
    """A query: in CQL with a window after each stream, and in SQL with {marks} of what is external."""

    cql: str
    sql: str
    streams: tuple[str, ...] = ("s", "t")
    part: str | None = None  # SQL for an external part over t that is compared by its rows, called q


JOINS = (
    Form("s.b, t.v FROM s {s}, t {t} WHERE s.a = t.a", "s.b, t.v {marks} FROM s, t WHERE s.a = t.a"),
    Form("s.a FROM s {s}, t {t} WHERE s.a = t.a", "s.a {marks} FROM s, t WHERE s.a = t.a"),
    Form("t.b FROM s {s}, t {t} WHERE s.a < t.a AND s.v > 0", "t.b {marks} FROM s, t WHERE s.a < t.a AND s.v > 0"),
    Form(
        "s.b, u.a FROM s {s}, t {t}, u {u} WHERE s.a = t.a AND t.b = u.b",
        "s.b, u.a {marks} FROM s, t, u WHERE s.a = t.a AND t.b = u.b",
        ("s", "t", "u"),
    ),
    Form(
        "s.b, r.name FROM s {s}, t {t}, r WHERE s.a = t.a AND t.a = r.a",
        "s.b, r.name {marks} FROM s, t, r WHERE s.a = t.a AND t.a = r.a",
    ),
    Form(
        "s.b, n.name FROM s {s}, t {t} JOIN n ON t.a = n.a WHERE s.a = t.a",
        "s.b, n.name {marks} FROM s, t JOIN n ON t.a = n.a WHERE s.a = t.a",
    ),
)
INTERNAL_MATCH = Form(
    "s.b FROM s {s} WHERE EXISTS (SELECT * FROM t {t} WHERE t.a = s.a)",
    "s.b {marks} FROM s WHERE EXISTS (SELECT * FROM t WHERE t.a = s.a)",
)
PARTS = (
    Form(
        "s.b FROM s {s} WHERE EXISTS (SELECT * FROM t {t} WHERE t.a = s.a)",
        "s.b, q.mark FROM s, q WHERE s.a = q.a",
        part="SELECT DISTINCT a FROM t WHERE a IS NOT NULL",
    ),
    Form(
        "s.b FROM s {s} WHERE a IN (SELECT a FROM t {t} WHERE v > 0)",
        "s.b, q.mark FROM s, q WHERE s.a = q.a",
        part="SELECT DISTINCT a FROM t WHERE a IS NOT NULL AND v > 0",
    ),
    Form(
        "s.b, q.n FROM s {s}, (SELECT a, COUNT(*) AS n FROM t {t} GROUP BY a) AS q WHERE s.a = q.a",
        "s.b, q.n, q.mark FROM s, q WHERE s.a = q.a",
        part="SELECT a, COUNT(*) AS n FROM t GROUP BY a",
    ),
    Form(
        "s.b, q.b AS c FROM s {s}, (SELECT DISTINCT a, b FROM t {t}) AS q WHERE s.a = q.a",
        "s.b, q.b, q.mark FROM s, q WHERE s.a = q.a",
        part="SELECT DISTINCT a, b FROM t",
    ),
)
WINDOWS = (
    "RANGE 1 SECOND",
    "RANGE 2500 ms",
    "RANGE 4 SECONDS",
    "ROWS 1",
    "ROWS 3",
    "PARTITION BY a ROWS 1",
    "RANGE UNBOUNDED",
)
SLIDES = ("", "", " SLIDE 2 SECONDS", " SLIDE 3 SECONDS")


@dataclass
class Marks:
    """What results end with: the instant at which each mark has ended, absent while it has not."""

    over: dict[int, int] = field(default_factory=dict)
    there: dict[Any, int] = field(default_factory=dict)
    given: int = 0

    def of_rows(self, stream: Sequence[Row], window: Any) -> list[int | None]:
        """A mark for each row of a window."""
        marks: list[int | None] = []  # null for one that has no end
        for place, row in enumerate(stream):
            shown = [now for now in INSTANTS if any(seen is row for seen in in_view(stream, window, now))]
            after = [now for now in INSTANTS if shown and now > shown[-1]]
            if not after:
                marks.append(None)
                continue
            mark = after[0] if window is not None and window.is_time_based else -1 - place - 1000 * self.given
            self.over[mark] = after[0]
            marks.append(mark)
        self.given += 1
        return marks

    def of_values(self, values: set[Any], now: int) -> dict[Any, int]:
        """A mark for each value, the same as long as the value is there."""
        for gone in set(self.there) - values:
            self.over[self.there.pop(gone)] = now
        for value in values - set(self.there):
            self.given += 1
            self.there[value] = self.given
        return self.there


def expected(
    form: Form, streams: dict[str, list[Row]], windows: dict[str, Any], internal: set[str]
) -> list[Counter[Any]]:
    """The answers at all instants."""
    external = [name for name in form.streams if name not in internal]
    marks = Marks()
    columns = {name: marks.of_rows(streams[name], windows[name]) for name in form.streams}
    marked = {
        name: [{**row, "mark": mark} for row, mark in zip(streams[name], columns[name], strict=True)]
        for name in form.streams
    }
    exists = "EXISTS" in form.sql  # the row of a match is not to be seen
    shown = [name for name in external if not (exists and name == "t")]
    sql = "SELECT " + form.sql.format(marks="".join(f", {name}.mark" for name in shown))
    width = len(shown) if form.part is None else 1
    found, alive, before = [], Counter[Any](), Counter[Any]()
    for now in INSTANTS:
        now_there = _ask(
            form, sql, {name: in_view(marked[name], windows[name], now) for name in form.streams}, marks, now
        )
        alive += now_there - before
        before = now_there
        alive = Counter({row: n for row, n in alive.items() if all(_lives(mark, marks, now) for mark in row[-width:])})
        found.append(_without_marks(alive, width))
    return found


def _lives(mark: int | None, marks: Marks, now: int) -> bool:
    return mark is None or marks.over.get(mark, now + 1) > now


def _without_marks(rows: Counter[Any], width: int) -> Counter[Any]:
    bag: Counter[Any] = Counter()
    for row, count in rows.items():
        bag[normal_row(row[:-width])] += count
    return bag


def _ask(form: Form, sql: str, shown: dict[str, list[Row]], marks: Marks, now: int) -> Counter[Any]:
    with CONNECTION.cursor() as cursor:
        for name, view in shown.items():
            cursor.register(name, table_of(view, MARKED))
        for name in ("r", "n"):
            cursor.register(name, table_of(TABLE, TABLE_SCHEMA))
        if form.part is not None:
            part = cursor.sql(form.part).to_arrow_table()
            values = list(zip(*(column.to_pylist() for column in part.columns), strict=True))
            given = marks.of_values(set(values), now)
            cursor.register("q", part.append_column("mark", pa.array([given[value] for value in values], pa.int64())))
        return Counter(cursor.sql(sql).fetchall())


def run(
    query: str, streams: dict[str, list[Row]], cuts: list[int], strategy: str, optimizer: str
) -> list[Counter[Any]]:
    engine = LocalEngine()
    engine.sql(f"{DECLARATIONS} {FILL} SET strategy = {strategy}; SET optimizer = {optimizer}")
    running = engine.query(query)
    feed(engine, streams, SCHEMAS, [START + cut * SECOND // 2 for cut in cuts])
    return answers(running, INSTANTS)


@cache
def window_of(text: str) -> Any:
    engine = LocalEngine()
    engine.sql(DECLARATIONS)
    plan = compile_query(f"SELECT * FROM s [{text}]", engine.session.catalog)
    return next((node.window for node in plan.walk() if isinstance(node, Windowed)), None)


@st.composite
def dense_rows(draw: st.DrawFn) -> list[Row]:
    """Rows that meet: few values, close together."""
    times = sorted(draw(st.lists(st.integers(0, 14), min_size=2, max_size=8)))
    values = {"a": st.sampled_from([1, 1, 2, None]), "b": st.sampled_from(["x", "y"]), "v": st.sampled_from([1.0, 2.0])}
    return [{"ts": START + time * SECOND // 2, **{name: draw(of) for name, of in values.items()}} for time in times]


@st.composite
def situations(draw: st.DrawFn) -> tuple[Form, dict[str, str], set[str]]:
    """A form, the windows of its streams, and which of these are internal: some, not all."""
    form = draw(st.sampled_from([*JOINS, INTERNAL_MATCH, *PARTS]))
    slide = draw(st.sampled_from(SLIDES))
    texts = {name: f"{draw(st.sampled_from(WINDOWS))}{slide}" for name in form.streams}
    internal = {"t"} if form is INTERNAL_MATCH else {"s"}
    if form in JOINS:
        internal = set(draw(st.lists(st.sampled_from(form.streams), min_size=1, max_size=len(form.streams) - 1)))
    return form, texts, internal


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(
    situation=situations(),
    streams=st.fixed_dictionaries({"s": dense_rows(), "t": dense_rows(), "u": dense_rows()}),
    cuts=st.lists(st.integers(0, 24), max_size=6),
    strategy=st.sampled_from(["upa", "direct", "nt"]),
    optimizer=st.sampled_from(["on", "off"]),
)
def test_results_end_with_their_external_parts(
    situation: tuple[Form, dict[str, str], set[str]],
    streams: dict[str, list[Row]],
    cuts: list[int],
    strategy: str,
    optimizer: str,
) -> None:
    form, texts, internal = situation
    assume("JOIN n" not in form.cql or "ROWS" not in texts["t"])  # refused: n is looked up below what is taken back
    ordered = {name: stream_order(of, ["a"] if name == "t" else []) for name, of in streams.items()}
    written = {name: f"[{text}{' INTERNAL' if name in internal else ''}]" for name, text in texts.items()}
    found = run(f"SELECT {form.cql.format(**written)}", ordered, cuts, strategy, optimizer)
    windows = {name: window_of(text) for name, text in texts.items()}
    for now, one, other in zip(INSTANTS, found, expected(form, ordered, windows, internal), strict=True):
        assert one == other, f"at {(now - START) / SECOND} s"
