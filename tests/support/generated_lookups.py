"""Queries that are looked up, as Hypothesis draws them: created, asked and dropped while rows come in pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from hypothesis import strategies as st

from support.generated_streams import START
from support.local_runs import table_of
from support.rows_in_view import Row
from support.sub_windows import HALF, SCHEMA
from windrow.runtime.local import LocalEngine
from windrow.units import BEGINNING


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


class Running(NamedTuple):
    asked: Asked
    query: Any
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
                self.now[name] = Running(one, query, start_of_next(engine))
            if not one.lives_at(step) and self.now.pop(name, None) is not None:
                engine.sql(f"DROP QUERY {name}")


def start_of_next(engine: Any) -> int:
    """From when a query that is created now sees rows: on shards those later than all that have come."""
    if isinstance(engine, LocalEngine):
        return int(engine.watermark)
    return int(engine.last_row) + (engine.last_row > BEGINNING)


def rows_at(halves: Iterable[int]) -> list[Row]:
    return [{"ts": START + n * HALF, "k": "ab"[n % 2], "x": n, "y": None} for n in halves]
