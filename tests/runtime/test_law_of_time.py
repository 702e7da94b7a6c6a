"""The answer law where streams go at their own pace: silent, idle, ended or behind; tables change, runs restart.

Every query gives, at every instant that is final for its own streams, what the oracle gives over the rows that were
accepted; what is final for it does not depend on other queries.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from typing import Any, NamedTuple

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from support.features import is_approximate
from support.generated_streams import FILLING, SCHEMAS, SECOND, START, TABLES, all_streams, instants
from support.local_runs import answers, table_of
from support.own_aggregates import OWN
from support.plans import DECLARATIONS
from support.queries import queries
from support.rows_in_view import Row, stream_order
from support.shard_runs import ShardsInProcess
from support.table_history import TableHistory
from support.text_oracle import World
from support.time_model import NEVER, TimeModel
from windrow.clock import ManualClock
from windrow.cql import compile_query
from windrow.errors import CqlMeaningError, WindrowError
from windrow.plan.analysis.relations import streams_of, tables_of
from windrow.plan.nodes import AppendOnly, Node, OutputStream
from windrow.runtime.local import LocalEngine

STREAMS = ("s", "t", "u", "readings")
IDLE_AFTER = {"u": 10 * SECOND}
TABLE_R = "CREATE TABLE r (a BIGINT, name STRING, PRIMARY KEY (a))"


class Turn(NamedTuple):
    """What comes before a step: rows of streams, ends, changes of a table, time on the clock, a restart."""

    rows: dict[str, int]
    ends: list[str]
    changes: list[tuple[str, int | None]]  # statements, with a time in half seconds or none
    clock: int
    restarts: bool


changes = st.one_of(
    st.builds("DELETE FROM r WHERE a = {0}; INSERT INTO r VALUES ({0}, 'new {0}')".format, st.integers(0, 5)),
    st.builds("DELETE FROM r WHERE a = {}".format, st.integers(0, 3)),
    st.builds("UPDATE r SET name = 'other' WHERE a = {}".format, st.integers(0, 3)),
)
OVER_TABLES = (
    "SELECT s.a, r.name FROM s [RANGE 4 SECONDS] JOIN r ON s.a = r.a",
    "SELECT u.a, r.name FROM u [ROWS 3] LEFT JOIN r ON u.a = r.a",
    "SELECT COUNT(*) AS n FROM s [RANGE 3 SECONDS], u [RANGE 3 SECONDS] JOIN r ON u.a = r.a WHERE s.b = u.b",
    "SELECT a FROM r EXCEPT SELECT a FROM t [RANGE 2 SECONDS]",
    "SELECT name FROM r UNION ALL SELECT b FROM s [RANGE 1 SECOND]",
    "SELECT r.name, COUNT(*) AS n FROM u [RANGE 5 SECONDS SLIDE 1 SECOND] JOIN r ON u.a = r.a GROUP BY r.name",
    "SELECT s.a, (SELECT COUNT(*) FROM r) AS n FROM s [RANGE 2 SECONDS]",
    "SELECT c.n, d.n AS m FROM (SELECT COUNT(*) AS n FROM s [RANGE 2 SECONDS]) c, (SELECT COUNT(*) AS n FROM u) d",
)
texts_of_queries = st.one_of(queries(outputs=False), queries(outputs=False), st.sampled_from(OVER_TABLES))
counts = st.sampled_from([0, 0, 1, 2, 3, 5, 8])
turns = st.builds(
    Turn,
    rows=st.fixed_dictionaries(dict.fromkeys(STREAMS, counts)),
    ends=st.one_of(st.just([]), st.just([]), st.lists(st.sampled_from(STREAMS), max_size=1)),
    changes=st.lists(st.tuples(changes, st.one_of(st.none(), st.none(), st.integers(0, 24))), max_size=2),
    clock=st.sampled_from([0, 4, 10]),
    restarts=st.booleans(),
)


class Run:
    """An engine of some kind that goes through turns; on shards it may restart from its checkpoint."""

    def __init__(self, shards: int, texts: Sequence[str], strategy: str) -> None:
        self._shards, self._clock = shards, ManualClock(START)
        self._place = tempfile.TemporaryDirectory(prefix="windrow-")
        self.engine: Any = self._engine()
        for one in DECLARATIONS.split(";")[:-1]:
            clauses = " IDLE AFTER 10 SECONDS" if "STREAM u" in one else ""
            self.engine.sql(f"{one}{clauses} {'AHEAD UNLIMITED' if 'STREAM' in one else ''}")
        self.engine.sql(f"SET strategy = {strategy}; {'; '.join(FILLING.values())}")
        self.plans: dict[str, Node] = {}
        self.texts: dict[str, str] = {}
        for number, text in enumerate(texts):
            self._start(f"q{number}", text)

    def _engine(self) -> Any:
        if not self._shards:
            return LocalEngine(clock=self._clock, aggregates=OWN)
        engine = ShardsInProcess(self._shards, forgetful=True, checkpoint=self._place.name, clock=self._clock)
        for own in OWN:
            engine.register_aggregate(
                own.name,
                own.arguments,
                own.result,
                own.functions,
                own.kind.value,
                own.duplicate_sensitive,
                own.vectorized,
            )
        return engine

    def _start(self, name: str, text: str) -> None:
        try:
            plan = compile_query(text, self.engine.session.catalog)
            if is_approximate(plan) or any(isinstance(node, OutputStream | AppendOnly) for node in plan.walk()):
                return
            self.engine.query(text, name)
        except (CqlMeaningError, WindrowError):
            return
        self.plans[name], self.texts[name] = plan, text

    def model(self) -> TimeModel:
        read = {name: streams_of(plan) for name, plan in self.plans.items()}
        tables = {"r": frozenset(name for name, plan in self.plans.items() if "r" in tables_of(plan))}
        return TimeModel(STREAMS, read, tables, IDLE_AFTER, START)

    def turn(self, turn: Turn, rows: dict[str, list[Row]]) -> None:
        self._clock.advance(turn.clock * SECOND)
        for statement, half in turn.changes:
            for one in statement.split("; "):
                self.engine.sql(one if half is None else f"{one} AT '{written(START + half * SECOND // 2)}'")
        for name, some in rows.items():
            self.engine.push(name, table_of(some, SCHEMAS[name]))
        for name in turn.ends:
            self.engine.end(name)
        self.engine.step()

    def restart(self) -> bool:
        """Go on from the checkpoint, if there is one."""
        if self._shards:
            self.engine.close()
            self.engine = self._engine()
        return bool(self._shards)

    def close(self) -> None:
        self.engine.close()
        self._place.cleanup()


def written(time: float) -> str:
    moment = datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(microseconds=int(time))
    return f"{moment:%Y-%m-%d %H:%M:%S.%f}"


@settings(max_examples=100, suppress_health_check=list(HealthCheck), deadline=None)
@given(
    texts=st.lists(texts_of_queries, min_size=2, max_size=3, unique=True),
    streams=all_streams().filter(lambda streams: sum(map(len, streams.values())) > 20),
    script=st.lists(turns, min_size=3, max_size=7),
    chosen=st.lists(st.integers(0, 24), min_size=2, max_size=4),
    strategy=st.sampled_from(["upa", "direct", "nt"]),
    shards=st.sampled_from([0, 0, 0, 1, 2]),
)
def test_every_query_goes_by_its_own_streams(
    texts: list[str],
    streams: dict[str, list[Row]],
    script: list[Turn],
    chosen: list[int],
    strategy: str,
    shards: int,
) -> None:
    run = Run(shards, texts, strategy)
    try:
        assume(run.plans)
        model, statements = gone_through(run, streams, script)
        accepted = {name: stream_order(of, ["a"] if name == "t" else []) for name, of in model.accepted.items()}
        late = sum(of["late"] for of in run.engine.status()["streams"].values())
        assert late == model.late
        for name, plan in run.plans.items():
            final = model.watermark(name)
            moments = [moment for moment in instants(plan, model.accepted, chosen) if moment < final]
            seen = [statement for statement, queries in statements if name in queries]
            tables = {**TABLES, "r": TableHistory(TABLE_R, [FILLING["r"], *seen])}
            world = World(run.texts[name], accepted, SCHEMAS, [], tables, {"readings": "ttl"}, {"t": ["a"]})
            for moment, found in zip(moments, answers(run.engine[name], moments), strict=True):
                assert found == world.answer(moment), f"at {(moment - START) / SECOND} s: {run.texts[name]}"
    finally:
        run.close()


def gone_through(
    run: Run, streams: dict[str, list[Row]], script: list[Turn]
) -> tuple[TimeModel, list[tuple[str, set[str]]]]:
    """The model in the end, and the statements with their times, each with the queries that were not over by then."""
    left, model = {name: list(of) for name, of in streams.items()}, run.model()
    statements: list[tuple[str, set[str]]] = []
    for place, turn in enumerate(script):
        if place == 0:
            turn = turn._replace(clock=0, restarts=False)
        if turn.restarts and run.restart():
            model.restart()
        open_ones = [name for name in STREAMS if name not in turn.ends and model.final[name] != math.inf]
        rows = {name: some for name in open_ones if (some := left[name][: turn.rows[name]])}
        left = {name: of[len(rows.get(name, ())) :] for name, of in left.items()}
        going_on = {name for name in run.plans if model.watermark(name) != math.inf}
        effect = model.effect_of_change("r")
        for statement, half in turn.changes:
            time = max(effect, NEVER if half is None else START + half * SECOND // 2)
            at = "" if time == NEVER else f" AT '{written(time)}'"
            statements += [(f"{one}{at}", going_on) for one in statement.split("; ")]
        model.clock += turn.clock * SECOND
        run.turn(turn, rows)
        model.step(rows, turn.ends)
        for name in run.plans:
            expected = model.watermark(name)
            if abs(expected) != math.inf:
                assert run.engine[name].watermark == expected, run.texts[name]
    return model, statements
