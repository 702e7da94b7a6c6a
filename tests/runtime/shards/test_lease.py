"""One engine has a checkpoint at a time; one that has lost it is told so and can do no harm."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.interrupted import over_time
from support.shard_runs import ShardsInProcess, SourcesInProcess
from windrow.clock import ManualClock
from windrow.errors import CheckpointError
from windrow.runtime.shards.driver import Driver
from windrow.runtime.shards.storage import lease as leases
from windrow.runtime.shards.storage.checkpoint import Checkpoint
from windrow.runtime.shards.storage.files.folder import Folder
from windrow.runtime.shards.storage.holder import holder_from_bytes, this_process
from windrow.runtime.shards.storage.lease import Lease
from windrow.runtime.shards.storage.shard_state import STATES

STATEMENTS = (
    "CREATE STREAM s (t TIMESTAMP, k STRING) TIMESTAMP BY t; "
    "CREATE QUERY q AS SELECT k, COUNT(*) AS n FROM s [RANGE 1 HOUR] GROUP BY k"
)


def an_engine(place: Path, **given: Any) -> ShardsInProcess:
    engine = ShardsInProcess(2, checkpoint=str(place), **given)
    if not engine.queries:
        engine.sql(STATEMENTS)
    return engine


def stepped(engine: ShardsInProcess, *seconds: int) -> None:
    for second in seconds:
        engine.push("s", [{"t": second * 1_000_000, "k": f"key {second % 3}"}])
        engine.step()


def test_a_second_engine_is_refused_until_the_first_is_closed(tmp_path: Path) -> None:
    first = an_engine(tmp_path)
    stepped(first, 1)
    with pytest.raises(CheckpointError, match="the checkpoint is in use in this process, since 2") as caught:
        Driver(Checkpoint(str(tmp_path)), 2)
    assert caught.value.hint == "call close() of the engine that has it"
    stepped(first, 2, 3)
    assert Checkpoint(str(tmp_path)).batches() == [0, 1, 2], "anybody may read"
    first.close()
    Driver(Checkpoint(str(tmp_path)), 2).close()


HOLDING = """
import sys, time
from windrow.runtime.shards.driver import Driver
from windrow.runtime.shards.storage.checkpoint import Checkpoint
driver = Driver(Checkpoint(sys.argv[1]), 2)
print("open", flush=True)
time.sleep(600)
"""


def test_another_process_is_refused_and_its_death_is_seen_at_once(tmp_path: Path) -> None:
    other = subprocess.Popen([sys.executable, "-c", HOLDING, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    try:
        assert other.stdout is not None and other.stdout.readline() == "open\n"
        with pytest.raises(CheckpointError, match=f"process {other.pid} on .* has it since") as caught:
            Driver(Checkpoint(str(tmp_path)), 2)
        assert "end that process" in str(caught.value.hint)
    finally:
        other.kill()
        other.wait()
    Driver(Checkpoint(str(tmp_path)), 2).close()


def claimed_by(folder: Folder, **changed: Any) -> None:
    """The last claim is of somebody else."""
    name = f"leases/{folder.names('leases')[-1]}"
    holder = replace(holder_from_bytes(folder.read(name)), **changed)
    folder.write(name, holder.to_bytes())
    beat = f"beats/{folder.names('beats')[-1]}"
    folder.write(beat, json.dumps({**json.loads(folder.read(beat)), "identity": folder.identity(name)}).encode())


def test_a_process_number_that_is_used_again_is_another_process(tmp_path: Path) -> None:
    folder = Folder(str(tmp_path))
    Lease(folder, ManualClock()).claim()
    claimed_by(folder, token="another", pid=os.getppid(), started="long ago")
    Lease(folder, ManualClock()).claim()
    claimed_by(folder, token="yet another", pid=os.getppid(), started=_started(os.getppid()))
    with pytest.raises(CheckpointError, match="is in use: process"):
        Lease(folder, ManualClock()).claim()


def _started(pid: int) -> str:
    from windrow.runtime.shards.storage import holder

    return holder._started(pid)


class Waiting:
    """A clock that is moved by those who wait; what happens meanwhile is `then`."""

    def __init__(self, folder: Folder, beats_after: int | None = None) -> None:
        self.clock = ManualClock(1_000_000_000_000)
        self._folder, self._beats_after = folder, beats_after
        self.waited = 0.0

    def pause(self, seconds: float) -> None:
        self.clock.advance(int(seconds * 1_000_000))
        self.waited += seconds
        if self._beats_after is not None and self.waited >= self._beats_after:
            name = f"beats/{self._folder.names('beats')[-1]}"
            beat = json.loads(self._folder.read(name))
            self._folder.write(name, json.dumps({**beat, "number": beat["number"] + 1}).encode())


def test_a_holder_on_another_machine_is_waited_for(tmp_path: Path) -> None:
    folder = Folder(str(tmp_path))
    alive, dead = Waiting(folder, beats_after=7), Waiting(folder)
    for waiting in (alive, dead):
        Lease(folder, waiting.clock).claim()
        claimed_by(folder, token="far", machine="another", host="far")
        if waiting is alive:
            with pytest.raises(CheckpointError, match=r"is in use: process .* on far has it since"):
                Lease(folder, waiting.clock, waiting.pause).claim()
            assert waiting.waited == 7
            name = f"beats/{folder.names('beats')[-1]}"
            folder.write(name, json.dumps({**json.loads(folder.read(name)), "released": True}).encode())
        else:
            Lease(folder, waiting.clock, waiting.pause).claim()
            assert waiting.waited == leases.LEASE
    claimed_by(folder, token="far", machine="another", host="far")
    much_later = ManualClock(dead.clock.now() + 2 * leases._LONG_AGO * 1_000_000)
    Lease(folder, much_later, dead.pause).claim()
    assert dead.waited == leases.LEASE, "nobody has been there for long"


def test_of_two_who_take_over_one_gets_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Folder(str(tmp_path))
    quicker = Lease(folder, ManualClock())
    create = Folder.create

    def late(self: Folder, name: str, content: bytes) -> None:
        monkeypatch.undo()
        quicker.claim()
        create(self, name, content)

    monkeypatch.setattr(Folder, "create", late)
    with pytest.raises(CheckpointError, match="in use in this process"):
        Lease(folder, ManualClock()).claim()
    quicker.check()


def test_a_paused_owner_that_wakes_up_cannot_commit_nor_state_anything(tmp_path: Path) -> None:
    """Both run the same batches; what the first still writes counts for nobody, now and after the next restart."""
    undisturbed = an_engine(tmp_path / "undisturbed")
    stepped(undisturbed, *range(8))
    paused = an_engine(tmp_path / "disturbed")
    stepped(paused, 0, 1, 2)
    taker = an_engine(tmp_path / "disturbed")
    STATES.clear()
    fenced = "another engine has taken this checkpoint over: process"
    with pytest.raises(CheckpointError, match=fenced):
        stepped(paused, 30)
    STATES.clear()
    with pytest.raises(CheckpointError, match=fenced):
        paused.sql("CREATE QUERY r AS SELECT k FROM s [RANGE 1 SECOND]")
    stepped(taker, 3, 4)
    with pytest.raises(CheckpointError, match=fenced):
        assert paused.driver.batches.last is not None
        paused.driver.checkpoint.collect(paused.driver.batches.last, (), lambda batch: False)
    stepped(taker, 5)
    STATES.clear()
    after = an_engine(tmp_path / "disturbed")
    stepped(after, 6, 7)
    assert [query.name for query in after.queries] == ["q"]
    assert over_time(after["q"].changes()) == over_time(undisturbed["q"].changes())


@pytest.mark.parametrize("kind", ["batches", "commits", "statements"])
def test_whatever_is_written_between_the_claim_and_the_fence_does_not_count(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pause may fall just before the write, when all checks have been passed."""
    paused = an_engine(tmp_path)
    stepped(paused, 0)
    create, records = Folder.create, paused.driver.checkpoint._records

    def interfering(self: Folder, name: str, content: bytes) -> None:
        if name.startswith("fences/"):
            monkeypatch.undo()
            records.put(kind, 77, b"from the past")
        create(self, name, content)

    monkeypatch.setattr(Folder, "create", interfering)
    taker = an_engine(tmp_path)
    assert list((tmp_path / "windrow" / kind).glob("000000077-*")), "it is there"
    assert not taker.driver.checkpoint._records.has(kind, 77)
    assert 77 not in Checkpoint(str(tmp_path))._records.numbers(kind)
    stepped(taker, 1)
    assert Checkpoint(str(tmp_path)).batches() == [0, 1]


