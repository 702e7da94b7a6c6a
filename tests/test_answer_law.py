"""The answer law: at every instant, the answer is what the same query gives over the rows its windows show."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb
from generated_streams import FILL, SCHEMAS, SECOND, START, TABLE, all_streams
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st
from local_runs import answers, feed
from own_aggregates import OWN
from plans import DECLARATIONS
from queries import queries
from sql_oracle import Row, answer_at, stream_order

from windrow.cql import compile_query
from windrow.errors import CqlMeaningError, WindrowError
from windrow.plan.nodes import AppendOnly, Node, OutputStream, Stream
from windrow.runtime.local import Engine


def instants(plan: Node, streams: dict[str, list[Row]], chosen: Sequence[int]) -> list[int]:
    """Half seconds and the ticks before them, from the first row of the streams that the query reads on."""
    read = {node.name for node in plan.walk() if isinstance(node, Stream)}
    first = min((row["ts"] for name in read for row in streams[name]), default=None)
    if first is None:
        return []
    moments = [START + half * SECOND // 2 for half in chosen]
    moments += [moment - 1 for moment in moments]
    return sorted({moment for moment in moments if moment >= first})


@settings(max_examples=1200, suppress_health_check=list(HealthCheck))
@given(
    query=queries(),
    streams=all_streams(),
    cuts=st.lists(st.integers(0, 24), max_size=6),
    chosen=st.lists(st.integers(0, 40), min_size=1, max_size=5),
    strategy=st.sampled_from(["upa", "direct", "nt"]),
    optimizer=st.sampled_from(["on", "off"]),
)
def test_generated_queries(
    query: str,
    streams: dict[str, list[Row]],
    cuts: list[int],
    chosen: list[int],
    strategy: str,
    optimizer: str,
) -> None:
    engine = Engine(aggregates=OWN)
    engine.sql(f"{DECLARATIONS} {FILL} SET strategy = {strategy}; SET optimizer = {optimizer}")
    try:
        plan = compile_query(query, engine.session.catalog)
    except CqlMeaningError:
        assume(False)
    assume(not any(isinstance(node, OutputStream | AppendOnly) for node in plan.walk()))
    try:
        running = engine.query(query)
    except WindrowError as error:
        event(f"not run: {error.message}")
        assume(False)
    ordered = {name: stream_order(of, ["a"] if name == "t" else []) for name, of in streams.items()}
    known = {**ordered, "r": TABLE, "n": TABLE}
    feed(engine, ordered, SCHEMAS, [START + cut * SECOND // 2 for cut in cuts])
    moments = instants(plan, streams, chosen)
    for moment, found in zip(moments, answers(running, moments), strict=True):
        try:
            expected = answer_at(plan, known, SCHEMAS, moment)
        except (duckdb.OutOfRangeException, duckdb.ConversionException):
            continue
        assert found == expected, f"at {(moment - START) / SECOND} s"
