"""The start of a Spark of Windrow's own, as several threads and interrupts meet it; without Spark."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark import SparkContext

import windrow
from windrow.errors import WindrowError
from windrow.runtime.shards.engine import ShardedEngine
from windrow.runtime.shards.serving.pool import POOL
from windrow.runtime.spark import SparkEngine, own_spark


class Starting:
    """Tells what becomes of it."""

    def __init__(self, master: str | None) -> None:
        self.became: list[str] = []

    def begin(self) -> None:
        STARTED.append(self)

    def session(self) -> None:
        self.became.append("taken")

    def abandon(self) -> None:
        self.became.append("abandoned")


STARTED: list[Starting] = []


@pytest.fixture(autouse=True)
def no_spark(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(SparkContext, "_active_spark_context", None)
    monkeypatch.setattr(own_spark, "_Starting", Starting)
    monkeypatch.setattr(POOL, "acquire", lambda count: None)
    monkeypatch.setattr(POOL, "release", lambda: None)
    yield
    STARTED.clear()
    assert own_spark._coming == []


def test_without_shard_servers_nothing_is_left_of_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(count: int) -> None:
        raise OSError("no room")

    monkeypatch.setattr(POOL, "acquire", refuse)
    with pytest.raises(OSError, match="no room"), own_spark.coming_up("local[1]"):
        pass
    assert [start.became for start in STARTED] == [["abandoned"]]


def test_who_fails_ends_its_own_start_and_no_other() -> None:
    with own_spark.coming_up("local[1]"):
        other = own_spark.coming_up("local[2]")
        own_spark.came_up()
        other.__enter__()
        failing = own_spark.coming_up("local[3]")
        with pytest.raises(ValueError), failing:
            raise ValueError
    assert [start.became for start in STARTED] == [["taken"], []]
    other.__exit__(None, None, None)
    assert [start.became for start in STARTED] == [["taken"], ["abandoned"]]


@pytest.mark.parametrize("master", ["local[0]", "local[0,4]"])
def test_no_threads_are_an_error_at_once(master: str) -> None:
    with pytest.raises(WindrowError, match="asked to run locally with 0 threads") as caught:
        windrow.connect(master=master)
    assert "local[2]" in (caught.value.hint or "") and not STARTED


def test_an_interrupt_ends_the_wait_for_shard_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[None] = []

    @contextmanager
    def waiting(master: str | None) -> Iterator[None]:
        signal.raise_signal(signal.SIGINT)
        waited.append(None)
        yield

    monkeypatch.setattr(own_spark, "coming_up", waiting)
    with pytest.raises(KeyboardInterrupt):
        windrow.connect()
    assert not waited


def test_close_closes_all_when_one_of_them_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []

    def fail(engine: ShardedEngine) -> None:
        raise OSError("the disk is gone")

    monkeypatch.setattr(ShardedEngine, "close", fail)
    engine: Any = object.__new__(SparkEngine)
    engine._servers = SimpleNamespace(close=lambda: closed.append("servers"))
    engine._sessions = SimpleNamespace(close=lambda: closed.append("sessions"))
    engine._scratch = SimpleNamespace(remove=lambda: closed.append("scratch"))
    with pytest.raises(OSError, match="the disk is gone"):
        engine.close()
    assert closed == ["servers", "sessions", "scratch"]
