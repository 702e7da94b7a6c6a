"""An operator that raises sets aside the queries above it, and nobody else; they can be resumed."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from support.failing_sink import GOT, REFUSING
from support.shard_runs import ShardsInProcess
from windrow.clock import ManualClock
from windrow.errors import WindrowError
from windrow.operators.groups.group_by import GroupBy
from windrow.operators.joins.join import Join
from windrow.runtime.local import LocalEngine
from windrow.runtime.shards.storage.checkpoint import Checkpoint
from windrow.types import INT
from windrow.units import SECOND

STREAM = "CREATE STREAM s (ts TIMESTAMP, k STRING, v INT) TIMESTAMP BY ts"
SUMS = "SELECT k, SUM(v) AS total FROM s [RANGE 100 SECONDS] GROUP BY k"
PAIRS = "SELECT a.k, a.v, b.v AS w FROM s [RANGE 2 SECONDS] AS a, s [RANGE 2 SECONDS] AS b WHERE a.k = b.k"
FAILING: list[type] = []


@pytest.fixture(params=["local", "1", "3"])
def engine(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Operators of the kinds in FAILING run out of memory."""
    for kind in (GroupBy, Join):
        monkeypatch.setattr(kind, "step", breaking(kind, kind.step))
    logging.getLogger("windrow").setLevel(logging.ERROR)
    FAILING.clear()
    GOT.clear()
    made: Any
    if request.param == "local":
        made = LocalEngine(clock=ManualClock(7 * SECOND))
    else:
        made = ShardsInProcess(int(request.param), checkpoint=str(tmp_path / "c"), clock=ManualClock(7 * SECOND))
    made.sql(STREAM)
    yield made
    REFUSING.clear()
    made.close()
    logging.getLogger("windrow").setLevel(logging.NOTSET)


def breaking(kind: type, step: Any) -> Any:
    def stepped(self: Any, state: Any, inputs: Any, segment: Any) -> Any:
        result = step(self, state, inputs, segment)  # its state has changed when it fails
        if kind in FAILING and sum(map(len, inputs)):
            raise MemoryError("no room")
        return result

    return stepped


def push(engine: Any, *seconds: int) -> None:
    for second in seconds:
        engine.push("s", [{"ts": second * SECOND, "k": "abcd"[second % 4], "v": second}])
        engine.step()


def answer(engine: Any, name: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in engine[name].answer().to_pylist())


def waiting(engine: Any, row: tuple[str, int]) -> list[tuple[str, int]]:
    """The row that is not final when a query starts: in one process it is among those that come."""
    return [row] if isinstance(engine, LocalEngine) else []


def test_only_the_queries_above_it_are_set_aside(engine: Any) -> None:
    """One of two groupings that share their operator, a join beside them, and a plain window."""
    queries = {"sums": SUMS, "more": SUMS, "pairs": PAIRS, "plain": "SELECT v FROM s [RANGE 100 SECONDS]"}
    for name, query in queries.items():
        engine.query(query, name=name)
    heard: list[int] = []
    engine["plain"].subscribe(lambda table: heard.extend(table["v"].to_pylist()))
    push(engine, 1, 2, 3)
    good = answer(engine, "sums")
    FAILING.append(GroupBy)
    push(engine, 4, 5)
    FAILING.clear()
    push(engine, 6, 7)
    assert [v for (v,) in answer(engine, "plain")] == heard == [1, 2, 3, 4, 5, 6]
    assert answer(engine, "pairs") == [("b", 5, 5), ("c", 6, 6)]
    aside = engine.health()
    assert sorted((one.what, one.name, one.since, one.next_try) for one in aside) == [
        ("query", "more", 7 * SECOND, None),
        ("query", "sums", 7 * SECOND, None),
    ]
    assert aside[0].message == "MemoryError: no room, in the operator GroupBy"
    assert answer(engine, "sums") == answer(engine, "more") == good == [("b", 1), ("c", 2)]
    with pytest.raises(WindrowError, match="sums is set aside"):
        engine["sums"].answer(at=6 * SECOND)
    assert engine.status()["failing"][0]["what"] == "query"


def test_a_query_that_is_resumed_starts_anew(engine: Any) -> None:
    """Who has its old answer gets what brings them to the new one, and then its changes."""
    into = "INTO python('support.failing_sink:receive', mode => 'upsert')"
    engine.sql(f"CREATE QUERY q AS {SUMS} {into}; CREATE QUERY other AS SELECT v FROM s [RANGE 1 SECOND]")
    push(engine, 1, 2, 3)
    FAILING.append(GroupBy)
    push(engine, 4)
    FAILING.clear()
    push(engine, 5)
    with pytest.raises(WindrowError, match="other is not set aside"):
        engine.resume_query("other")
    engine.resume_query("Q")
    push(engine, 6, 7, 8)
    assert engine.health() == []
    assert answer(engine, "q") == [*waiting(engine, ("b", 5)), ("c", 6), ("d", 7)]
    known = {row["k"]: row for table in GOT["q"] for row in table.to_pylist()}
    assert sorted((k, row["total"]) for k, row in known.items() if row["_sign"] > 0) == answer(engine, "q")


