"""Shard servers: they outlive who asks, are replaced when they are lost, and end with their owner."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from support.shard_runs import SourcesInProcess
from support.waiting import until
from windrow.runtime.shards.batch_loop import Job
from windrow.runtime.shards.serving import client
from windrow.runtime.shards.serving.channel import FileChannel
from windrow.runtime.shards.serving.client import ShardServerError, ShardServers
from windrow.runtime.shards.serving.coordinator import coordinated
from windrow.runtime.shards.serving.pool import POOL
from windrow.runtime.shards.serving.sending import sent_batch
from windrow.runtime.shards.tasks import messages

STREAM = "CREATE STREAM s (ts TIMESTAMP, k BIGINT, v BIGINT) TIMESTAMP BY ts"
QUERY = "CREATE QUERY q AS SELECT k, SUM(v) AS v FROM s [RANGE 1 HOUR] GROUP BY k"


@pytest.fixture(scope="module")
def servers() -> Iterator[ShardServers]:
    yield POOL.acquire(2)
    POOL.release()


class ServedShards(SourcesInProcess):
    """An engine whose micro-batches run in shard servers."""

    def __init__(self, servers: ShardServers, place: Path) -> None:
        super().__init__(shards=3, checkpoint=str(place))
        self._served = servers
        self._channel = FileChannel(place / "batch")

    def _job(self, rows: object) -> Job:
        def job(spec):  # type: ignore[no-untyped-def]
            self._channel.put(sent_batch(spec, 2), spec.plan_content)
            reports = coordinated(self._served, self._channel)
            return [messages.report_in(body) for body in reports["body"].to_pylist()]

        return job


def rows(second: int) -> pa.Table:
    times = pa.array([second * 1_000_000] * 6, pa.timestamp("us", "UTC"))
    return pa.table({"ts": times, "k": [0, 1, 2, 3, 4, 5], "v": [second] * 6})


def answers(engine: ServedShards) -> list[tuple[int, int]]:
    table = engine.queries[0].answer()
    return sorted(zip(table["k"].to_pylist(), table["v"].to_pylist(), strict=True))


def pid_of(servers: ShardServers, server: int) -> int:
    return int(Path(f"{servers.place}/{server}.pid").read_text())


def parent_of(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def kill_server(servers: ShardServers) -> None:
    os.kill(pid_of(servers, 1), signal.SIGKILL)


def kill_all_servers(servers: ShardServers) -> None:
    os.kill(parent_of(pid_of(servers, 0)), signal.SIGKILL)


def end_all_servers(servers: ShardServers) -> None:
    os.kill(parent_of(pid_of(servers, 0)), signal.SIGTERM)


def hang_server(servers: ShardServers) -> None:
    os.kill(pid_of(servers, 0), signal.SIGSTOP)


@pytest.mark.parametrize("disturb", [kill_server, kill_all_servers, end_all_servers, hang_server])
def test_a_lost_server_costs_no_answer(
    servers: ShardServers, tmp_path: Path, disturb: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "_BETWEEN_SIGNS", 0.5)
    monkeypatch.setattr(client, "PATIENCE", 2.0)
    engine = ServedShards(servers, tmp_path)
    engine.sql(f"{STREAM}; {QUERY}")
    for second in range(1, 6):
        engine.push("s", rows(second))
        if second == 3:
            disturb(servers)  # type: ignore[operator]
        engine.step()
    engine.push("s", rows(6))
    engine.step()
    assert answers(engine) == [(k, 1 + 2 + 3 + 4 + 5) for k in range(6)]
    engine.close()


def test_a_server_that_hangs_is_found_also_by_a_large_request(
    servers: ShardServers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "_BETWEEN_SIGNS", 0.5)
    monkeypatch.setattr(client, "PATIENCE", 2.0)
    engine = ServedShards(servers, tmp_path)
    engine.sql(f"{STREAM}; {QUERY}")
    many = pa.concat_tables([rows(1)] * 50_000)
    engine.push("s", many)
    hang_server(servers)
    engine.step()
    engine.push("s", rows(2))
    engine.step()
    assert answers(engine) == [(k, 50_000) for k in range(6)]
    engine.close()


def test_a_shard_meets_its_state_in_every_batch(servers: ShardServers, tmp_path: Path) -> None:
    engine = ServedShards(servers, tmp_path)
    engine.sql(f"{STREAM}; {QUERY}")
    engine.push("s", rows(1))
    engine.step()
    for piece in (tmp_path / "windrow" / "pieces").iterdir():
        piece.write_bytes(b"nobody reads this")
    engine.push("s", rows(2))
    engine.step()
    assert engine.status()["batch"] == 1
    engine.close()


def test_what_goes_wrong_in_a_server_is_told(servers: ShardServers, tmp_path: Path) -> None:
    engine = ServedShards(servers, tmp_path)
    engine.sql(f"{STREAM}; {QUERY}")
    engine.push("s", rows(1))
    engine.step()
    servers.forget(str(tmp_path / "windrow"))
    for piece in (tmp_path / "windrow" / "pieces").iterdir():
        piece.unlink()
    engine.push("s", rows(2))
    with pytest.raises(ShardServerError, match=r"windrow.errors.CheckpointError: pieces/.* cannot be read"):
        engine.step()


def test_servers_end_with_their_owner(tmp_path: Path) -> None:
    program = "from windrow.runtime.shards.serving.pool import POOL\nprint(POOL.acquire(1).place, flush=True)\ninput()"
    owner = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    place = Path(owner.stdout.readline().strip())
    until(lambda: (place / "0.pid").exists(), "the server is there")
    server = int((place / "0.pid").read_text())
    owner.kill()
    owner.wait()
    until(lambda: not Path(f"/proc/{server}").exists() and not place.exists(), "nothing is left")


def test_the_last_engine_ends_them() -> None:
    servers = POOL.acquire(1)
    assert POOL.acquire(1) == servers
    POOL.release()
    assert Path(servers.place).exists()
    POOL.release()