def test_a_beat_is_a_sign_of_life_and_ends_with_the_lease(tmp_path: Path) -> None:
    folder, clock = Folder(str(tmp_path)), ManualClock(5)
    mine = Lease(folder, clock)
    mine.claim()
    before = json.loads(folder.read("beats/000000001"))
    clock.advance(7)
    mine.beat()
    after = json.loads(folder.read("beats/000000001"))
    assert (before["at"], after["at"]) == (5, 12) and after["number"] > before["number"]
    claimed_by(folder, token="gone", pid=1, started="never")
    other = Lease(folder, clock)
    other.claim()
    mine.beat()
    mine.release()
    assert json.loads(folder.read("beats/000000001")) == {**after, "identity": folder.identity("leases/000000001")}
    with pytest.raises(CheckpointError, match="has taken this checkpoint over"):
        mine.check()
    other.check()
    assert this_process(3).is_alive and this_process(3).is_here


def test_rows_pushed_to_a_lost_checkpoint_are_refused_and_take_nobodys_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pushing() -> SourcesInProcess:
        engine = SourcesInProcess(1, checkpoint=str(tmp_path))
        if not engine.queries:
            engine.sql(STATEMENTS)
        return engine

    paused = pushing()
    paused.push("s", [{"t": 1_000_000, "k": "first"}])
    paused.step()
    taker = pushing()
    with pytest.raises(CheckpointError, match="another engine has taken this checkpoint over"):
        paused.push("s", [{"t": 2_000_000, "k": "lost"}])
    taker.push("s", [{"t": 2_000_000, "k": "second"}])
    taker.push("s", [{"t": 3_000_000, "k": "third"}])
    taker.step()
    assert sorted(row["k"] for row in taker["q"].answer().to_pylist()) == ["first", "second"]
