"""Generated rows for the streams of `plans`: short, with ties, bursts, nulls and skew; and what its tables hold."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from hypothesis import strategies as st

from support.local_runs import TIMESTAMP
from support.rows_in_view import Row
from support.table_history import TableHistory
from support.text_oracle import World
from windrow.plan.nodes import Node, Stream

SCHEMA = pa.schema([("ts", TIMESTAMP), ("a", pa.int64()), ("b", pa.string()), ("v", pa.float64())])
TABLE_SCHEMA = pa.schema([("a", pa.int64()), ("name", pa.string())])
LIVING_SCHEMA = SCHEMA.append(pa.field("ttl", pa.duration("us")))
SCHEMAS = {**dict.fromkeys(("s", "t", "u"), SCHEMA), "readings": LIVING_SCHEMA, "r": TABLE_SCHEMA, "n": TABLE_SCHEMA}
TABLE: list[Row] = [{"a": 0, "name": "zero"}, {"a": 1, "name": "x"}, {"a": 2, "name": None}]
FILLING = {table: f"INSERT INTO {table} VALUES (0, 'zero'), (1, 'x'), (2, NULL)" for table in ("r", "n")}
FILL = " ".join(f"{statement};" for statement in FILLING.values())
TABLES = {
    table: TableHistory(f"CREATE TABLE {table} (a BIGINT, name STRING, PRIMARY KEY (a))", [statement])
    for table, statement in FILLING.items()
}
START = 1_767_225_600_000_000  # 2026-01-01 00:00:00
SECOND = 1_000_000

values = {
    "a": st.one_of(st.integers(0, 3), st.none(), st.integers(-5, 9)),
    "b": st.sampled_from(["x", "y", "ax", None, "q"]),
    "v": st.one_of(st.sampled_from([0.0, 1.0, 2.5, -1.0, None]), st.floats(-10, 10, width=16)),
}
lifetimes = st.one_of(st.integers(0, 12).map(lambda halves: halves * SECOND // 2), st.sampled_from([None, -SECOND]))


@st.composite
def rows(draw: st.DrawFn) -> list[Row]:
    """A short stream with ties and bursts, times a whole number of half seconds."""
    count = draw(st.integers(0, 12))
    times = sorted(draw(st.lists(st.integers(0, 20), min_size=count, max_size=count)))
    return [{"ts": START + time * SECOND // 2, **{name: draw(of) for name, of in values.items()}} for time in times]


@st.composite
def living_rows(draw: st.DrawFn) -> list[Row]:
    """Rows that say how long they live."""
    return [{**row, "ttl": draw(lifetimes)} for row in draw(rows())]


def all_streams() -> st.SearchStrategy[dict[str, list[Row]]]:
    return st.fixed_dictionaries({"s": rows(), "t": rows(), "u": rows(), "readings": living_rows()})


def instants(plan: Node, streams: dict[str, list[Row]], chosen: Sequence[int]) -> list[int]:
    """Half seconds and the ticks before them, from the first row of the streams that the query reads on."""
    read = {node.name for node in plan.walk() if isinstance(node, Stream)}
    first = min((row["ts"] for name in read for row in streams[name]), default=None)
    if first is None:
        return []
    moments = [START + half * SECOND // 2 for half in chosen]
    moments += [moment - 1 for moment in moments]
    return sorted({moment for moment in moments if moment >= first})


def world_of(text: str, ordered: dict[str, list[Row]], moments: Sequence[int] = ()) -> World:
    """What the oracle recomputes the answers of a query over these streams from."""
    return World(text, ordered, SCHEMAS, moments, TABLES, {"readings": "ttl"}, {"t": ["a"]})
