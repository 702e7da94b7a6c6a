"""Statements while shards run: each takes effect at one micro-batch, on all shards, and touches no other query.

A query that starts in mid-run answers as a fresh engine would that gets only the rows from its start on.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow
from support.shard_runs import ShardsInProcess
from windrow.clock import ManualClock
from windrow.errors import CheckpointError, CqlNameError
from windrow.units import SECOND

CREATE = "CREATE STREAM s (ts TIMESTAMP, k INT, v INT) TIMESTAMP BY ts SLACK 1 SECOND"
QUERIES = (
    "SELECT k, v FROM s [RANGE 5 SECONDS] WHERE v > 2",
    "SELECT k, COUNT(*) AS n, SUM(v) AS v FROM s [RANGE 7 SECONDS] GROUP BY k",
    "SELECT DISTINCT v FROM s [RANGE 4 SECONDS]",
    "SELECT COUNT(*) AS n FROM s [RANGE 6 SECONDS SLIDE 2 SECONDS]",
    "SELECT a.k FROM s [RANGE 3 SECONDS] AS a, s [RANGE 3 SECONDS] AS b WHERE a.k = b.v",
    "SELECT k, v FROM s [PARTITION BY k ROWS 2]",
)


def table(rows: list[tuple[int, int, int]]) -> pa.Table:
    times, keys, values = zip(*rows, strict=True) if rows else ((), (), ())
    ts = pa.array([time * SECOND for time in times], pa.timestamp("us", "UTC"))
    return pa.table({"ts": ts, "k": pa.array(keys, pa.int32()), "v": pa.array(values, pa.int32())})


def sums(changes: pa.Table, at: int) -> dict[tuple[object, ...], int]:
    """The answer at an instant: the sum of signs."""
    found: dict[tuple[object, ...], int] = {}
    for row in changes.to_pylist():
        ts, exp, sign = row.pop("_ts"), row.pop("_exp"), row.pop("_sign")
        begins = ts.timestamp() * SECOND <= at
        if begins and (exp is None or at < exp.timestamp() * SECOND):
            key = tuple(row.values())
            found[key] = found.get(key, 0) + sign
    return {key: count for key, count in found.items() if count}


@st.composite
def scripts(draw: st.DrawFn) -> list[tuple[str, object]]:
    """Rows in the order of time, with queries that come and go between them."""
    events: list[tuple[str, object]] = []
    time, running, created = 0, [], 0
    for _ in range(draw(st.integers(3, 7))):
        rows = []
        for _ in range(draw(st.integers(0, 8))):
            time += draw(st.integers(0, 2))
            rows.append((time, draw(st.integers(0, 2)), draw(st.integers(0, 4))))
        events.append(("rows", rows))
        if draw(st.booleans()):
            created += 1
            running.append(f"q{created}")
            events.append(("create", (running[-1], draw(st.sampled_from(QUERIES)))))
        if len(running) > 1 and draw(st.integers(0, 3)) == 0:
            events.append(("drop", running.pop(draw(st.integers(0, len(running) - 1)))))
    return events


@given(scripts(), st.sampled_from([1, 3]))
def test_queries_come_and_go(script: list[tuple[str, object]], shards: int) -> None:
    engine = ShardsInProcess(shards)
    engine.sql(CREATE)
    pushed: list[tuple[int, int, int]] = []
    texts: dict[str, str] = {}
    dropped: dict[str, tuple[int | None, pa.Table, int]] = {}
    for kind, what in script:
        if kind == "rows":
            assert isinstance(what, list)
            pushed += what
            engine.push("s", table(what))
            engine.step()
        elif kind == "create":
            name, texts[name] = what  # type: ignore[misc]
            engine.sql(f"CREATE QUERY {name} AS {texts[name]}")
            assert engine[name].started is None
        else:
            name = str(what)
            dropped[name] = engine[name].started, engine[name].changes(), engine.watermark
            engine.sql(f"DROP QUERY {name}")
    engine.step()
    final = {
        name: (engine[name].started, engine[name].changes(), engine.watermark) for name in texts if name not in dropped
    }
    for name, (started, changes, watermark) in (final | dropped).items():
        rows = [row for row in pushed if started is not None and row[0] * SECOND >= started]
        expected = changes_from(texts[name], rows)
        # Before its first row a fresh engine has no time; a query that starts in mid-run has.
        first = (min((row[0] for row in rows), default=0) + 2) * SECOND
        for at in range(first, max(watermark, 0), SECOND // 2):
            if started is not None and at >= started:
                assert sums(changes, at) == sums(expected, at), (name, at)
    engine.close()


def changes_from(text: str, rows: list[tuple[int, int, int]]) -> pa.Table:
    """What a fresh engine in this process tells of a query."""
    engine = windrow.connect(local=True)
    engine.sql(CREATE)
    query = engine.query(text)
    engine.push("s", table(rows))
    engine.end("s")
    engine.step()
    return query.changes()


def test_tables_change_at_a_batch(tmp_path: object) -> None:
    engine = ShardsInProcess(2, forgetful=True)
    engine.sql(f"{CREATE}; CREATE TABLE t (k INT, name STRING, PRIMARY KEY (k)) NON RETROACTIVE")
    query = engine.query("SELECT v, name FROM s [RANGE 1 HOUR] JOIN t ON s.k = t.k")
    engine.push("s", table([(1, 1, 1), (4, 1, 2)]))
    engine.step()
    for time, name in ((10, "a"), (20, "b")):  # a change after one that is over has a number of its own
        engine.sql(f"INSERT INTO t VALUES ({time}, '{name}')")
        engine.push("s", table([(time, time, time), (time + 4, 1, 0)]))
        engine.step()
    assert sorted((row["v"], row["name"]) for row in query.answer().to_pylist()) == [(10, "a"), (20, "b")]
    engine.close()


class TestHeartbeats:
    def engine(self, clock: ManualClock, query: str) -> ShardsInProcess:
        engine = ShardsInProcess(2, clock=clock)
        engine.sql("CREATE STREAM s (ts TIMESTAMP, k INT, v INT) TIMESTAMP BY ts HEARTBEAT 2 SECONDS")
        engine.query(query, "q")
        engine.push("s", table([(0, 1, 1), (1, 2, 2)]))
        engine.step()
        return engine

    def test_answers_expire_on_the_clock(self) -> None:
        clock = ManualClock(1 * SECOND)
        engine = self.engine(clock, "SELECT k FROM s [RANGE 5 SECONDS]")
        assert not engine.tick()  # it was not silent for long enough

        clock.advance(2 * SECOND)
        assert engine.tick()
        engine.step()
        assert {row["k"] for row in engine["q"].answer().to_pylist()} == {1, 2}
        assert not engine.tick()

        clock.advance(4 * SECOND)
        assert engine.tick()
        engine.step()
        assert engine["q"].answer().num_rows == 0
        assert engine.watermark == 7 * SECOND

        clock.advance(60 * SECOND)
        assert not engine.tick(), "nothing is left that time could change"
        engine.close()

    def test_time_changes_nothing_in_an_answer_that_only_grows(self) -> None:
        clock = ManualClock(1 * SECOND)
        engine = self.engine(clock, "SELECT k FROM s [RANGE UNBOUNDED]")
        clock.advance(2 * SECOND)
        assert engine.tick(), "the row at 1 s is not final yet"
        engine.step()
        clock.advance(60 * SECOND)
        assert not engine.tick()
        engine.close()

    def test_a_stream_without_heartbeat_holds_those_who_read_it(self) -> None:
        clock = ManualClock(1 * SECOND)
        engine = self.engine(clock, "SELECT k FROM s [RANGE 5 SECONDS]")
        engine.sql("DROP QUERY q; CREATE STREAM t (ts TIMESTAMP, k INT, v INT) TIMESTAMP BY ts")
        engine.query("SELECT k FROM s [RANGE 5 SECONDS] EXCEPT SELECT k FROM t [RANGE 5 SECONDS]")
        engine.step()
        clock.advance(60 * SECOND)
        assert not engine.tick(), "t holds the only query"
        engine.query("SELECT k FROM s [RANGE 5 SECONDS]")
        engine.push("s", table([(2, 1, 1)]))
        engine.step()
        clock.advance(60 * SECOND)
        assert engine.tick(), "nothing holds the other one"
        engine.close()

    def test_a_source_that_has_more_is_not_silent(self) -> None:
        clock = ManualClock(1 * SECOND)
        engine = self.engine(clock, "SELECT k FROM s [RANGE 5 SECONDS]")
        engine.driver.push("s", pa.table({"ts": [SECOND], "k": [1], "v": [1]}))
        engine.driver.readers.resting = {"s"}  # what was pushed has not been read
        engine.step()
        clock.advance(60 * SECOND)
        assert not engine.tick()
        engine.close()

    def test_rows_without_a_time_get_that_of_their_batch(self) -> None:
        clock = ManualClock(10 * SECOND)
        engine = ShardsInProcess(2, clock=clock)
        engine.sql("CREATE STREAM a (k INT) ARRIVAL HEARTBEAT 1 SECOND")
        query = engine.query("SELECT k FROM a [RANGE 3 SECONDS]")
        engine.push("a", pa.table({"k": pa.array([7], pa.int32())}))
        engine.step()
        clock.advance(SECOND)
        assert engine.tick()
        engine.step()
        (change,) = query.changes().to_pylist()
        assert (change["_ts"].timestamp(), change["_exp"].timestamp()) == (10, 13)
        engine.close()


class TestResuming:
    FILE = f"""{CREATE};
        CREATE TABLE t (k INT, name STRING);
        INSERT INTO t VALUES (1, 'a');
        CREATE QUERY q AS SELECT k, COUNT(*) AS n FROM s [RANGE 1 HOUR] GROUP BY k;
        CREATE QUERY named AS SELECT v, name FROM s [RANGE 1 HOUR] JOIN t ON s.k = t.k"""

    def begun(self, place: str) -> None:
        engine = ShardsInProcess(2, checkpoint=place)
        assert len(engine.resume(self.FILE)) == 5
        engine.push("s", table([(1, 1, 1), (5, 1, 2)]))
        engine.step()
        engine.close()

    def test_the_same_statements_are_skipped_and_new_ones_carried_out(self, tmp_path: object) -> None:
        self.begun(str(tmp_path))
        engine = ShardsInProcess(2, checkpoint=str(tmp_path))
        assert engine.resume(self.FILE) == []
        (result,) = engine.resume(f"{self.FILE}; CREATE QUERY more AS SELECT k FROM s [RANGE 1 HOUR]")
        assert result.message == "created query more"
        engine.push("s", table([(8, 1, 3), (12, 2, 4)]))
        engine.step()
        assert engine["q"].answer().to_pylist() == [{"k": 1, "n": 3}]
        assert sorted(row["v"] for row in engine["named"].answer().to_pylist()) == [1, 2, 3], (
            "the table's row is there once"
        )
        assert engine["more"].answer().to_pylist() == [{"k": 1}]
        engine.close()

    def test_another_meaning_of_a_name_is_refused(self, tmp_path: object) -> None:
        self.begun(str(tmp_path))
        engine = ShardsInProcess(2, checkpoint=str(tmp_path))
        with pytest.raises(CheckpointError, match="the checkpoint has another query q: SELECT") as refused:
            engine.resume(self.FILE.replace("COUNT(*) AS n", "MAX(v) AS n"))
        assert "start with an empty checkpoint" in str(refused.value)
        assert engine.resume(self.FILE) == []
        engine.close()

    def test_a_text_reads_what_there_is(self, tmp_path: object) -> None:
        self.begun(str(tmp_path))
        text = "CREATE QUERY more AS SELECT s.k FROM s [RANGE 1 HOUR] JOIN t ON s.k = t.k"
        for known in (False, True):
            engine = ShardsInProcess(2, checkpoint=str(tmp_path))
            assert [result.message for result in engine.resume(text)] == ([] if known else ["created query more"])
            engine.close()
        with pytest.raises(CqlNameError, match="trades") as refused:
            engine.resume("CREATE QUERY wrong AS SELECT k FROM trades")
        assert "s" in str(refused.value.hint)

    def test_a_text_drops_what_there_is_and_creates_something_else(self, tmp_path: object) -> None:
        self.begun(str(tmp_path))
        text = "DROP QUERY q; CREATE QUERY q AS SELECT MAX(v) AS n FROM s [RANGE 1 HOUR]"
        for known in (False, True):
            engine = ShardsInProcess(2, checkpoint=str(tmp_path))
            assert len(engine.resume(text)) == (0 if known else 2)
            assert engine["q"].explain().text.startswith("SELECT MAX")
            engine.close()

    def test_what_was_dropped_meanwhile_stays_so(self, tmp_path: object) -> None:
        self.begun(str(tmp_path))
        engine = ShardsInProcess(2, checkpoint=str(tmp_path))
        engine.sql("DROP QUERY named; DROP TABLE t")
        assert engine.resume(self.FILE) == []
        engine.close()

    def test_nothing_is_added_to_a_run_that_has_ended(self, tmp_path: object) -> None:
        self.begun(str(tmp_path))
        engine = ShardsInProcess(2, checkpoint=str(tmp_path))
        engine.end("s")
        engine.run()
        assert engine.has_ended
        assert engine.resume(self.FILE) == []
        with pytest.raises(CheckpointError, match="has ended"):
            engine.resume(f"{self.FILE}; CREATE QUERY more AS SELECT k FROM s [RANGE 1 HOUR]")
        engine.close()


def test_an_end_waits_for_what_was_handed_over_before() -> None:
    """A stream of two files ends with the second, in the very batch that reads it."""
    from windrow.runtime.advance import advance
    from windrow.runtime.progress import IntakeReport, Progress

    progress = Progress().with_streams({"s": 0}).ending({"s": 2})
    first = advance(progress.with_intake([{"s": IntakeReport(1, 5, 5, read=1)}]), ()).after
    second = advance(first.with_intake([{"s": IntakeReport(1, 7, 7, read=1)}]), ())
    assert first.streams["s"].final == 5
    assert second.after.streams["s"].has_ended
    assert second.segment(frozenset(("s",))) == (5, np.iinfo(np.int64).max, 7)