def test_resumed_by_a_statement(engine: Any) -> None:
    """SHOW QUERIES says what is set aside and why."""
    engine.sql(f"CREATE QUERY q AS {SUMS}; CREATE QUERY other AS SELECT v FROM s [RANGE 1 SECOND]")
    push(engine, 1, 2)
    FAILING.append(GroupBy)
    push(engine, 3)
    FAILING.clear()
    shown = {row[0]: row[-1] for row in engine.sql("SHOW QUERIES")[0].rows}
    assert shown["other"] == ""
    assert shown["q"].startswith("since 1970-01-01 00:00:07: MemoryError: no room")
    assert "RESUME QUERY q takes it up again" in shown["q"]
    with pytest.raises(WindrowError, match="other is not set aside"):
        engine.sql("RESUME QUERY other")
    (result,) = engine.sql("RESUME QUERY Q")
    assert result.message == "resumed query q"
    push(engine, 4, 5, 6)
    assert engine.health() == [] and answer(engine, "q") == [("a", 4), ("b", 5), *waiting(engine, ("d", 3))]
    assert [row[-1] for row in engine.sql("SHOW QUERIES")[0].rows] == ["", ""]


def test_a_text_that_is_run_again_resumes_what_is_set_aside_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logging.getLogger("windrow").setLevel(logging.ERROR)
    monkeypatch.setattr(GroupBy, "step", breaking(GroupBy, GroupBy.step))
    text = f"{STREAM}; CREATE QUERY q AS {SUMS}; RESUME QUERY q"
    for second in (1, 3, 5):
        engine = ShardsInProcess(2, checkpoint=str(tmp_path))
        engine.resume(text)
        assert engine.health() == []
        FAILING[:] = [GroupBy]
        push(engine, second, second + 1)
        FAILING.clear()
        assert [one.name for one in engine.health()] == ["q"]
    logging.getLogger("windrow").setLevel(logging.NOTSET)


def test_a_query_that_always_fails_can_be_dropped(engine: Any) -> None:
    FAILING.append(GroupBy)
    engine.query(SUMS, name="q")
    engine.query("SELECT v FROM s [RANGE 100 SECONDS]", name="plain")
    push(engine, 1, 2)
    assert engine["q"].answer().num_rows == 0
    engine.resume_query("q")
    push(engine, 3, 4)
    assert [one.name for one in engine.health()] == ["q"]
    engine.sql("DROP QUERY q")
    assert engine.health() == []
    FAILING.clear()
    engine.query(SUMS, name="q")
    push(engine, 5, 6, 7)
    assert answer(engine, "q") == [*waiting(engine, ("a", 4)), ("b", 5), ("c", 6)]
    assert len(answer(engine, "plain")) == 6


def test_files_of_the_batch_that_failed_are_not_there(engine: Any, tmp_path: Path) -> None:
    """Also when only one shard failed."""
    engine.sql(f"CREATE QUERY q AS {SUMS} INTO json('{tmp_path}/q')")
    push(engine, 1, 2, 3)
    before = written(tmp_path / "q")
    FAILING.append(GroupBy)
    push(engine, 4, 5)
    assert written(tmp_path / "q") == before
    FAILING.clear()
    engine.resume_query("q")
    push(engine, 6, 7, 8)
    net: dict[tuple[str, int], int] = {}
    for row in written(tmp_path / "q"):
        net[row["k"], row["total"]] = net.get((row["k"], row["total"]), 0) + row["_sign"]
    assert sorted(row for row, count in net.items() if count) == answer(engine, "q")


def written(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for path in sorted(folder.iterdir()) for line in path.read_text().splitlines()]


