"""What is read back from a checkpoint, or from a message, runs no code; functions that the user registered do."""

from __future__ import annotations

import os
import pickle
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.shard_runs import ShardsInProcess
from windrow.errors import CheckpointError
from windrow.runtime.shards.batch_spec import plan_from_bytes
from windrow.runtime.shards.storage.bundles import piece_from_bytes
from windrow.runtime.shards.storage.codec import decoded, encoded
from windrow.runtime.shards.storage.shard_state import STATES
from windrow.runtime.shards.tasks import messages
from windrow.state.plain_values import objects_from_bytes, objects_to_bytes
from windrow.types import BIGINT, DOUBLE


class Hostile:
    """Makes a folder when it is unpickled."""

    def __init__(self, trace: Path) -> None:
        self._trace = trace

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self._trace),)


def _piece(content: bytes) -> Any:
    from windrow.batch import Dictionary

    lengths = np.array([len(content)], "<i8").tobytes()
    return piece_from_bytes(len(lengths).to_bytes(4, "little") + lengths + content, Dictionary())


READERS = [
    decoded,
    messages.rows_in,
    messages.report_in,
    plan_from_bytes,
    _piece,
    lambda content: objects_from_bytes(content, {"tests"}),
]


@pytest.mark.parametrize("read", READERS)
def test_a_hostile_pickle_is_refused(read: Any, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    with pytest.raises(CheckpointError, match=r"not data: it names posix.mkdir|not data: it names os.mkdir"):
        read(pickle.dumps(Hostile(trace)))
    for call in (
        b"cbuiltins\neval\n(V1\ntR.",
        b"cnumpy\nload\n(Vx\ntR.",
        b"\x80\x04\x8c\x08builtins\x8c\x07getattr\x93.",
    ):
        with pytest.raises(CheckpointError, match="not data: it names"):
            read(call)
    assert not trace.exists()


@pytest.mark.parametrize("kind", ["statements", "commits", "plans"])
def test_a_record_that_somebody_replaced_runs_nothing(kind: str, tmp_path: Path) -> None:
    engine = ShardsInProcess(1, checkpoint=str(tmp_path / "checkpoint"))
    engine.sql("CREATE STREAM s (t TIMESTAMP, k BIGINT) TIMESTAMP BY t")
    engine.sql("CREATE QUERY q AS SELECT k FROM s [RANGE 1 HOUR]")
    engine.push("s", [{"t": 1, "k": 1}])
    engine.step()
    engine.close()
    STATES.clear()
    record = sorted((tmp_path / "checkpoint" / "windrow" / kind).iterdir())[-1]
    content = pickle.dumps(Hostile(tmp_path / "trace"))
    record.write_bytes(zlib.crc32(content).to_bytes(4, "little") + content)
    with pytest.raises(CheckpointError, match="not data"):
        ShardsInProcess(1, checkpoint=str(tmp_path / "checkpoint"))
    assert not (tmp_path / "trace").exists()


class Mean:
    """Its states are objects of a class beside it."""

    def initial(self) -> Running:
        return Running(0, 0)

    def add(self, state: Running, x: int) -> Running:
        return Running(state.count + 1, state.total + x)

    def merge(self, state: Running, other: Running) -> Running:
        return Running(state.count + other.count, state.total + other.total)

    def subtract(self, state: Running, part: Running) -> Running:
        return Running(state.count - part.count, state.total - part.total)

    def finish(self, state: Running) -> float | None:
        return state.total / state.count if state.count else None


class Running:
    def __init__(self, count: int, total: int) -> None:
        self.count, self.total = count, total


def an_engine(place: Path) -> ShardsInProcess:
    engine = ShardsInProcess(1, forgetful=True, checkpoint=str(place))
    if not engine.queries:
        engine.register_aggregate("mean_of", [BIGINT], DOUBLE, Mean())
        engine.sql("CREATE STREAM s (t TIMESTAMP, k BIGINT) TIMESTAMP BY t")
        engine.sql("CREATE QUERY q AS SELECT mean_of(k) AS m FROM s [RANGE 1 HOUR]")
    return engine


def test_functions_of_the_user_and_the_classes_beside_them_are_read_back(tmp_path: Path) -> None:
    for second in range(4):
        engine = an_engine(tmp_path)
        engine.push("s", [{"t": second * 1_000_000, "k": second * 10}])
        engine.step()
        engine.close()
    assert engine["q"].answer().to_pylist() == [{"m": 10.0}]


def test_functions_that_others_can_write_are_not_run(tmp_path: Path) -> None:
    an_engine(tmp_path).close()
    functions = tmp_path / "windrow" / "aggregates" / "mean_of"
    functions.chmod(0o666)
    with pytest.raises(CheckpointError, match="aggregates/mean_of of the checkpoint has functions that would be run"):
        an_engine(tmp_path)
    functions.chmod(0o600)
    an_engine(tmp_path)
    functions.unlink()
    with pytest.raises(CheckpointError, match="aggregates/mean_of of the checkpoint is missing"):
        ShardsInProcess(1, checkpoint=str(tmp_path))


def test_a_state_that_could_not_be_read_back_is_not_written() -> None:
    column = np.empty(1, object)
    column[0] = Path("somewhere")
    with pytest.raises(CheckpointError, match=r"a state of pathlib\.\w+ cannot be stored"):
        objects_to_bytes(column, {"mine"})


def test_data_comes_back_as_it_was() -> None:
    import datetime
    import decimal
    import fractions
    import uuid
    from collections import Counter, deque

    values: list[Any] = [
        {1, 2}, frozenset("a"), 1 + 2j, bytearray(b"x"), deque([1], 3), Counter("aab"), datetime.datetime(2026, 1, 1),
        decimal.Decimal("1.50"), fractions.Fraction(1, 3), uuid.UUID(int=7), np.float32(1.5),
        datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc), (None, "x", b"y", 2**80),
        np.datetime64("2026-01-01"),
    ]  # fmt: skip
    assert decoded(encoded(values)) == values
    column = np.empty(len(values) + 1, object)
    column[:-1] = values
    column[-1] = np.arange(3)
    read = objects_from_bytes(objects_to_bytes(column, ()), ())
    assert list(read[:-1]) == values and (read[-1] == np.arange(3)).all()
