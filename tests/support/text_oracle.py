"""The oracle: answers recomputed from the text of a query, over the rows in view, by DuckDB.

`cql_text` cuts the windows out of the text, their definitions (`rows_in_view`) say which rows are in view, and
what is left of the text is run as Spark SQL on DuckDB (`spark_on_duckdb`). Output streams, results of INTERNAL windows
and windows on these are what their definitions say of such answers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from support import spark_on_duckdb
from support.cql_text import Block, Gap, View, read
from support.rows_in_view import Row, in_view, stream_order
from support.spark_on_duckdb import PLACES, TIME
from support.table_history import TableHistory
from windrow.plan.windows import Now, Range, RangeAgo, Window

Bag = Counter[Any]
_OWN_TIME = "ts'"  # where a row of results keeps its column ts: its own time is under "ts"


class World:
    """The rows of all streams in their order, what tables hold at each instant, and when anything can change."""

    def __init__(
        self,
        text: str,
        streams: Mapping[str, Sequence[Row]],
        schemas: Mapping[str, pa.Schema],
        instants: Sequence[int] = (),
        tables: Mapping[str, TableHistory] | None = None,
        lifetimes: Mapping[str, str] | None = None,
        ties: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self.query = read(text)
        self.streams = _with_places(streams, ties or {})
        self.schemas, self.instants = schemas, instants
        self.tables, self.lifetimes = tables or {}, lifetimes or {}
        times = [row["ts"] for name in _read(self.query) for row in streams.get(name, ())]
        self.first, self.last = min(times, default=None), max(times, default=None)
        self.results: dict[int, tuple[list[Row], pa.Schema]] = {}
        self._emitted: dict[int, Bag] | None = None

    @property
    def emits(self) -> bool:
        """What comes out is a stream of results."""
        return is_stream(self.query) and self.query.kind != "RSTREAM"

    def answer(self, now: int) -> Bag:
        """The answer at an instant; of a stream of results all that has been emitted."""
        if self.emits:
            return sum((bag for time, bag in self.emitted().items() if time <= now), Counter())
        return answer(self.query, self, now)

    def emitted(self) -> dict[int, Bag]:
        if self._emitted is None:
            self._emitted = emitted(self.query, self)
        return self._emitted

    def refreshes(self) -> dict[int, Bag]:
        """What is reported at each refresh."""
        return reports(self.query, self)


def _with_places(streams: Mapping[str, Sequence[Row]], ties: Mapping[str, Sequence[str]]) -> dict[str, list[Row]]:
    """Rows of streams with ties with their places among all such rows, by time and ties; nulls come first."""

    def key(name: str, row: Row) -> tuple[Any, ...]:
        values = [row[tie] for tie in ties[name]]
        return row["ts"], *((value is not None, value if value is not None else 0) for value in values)

    places = {of: n for n, of in enumerate(sorted({key(name, row) for name in ties for row in streams[name]}), 1)}
    return {
        name: [{**row, PLACES: [places[key(name, row)]]} for row in rows] if ties.get(name) else list(rows)
        for name, rows in streams.items()
    }


def instants(query: Block, world: World, until: int) -> list[int]:
    """Every instant up to one at which the answer of a query may change."""
    return sorted(instant for instant in _edges(query, world, until) if instant <= until)


def _edges(block: Block, world: World, until: int) -> set[int]:
    named = spark_on_duckdb.relations_of(block.sql) - set(block.views)
    found = {change for name in named if name in world.tables for change in world.tables[name].changes}
    views = [*block.views.values(), *(View(name, None) for name in named if name in world.streams)]
    for view in views:
        if isinstance(view.source, str):
            rows, lifetime = world.streams[view.source], world.lifetimes.get(view.source)
            begins = {row["ts"] for row in rows}
            begins |= {row["ts"] + row[lifetime] for row in rows if lifetime and row[lifetime] is not None}
        else:
            begins = _edges(view.source, world, until)
        lengths = [length for window in (view.window, view.suffix) if window for length in _lengths(window.window)]
        found |= begins | {begin + length for begin in begins for length in lengths}
    if block.slide is not None and world.first is not None:
        found |= set(range(world.first // block.slide * block.slide, until + 1, block.slide))
    return found


def _lengths(window: Window) -> tuple[int, ...]:
    """How long after its time a row may come into view or leave it."""
    extent = window.extent
    if isinstance(extent, RangeAgo):
        return extent.begin, extent.end
    return (extent.length,) if isinstance(extent, Range) else (1,) if isinstance(extent, Now) else ()


def answer_at(text: str, streams: Mapping[str, Sequence[Row]], schemas: Mapping[str, pa.Schema], now: int) -> Bag:
    """What a query gives over the rows in view at an instant, also before the first row."""
    world = World(text, streams, schemas)
    return spark_on_duckdb.bag(_table(world.query, world, now))


def _read(block: Block) -> set[str]:
    """The names of all relations that a query reads, down to the streams."""
    found = set(spark_on_duckdb.relations_of(block.sql))
    for view in block.views.values():
        found |= {view.source} if isinstance(view.source, str) else _read(view.source)
    return found


def is_stream(block: Block) -> bool:
    return block.kind is not None or block.stays


def answer(block: Block, world: World, now: int) -> Bag:
    return spark_on_duckdb.bag(_table(block, world, now)) if _has_begun(world, now) else Counter()


def _has_begun(world: World, now: int) -> bool:
    """Time begins with the first row."""
    return world.first is not None and now >= world.first


def _table(block: Block, world: World, now: int) -> pa.Table:
    named = spark_on_duckdb.relations_of(block.sql) - set(block.views)
    views = {**block.views, **{name: View(name, None) for name in named if name in world.streams}}
    shown = {name: _shown(view, world, now) for name, view in views.items()}
    streams = {name: view.source if isinstance(view.source, str) else name for name, view in views.items()}
    tables = {name: world.tables[name] for name in named if name in world.tables}
    if any(not table.is_retroactive and table.last_change >= world.first for table in tables.values()):
        return _looked_up(block.sql, shown, streams, tables)
    return spark_on_duckdb.run(block.sql, shown | {name: table.at(now) for name, table in tables.items()}, streams)


def _looked_up(
    sql: str, shown: dict[str, pa.Table], streams: dict[str, str], tables: Mapping[str, TableHistory]
) -> pa.Table:
    """Every row of the only stream with the tables as they were at its time."""
    if len(shown) > 1 or spark_on_duckdb.is_aggregate(sql):
        raise Gap("a NON RETROACTIVE table that changes, beside more than rows of one stream")
    ((name, rows),) = shown.items()
    parts = []
    for time in sorted({*rows[TIME].to_pylist(), 0}):
        then = rows.filter(pa.compute.equal(rows[TIME], time))
        parts.append(spark_on_duckdb.run(sql, {name: then} | {n: t.at(time) for n, t in tables.items()}, streams))
    return pa.concat_tables(parts)


def _shown(view: View, world: World, now: int) -> pa.Table:
    """The rows in view."""
    if isinstance(view.source, str):
        rows, schema = world.streams[view.source], world.schemas[view.source]
        lifetime = world.lifetimes.get(view.source)
    else:
        (rows, schema), lifetime = results(view.source, world), None
    shown = in_view(rows, view.window.window if view.window else None, now, lifetime)
    if view.suffix is not None:
        shown = in_view(shown, view.suffix.window, now)
    table = arrow(shown, schema)
    if view.window is not None and view.window.where is not None:
        name = str(view.source)
        table = spark_on_duckdb.run(f"SELECT * FROM {name} WHERE {view.window.where}", {name: table}, {})
    return table


def arrow(rows: Sequence[Row], schema: pa.Schema) -> pa.Table:
    def array(field: pa.Field) -> pa.Array:
        values = [row[_OWN_TIME if field.name == "ts" and _OWN_TIME in row else field.name] for row in rows]
        is_number = (pa.types.is_timestamp(field.type) or pa.types.is_duration(field.type)) and all(
            value is None or isinstance(value, int) for value in values
        )
        return pa.array(values, pa.int64()).view(field.type) if is_number else pa.array(values, field.type)

    columns = pa.table([array(field) for field in schema], schema=schema)
    columns = columns.append_column(TIME, pa.array([row["ts"] for row in rows], pa.int64()))
    return columns.append_column(PLACES, pa.array([row.get(PLACES, [0]) for row in rows], pa.list_(pa.int64())))


def results(block: Block, world: World) -> tuple[list[Row], pa.Schema]:
    """A stream of results, its rows of one instant in the order of their values."""
    if id(block) not in world.results:
        schema = _named_apart(_table(block, world, world.first if world.first is not None else 0).schema)
        rows = []
        for time, bag in emitted(block, world).items():
            for row in bag.elements():
                columns = {_OWN_TIME if name == "ts" else name: v for name, v in zip(schema.names, row, strict=True)}
                rows.append({"ts": time, **columns})
        world.results[id(block)] = stream_order(rows, []), schema
    return world.results[id(block)]


def _named_apart(schema: pa.Schema) -> pa.Schema:
    """Columns of one name get a number, so that a row can have them all."""
    names = [name if name not in schema.names[:place] else f"{name}_{place}" for place, name in enumerate(schema.names)]
    return pa.schema([field.with_name(name) for field, name in zip(schema, names, strict=True)])


def emitted(block: Block, world: World) -> dict[int, Bag]:
    """What a stream of results emits, by instant.

    Results of INTERNAL windows stay: what they emit is ISTREAM, and for a periodic aggregate its value at each refresh.
    """
    if block.is_internal and _changing_tables(block, world):
        raise Gap("INTERNAL beside a table that changes")
    if block.stays:
        parts = spark_on_duckdb.branches(block.sql)
        if len(parts) > 1:
            return _sum(emitted(replace(block, sql=part), world) for part in parts)
        if spark_on_duckdb.is_aggregate(block.sql) and block.slide is not None:
            return reports(block, world)
    if block.kind == "RSTREAM":
        return reports(block, world)
    if block.kind == "DSTREAM":
        return _differences(block, world, _lost)
    return _restored(block, world) if block.restore else _differences(block, world, _gained)


def _changing_tables(block: Block, world: World) -> list[str]:
    return [
        name for name in spark_on_duckdb.relations_of(block.sql) if name in world.tables and world.tables[name].changes
    ]


def _sum(parts: Any) -> dict[int, Bag]:
    total: dict[int, Bag] = {}
    for part in parts:
        for time, bag in part.items():
            total.setdefault(time, Counter()).update(bag)
    return total


def _gained(before: Bag, after: Bag) -> Bag:
    return after - before


def _lost(before: Bag, after: Bag) -> Bag:
    return before - after


def _refreshes(block: Block, world: World) -> list[int]:
    """When the answer may change; a periodic query is refreshed at the multiples of its slide, after the first row."""
    slide = block.slide
    if world.first is None:
        return []
    if slide is None:
        return [instant for instant in world.instants if instant >= world.first]
    return [instant for instant in world.instants if instant > world.first and instant % slide == 0]


def _differences(block: Block, world: World, kind: Callable[[Bag, Bag], Bag]) -> dict[int, Bag]:
    found: dict[int, Bag] = {}
    before: Bag = Counter()
    for instant in _refreshes(block, world):
        after = answer(block, world, instant)
        if kind(before, after):
            found[instant] = kind(before, after)
        before = after
    return found


def _restored(block: Block, world: World) -> dict[int, Bag]:
    """ISTREAM RESTORE: all that comes into the answer of the query without its slides, emitted at the next refresh."""
    slide = block.slide
    assert slide is not None
    found: dict[int, Bag] = {}
    for instant, born in _differences(block.without_slides(), world, _gained).items():
        found.setdefault((instant // slide + 1) * slide, Counter()).update(born)
    return found


def reports(block: Block, world: World) -> dict[int, Bag]:
    """RSTREAM: the answer at every refresh, until the last row and the last change.

    RESTORE: the least bag that holds the answer and all that was born since the refresh before.
    """
    found = {instant: answer(block, world, instant) for instant in _refreshes(block, world)}
    if block.restore:
        born = _restored(block, world)
        found = {instant: bag | born.get(instant, Counter()) for instant, bag in found.items()}
    instants = list(found)
    changes = [
        now
        for now, before in zip(instants, [None, *instants], strict=False)
        if found[now] != found.get(before)  # type: ignore[arg-type]
    ]
    end = max([world.last or 0, *changes])
    return {instant: bag for instant, bag in found.items() if bag and instant <= end}