def test_looked_up_queries_say_that_they_are_set_aside(engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from windrow.operators.synopses.maintain_synopsis import MaintainSynopsis

    engine.sql(f"CREATE QUERY q AS {SUMS} REFRESH ON LOOKUP; CREATE QUERY plain AS SELECT v FROM s [RANGE 9 SECONDS]")
    push(engine, 1, 2)
    with monkeypatch.context() as broken:
        broken.setattr(MaintainSynopsis, "step", breaking(GroupBy, MaintainSynopsis.step))
        FAILING.append(GroupBy)
        push(engine, 3)
        FAILING.clear()
    with pytest.raises(WindrowError, match="q is set aside: MemoryError"):
        engine["q"].answer()
    assert len(answer(engine, "plain")) == 2
    engine.resume_query("q")
    push(engine, 4, 5, 6)
    assert answer(engine, "q") == [("a", 4), ("b", 5), *waiting(engine, ("d", 3))]


class Locked:
    """An aggregate with a state that nobody can write down."""

    def initial(self) -> Any:
        return threading.Lock()

    def add(self, state: Any, v: int) -> Any:
        return state

    def merge(self, state: Any, other: Any) -> Any:
        return state

    subtract = merge

    def finish(self, state: Any) -> int:
        return 1


def test_a_state_that_cannot_be_stored_stops_nobody_else(tmp_path: Path) -> None:
    logging.getLogger("windrow").setLevel(logging.ERROR)
    engine = ShardsInProcess(2, checkpoint=str(tmp_path))
    engine.register_aggregate("locked", [INT], INT, Locked)
    engine.sql(f"""
        {STREAM};
        CREATE QUERY q AS SELECT k, LOCKED(v) AS l FROM s [RANGE 100 SECONDS] GROUP BY k;
        CREATE QUERY above AS SELECT l, COUNT(*) AS n FROM
        (SELECT k, LOCKED(v) AS l FROM s [RANGE 100 SECONDS] GROUP BY k) AS q GROUP BY l;
        CREATE QUERY plain AS SELECT v FROM s [RANGE 100 SECONDS]
    """)
    push(engine, 1, 2, 3)
    assert sorted(one.name for one in engine.health()) == ["above", "q"]
    assert engine.health()[0].message.startswith("CheckpointError: a state of _thread.lock cannot be stored")
    assert answer(engine, "plain") == [(1,), (2,)]
    logging.getLogger("windrow").setLevel(logging.NOTSET)


def test_set_aside_outlives_a_restart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    logging.getLogger("windrow").setLevel(logging.ERROR)
    monkeypatch.setattr(GroupBy, "step", breaking(GroupBy, GroupBy.step))

    def an_engine() -> ShardsInProcess:
        return ShardsInProcess(2, checkpoint=str(tmp_path))

    engine = an_engine()
    engine.sql(f"{STREAM}; CREATE QUERY q AS {SUMS}; CREATE QUERY plain AS SELECT v FROM s [RANGE 100 SECONDS]")
    push(engine, 1, 2, 3)
    good = answer(engine, "q")
    FAILING[:] = [GroupBy]
    push(engine, 4)
    FAILING.clear()
    engine = an_engine()
    push(engine, 5)
    assert [one.name for one in engine.health()] == ["q"] and answer(engine, "q") == good
    engine.resume_query("q")
    engine = an_engine()
    push(engine, 6, 7, 8)
    assert engine.health() == [] and answer(engine, "q") == [("c", 6), ("d", 7)]
    assert len(answer(engine, "plain")) == 7
    logging.getLogger("windrow").setLevel(logging.NOTSET)


def test_a_batch_that_was_cut_off_leaves_out_the_same_queries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though they would not fail now: that they are set aside is logged, and known."""
    logging.getLogger("windrow").setLevel(logging.ERROR)
    monkeypatch.setattr(GroupBy, "step", breaking(GroupBy, GroupBy.step))
    engine = ShardsInProcess(2, checkpoint=str(tmp_path))
    engine.sql(f"{STREAM}; CREATE QUERY q AS {SUMS}; CREATE QUERY plain AS SELECT v FROM s [RANGE 100 SECONDS]")
    push(engine, 1, 2)
    good = answer(engine, "q")
    engine.push("s", [{"ts": 3 * SECOND, "k": "d", "v": 3}])
    rows = list(engine._waiting)
    FAILING[:] = [GroupBy]
    with monkeypatch.context() as broken:
        broken.setattr(Checkpoint, "commit", crash)
        with pytest.raises(InterruptedError):
            engine.step()
    FAILING.clear()
    again = ShardsInProcess(2, checkpoint=str(tmp_path))
    again.micro_batch(2, rows)
    push(again, 4)
    assert [one.name for one in again.health()] == ["q"] and answer(again, "q") == good
    assert len(answer(again, "plain")) == 3
    logging.getLogger("windrow").setLevel(logging.NOTSET)


def crash(*arguments: object) -> None:
    raise InterruptedError


def test_what_is_done_where_rows_are_read_may_fail_too(engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """On shards a selection is computed before rows are sent to shards."""
    from windrow.operators.selection import Selection

    engine.query("SELECT k FROM s [RANGE 9 SECONDS] WHERE v > 1", name="some")
    engine.query("SELECT v FROM s [RANGE 9 SECONDS]", name="every")
    push(engine, 1, 2, 3)
    with monkeypatch.context() as broken:
        broken.setattr(Selection, "step", breaking(GroupBy, Selection.step))
        FAILING.append(GroupBy)
        push(engine, 4, 5)
        FAILING.clear()
    push(engine, 6)
    assert [one.name for one in engine.health()] == ["some"]
    assert [v for (v,) in answer(engine, "every")] == [1, 2, 3, 4, 5]


def test_subscribers_of_a_resumed_query(engine: Any) -> None:
    heard: list[pa.Table] = []
    query = engine.query(SUMS, name="q")
    query.subscribe(heard.append)
    push(engine, 1, 2)
    FAILING.append(GroupBy)
    push(engine, 3)
    FAILING.clear()
    engine.resume_query("q")
    push(engine, 4, 5, 6)
    net: dict[tuple[str, int], int] = {}
    for row in (row for table in heard for row in table.to_pylist()):
        net[row["k"], row["total"]] = net.get((row["k"], row["total"]), 0) + row["_sign"]
    assert sorted(row for row, count in net.items() if count) == answer(engine, "q")
