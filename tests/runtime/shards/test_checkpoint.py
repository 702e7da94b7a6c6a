"""The checkpoint of an engine on shards: what is damaged is named, what nobody needs is gone, nothing grows."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from support.interrupted import over_time
from support.shard_runs import BROUGHT, ShardsInProcess, SourcesInProcess
from windrow.errors import CheckpointError
from windrow.runtime.local import LocalEngine
from windrow.runtime.shards.storage import collection, shard_state
from windrow.runtime.shards.storage.bundles import Address, read_contents
from windrow.runtime.shards.storage.files import disk_cache, object_files
from windrow.runtime.shards.storage.files.folder import Folder
from windrow.runtime.shards.storage.format import FORMAT, VERSION
from windrow.runtime.shards.storage.manifests import read_manifest
from windrow.runtime.shards.storage.shard_state import STATES, read_state
from windrow.runtime.shards.storage.state_cache import WAITS, StateCache
from windrow.state import batches

STREAM = "CREATE STREAM a (t TIMESTAMP, k BIGINT, s STRING) TIMESTAMP BY t"
TEXTS = {
    "counted": "SELECT s, COUNT(*) AS n FROM a [RANGE 3 SECONDS] GROUP BY s",
    "extremes": "SELECT k, MIN(s) AS low, MAX(s) AS high FROM a [RANGE 3 SECONDS] GROUP BY k",
    "middle": "SELECT k, MAX(s) AS high, COUNT(DISTINCT s) AS n FROM a [ROWS 20] GROUP BY k",
    "different": "SELECT DISTINCT s FROM a [RANGE 2 SECONDS]",
    "first": "SELECT s, k FROM a [RANGE 3 SECONDS] ORDER BY s LIMIT 3",
    "newest": "SELECT s, k FROM a [ROWS 5] WHERE s <> 'string 7'",
    "pairs": "SELECT x.s, y.k FROM a [RANGE 2 SECONDS] AS x, a [RANGE 3 SECONDS] AS y WHERE x.s = y.s AND x.k < y.k",
    "named": "SELECT a.s, known.name FROM a [RANGE 2 SECONDS], known WHERE a.k = known.k",
}


def rows(second: int, texts: list[str]) -> list[dict[str, Any]]:
    return [{"t": 1_000_000 * second + 1_000 * place, "k": place % 5, "s": text} for place, text in enumerate(texts)]


def stepped(engine: ShardsInProcess, seconds: range) -> None:
    for second in seconds:
        engine.push("a", rows(second, [f"string {(second * 7 + place) % 90}" for place in range(20)]))
        engine.step()


def an_engine(place: Path | str, shards: int | None = 2) -> ShardsInProcess:
    engine = ShardsInProcess(shards, checkpoint=str(place))
    if not engine.queries:
        engine.sql(STREAM)
        engine.sql("CREATE TABLE known (k BIGINT, name STRING)")
        engine.sql("INSERT INTO known VALUES (1, 'one'), (2, 'two')")
        for name in ("counted", "named"):
            engine.sql(f"CREATE QUERY {name} AS {TEXTS[name]}")
    return engine


def files(place: Path, under: str) -> list[Path]:
    return sorted(path for path in (place / "windrow" / under).iterdir())


@pytest.mark.parametrize("under", ["pieces", "manifests"])
@pytest.mark.parametrize("missing", [False, True])
def test_state_that_is_damaged_or_missing_is_named(tmp_path: Path, under: str, missing: bool) -> None:
    stepped(an_engine(tmp_path), range(5))
    broken = files(tmp_path, under)[-1]
    _break(broken, missing)
    STATES.clear()
    with pytest.raises(CheckpointError, match=f"{under}/{broken.name} of the checkpoint") as caught:
        stepped(an_engine(tmp_path), range(5, 7))
    assert "restore the checkpoint from a copy" in str(caught.value)


@pytest.mark.parametrize("under", ["statements", "plans", "commits"])
def test_records_that_are_damaged_are_named(tmp_path: Path, under: str) -> None:
    stepped(an_engine(tmp_path), range(3))
    broken = files(tmp_path, under)[-1]
    _break(broken, False)
    with pytest.raises(CheckpointError, match=f"{under}/{broken.name} of the checkpoint is damaged"):
        an_engine(tmp_path)


def _break(file: Path, missing: bool) -> None:
    if missing:
        file.unlink()
        return
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0x40
    file.write_bytes(content)


def test_what_is_in_memory_can_be_lost_at_any_time(tmp_path: Path) -> None:
    kept, lost = an_engine(tmp_path / "kept"), an_engine(tmp_path / "lost")
    for second in range(8):
        stepped(kept, range(second, second + 1))
        STATES.clear()
        stepped(lost, range(second, second + 1))
        STATES.clear() if second % 2 else None
    for name in ("counted", "named"):
        assert over_time(kept[name].changes()) == over_time(lost[name].changes())


def test_changes_of_tables_that_have_been_applied_are_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collection, "KEPT_SECONDS", 0.0)
    engine = an_engine(tmp_path)
    created = len(files(tmp_path, "statements")) - 1
    for number in range(6):
        engine.sql(f"INSERT INTO known VALUES ({number + 10}, 'x')")  # each is the newest statement for a while
        stepped(engine, range(3 * number, 3 * number + 3))
    assert len(files(tmp_path, "statements")) <= created + 1


def test_a_checkpoint_of_another_format_is_refused(tmp_path: Path) -> None:
    stepped(an_engine(tmp_path), range(2))
    described = tmp_path / "windrow" / "format"
    written = {**json.loads(described.read_text()), "windrow": "0.0.1"}
    described.write_text(json.dumps(written))
    assert an_engine(tmp_path)["counted"].answer().num_rows, "another version with the same format"
    written["format"] = 3
    described.write_text(json.dumps(written))
    with pytest.raises(CheckpointError) as caught:
        an_engine(tmp_path)
    assert caught.value.message == (
        f"the checkpoint has format {written['format']}, of Windrow {written['windrow']}; "
        f"this is Windrow {VERSION}, which reads and writes format {FORMAT}"
    )
    assert caught.value.hint == "run it with the version that wrote it, or start with an empty checkpoint"
    described.write_text("{")
    with pytest.raises(CheckpointError, match="format of the checkpoint is damaged"):
        an_engine(tmp_path)


def test_state_of_another_plan_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A version of the code that names an operator's state in another way must not start it anew."""
    stepped(an_engine(tmp_path), range(3))
    STATES.clear()
    monkeypatch.setattr("windrow.runtime.shards.graph.plan_digest", lambda plan: "another")
    with pytest.raises(CheckpointError, match="does not fit the running plan: it has no node/"):
        stepped(an_engine(tmp_path), range(3, 4))


def test_a_checkpoint_keeps_its_number_of_shards_unless_another_is_asked_for(tmp_path: Path) -> None:
    stepped(an_engine(tmp_path, 2), range(2))
    assert an_engine(tmp_path, None).shards == 2
    assert an_engine(tmp_path, 3).shards == 3


def test_sources_and_state_of_different_times_are_refused(tmp_path: Path) -> None:
    stepped(an_engine(tmp_path), range(3))
    engine = an_engine(tmp_path)

    positions = engine.driver.batches.positions
    assert not positions.is_expected(BROUGHT, 2), "Spark did not hear that it was committed: there is nothing to do"
    assert positions.is_expected(BROUGHT, 3)
    with pytest.raises(CheckpointError, match="micro-batch 0 of brought again, but 2 has been committed"):
        positions.is_expected(BROUGHT, 0)
    with pytest.raises(CheckpointError, match="with micro-batch 7 of brought, but the last one committed is 2"):
        positions.is_expected(BROUGHT, 7)


def test_a_new_stage_has_the_tables_that_were_there(tmp_path: Path) -> None:
    """Queries of one stage only, then one that reads a table at its second stage."""
    engine = an_engine(tmp_path)
    stepped(engine, range(3))
    engine.sql(
        "CREATE QUERY late AS SELECT q.n, known.name FROM (SELECT s, COUNT(*) AS n FROM a [RANGE 3 SECONDS] GROUP BY s)"
        " AS q, known WHERE q.n = known.k"
    )
    stepped(engine, range(3, 9))
    assert {row["name"] for row in engine["late"].answer().to_pylist()} <= {"one", "two"}
    assert len(engine["late"].answer())


def test_a_table_that_is_created_again_is_empty(tmp_path: Path) -> None:
    engine = an_engine(tmp_path)
    stepped(engine, range(2))
    engine.sql("DROP QUERY named")
    engine.sql("DROP TABLE known")
    engine.sql("CREATE TABLE known (k BIGINT, name STRING)")
    engine.sql("INSERT INTO known VALUES (3, 'three')")
    engine.sql(f"CREATE QUERY named AS {TEXTS['named']}")
    stepped(engine, range(2, 5))
    assert {row["name"] for row in engine["named"].answer().to_pylist()} == {"three"}


def test_disk_use_stays_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The checkpoint is as large after 300 batches as after 150; statements that are over go too."""
    monkeypatch.setattr(collection, "RETAINED_BATCHES", 40)
    monkeypatch.setattr(collection, "SWEPT_EVERY", 10)
    monkeypatch.setattr(collection, "KEPT_SECONDS", 0.0)
    engine = an_engine(tmp_path)
    sizes: list[tuple[int, int]] = []
    for second in range(300):
        engine.sql(f"INSERT INTO known VALUES ({second + 10}, 'x')")
        engine.sql(f"DELETE FROM known WHERE k = {second + 10}")
        if second % 20 == 0:
            engine.sql(f"CREATE QUERY passing AS {TEXTS['newest']}")
        if second % 20 == 10:
            engine.sql("DROP QUERY passing")
        stepped(engine, range(second, second + 1))
        if second % 50 == 49:
            every = [path for path in tmp_path.rglob("*") if path.is_file() and path.parent.name != "statements"]
            sizes.append((len(every), sum(path.stat().st_size for path in every)))
    (early_files, early_bytes), (late_files, late_bytes) = sizes[2], sizes[-1]
    assert late_files <= early_files + 10
    assert late_bytes <= 1.1 * early_bytes
    assert len(files(tmp_path, "statements")) < 50, "queries that came and went"
    assert len(files(tmp_path, "plans")) < 3


def test_a_dictionary_forgets_strings_that_nobody_uses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ever new strings: answers as in the local engine, which never forgets, and a dictionary that does not grow."""
    monkeypatch.setattr(shard_state, "FEWEST_STRINGS", 256)
    monkeypatch.setattr(batches, "SMALL", 64)
    shards, local = ShardsInProcess(2, checkpoint=str(tmp_path)), LocalEngine()
    for engine in (shards, local):
        engine.sql(STREAM)
        engine.sql("CREATE TABLE known (k BIGINT, name STRING, PRIMARY KEY (k)) NON RETROACTIVE")
        engine.sql("INSERT INTO known VALUES (1, 'one'), (2, 'two')")
        for name, text in TEXTS.items():
            engine.sql(f"CREATE QUERY {name} AS {text}")
    sizes = []
    for second in range(80):
        texts = [f"{'unusual' if place % 3 else 'string'} {second * 80 + place}" for place in range(100)]
        for engine in (shards, local):
            engine.push("a", rows(second, texts))
            engine.step()
        sizes.append(max(_dictionary(shards, shard) for shard in range(2)))
    for name in TEXTS:
        assert over_time(shards[name].changes()) == over_time(local[name].changes()), name
    assert max(sizes) < 3_000, max(sizes)
    assert len(local._inputs.dictionary) > 6_000


def _dictionary(engine: ShardsInProcess, shard: int) -> int:
    driver = engine.driver
    assert driver.batches.last is not None
    version = driver.batches.last.versions[1, shard]
    state = read_state(driver.checkpoint.folder, version, driver.plans.current, 1, shard_state.Shard(shard, 2))
    return len(state.dictionary)


def test_answers_can_be_asked_of_a_dictionary_with_gaps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shard_state, "FEWEST_STRINGS", 16)
    engine = an_engine(tmp_path)
    for second in range(10):
        engine.push("a", rows(second, [f"only in {second}"] * 3))
        engine.step()
    assert engine["counted"].answer().column("s").to_pylist()[-1].startswith("only in")
    assert isinstance(engine["counted"].answer(), pa.Table)


@pytest.fixture
def far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A checkpoint in an object store, which is a folder here."""
    from obstore.store import LocalStore

    monkeypatch.setattr(object_files, "store_at", lambda place: LocalStore(place.replace("s3:/", "", 1), mkdir=True))
    monkeypatch.setenv("WINDROW_CACHE", str(tmp_path / "near"))
    return f"s3:/{tmp_path}/far/checkpoint"


def test_a_far_checkpoint_is_read_through_a_cache_on_the_disk(
    far: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cache that is there saves reading, one that is damaged or gone is made again, and answers are the same."""
    near, there = an_engine(tmp_path / "undisturbed"), an_engine(far)
    fetched: list[str] = []
    read = Folder.read

    def counting(folder: Folder, name: str) -> bytes:
        if name.startswith("pieces/"):
            fetched.append(name)
        return read(folder, name)

    monkeypatch.setattr(Folder, "read", counting)
    cached = tmp_path / "near"
    for second in range(8):
        stepped(near, range(second, second + 1))
        STATES.clear()
        stepped(there, range(second, second + 1))
        bundles = [path for path in cached.rglob("*") if path.is_file() and "pieces" in path.name]
        assert bundles
        if second == 3:
            assert not fetched, "all that is read was written here"
            for path in bundles:
                _break(path, False)
        if second == 4:
            assert fetched, "what was damaged is fetched"
            fetched.clear()
            for path in bundles:
                path.unlink()
        if second == 5:
            assert fetched, "what was gone is fetched"
    for name in ("counted", "named"):
        assert over_time(near[name].changes()) == over_time(there[name].changes())


def test_a_cache_does_not_outgrow_its_bound(far: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_cache, "CACHE_BYTES", 100_000)
    stepped(an_engine(far), range(12))
    assert sum(path.stat().st_size for path in (tmp_path / "near").rglob("*") if path.is_file()) <= 100_000


def test_a_server_drops_what_went_on_elsewhere() -> None:
    memory = StateCache[str]()
    memory.put(("here", 1, 0), 1, "a", "state a")
    memory.put(("there", 1, 0), 1, "b", "state b")
    memory.put(("here", 1, 1), 1 + WAITS, "c", "state c")
    assert len(memory) == 3, "the shard may come back"
    memory.put(("here", 1, 1), 2 + WAITS, "d", "state d")
    assert memory.take(("here", 1, 0)) is None
    assert memory.take(("here", 1, 1)) == (2 + WAITS, "d", "state d")
    assert memory.take(("there", 1, 0)) == (1, "b", "state b")
    assert not len(memory)


def test_a_dictionary_is_written_in_few_pieces_and_not_again_and_again(tmp_path: Path) -> None:
    """New strings in every batch: what is written for them in all is a few times what they are."""
    engine = an_engine(tmp_path, shards=1)
    for second in range(64):
        engine.push("a", rows(second, [f"string {second}.{place}" for place in range(20)]))
        engine.step()
        last = engine.driver.batches.last
        assert last is not None
        manifest = read_manifest(engine.driver.checkpoint.folder, last.versions[1, 0])
        pieces = [address for name, address in manifest.pieces.items() if name.startswith("dictionary/")]
        assert len(pieces) <= 8
        assert sum(manifest.bundles.values()) <= 4 * manifest.size, "bundles of little use are written anew"


def test_a_worker_stays_within_its_memory_while_a_window_slides() -> None:
    """In a process of its own, which has to do with both shards: `docs/guide/recovery.md` states the bound."""
    run = [sys.executable, str(Path(__file__).parents[2] / "support" / "memory_run.py"), "400000"]
    told = json.loads(subprocess.run(run, check=True, capture_output=True, text=True).stdout)
    assert told["rows"] > 300_000
    assert told["process"] <= 1500e6 + 4 * told["state"]


def test_a_shard_that_comes_back_is_brought_up_to_date_by_what_is_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two machines take turns: each reads what the other has written since, not all that there is."""
    read: list[int] = []

    def reading(folder: Folder, manifest: Mapping[str, Address]) -> dict[str, bytes]:
        read.append(sum(address.length for address in manifest.values()))
        return read_contents(folder, manifest)

    monkeypatch.setattr(shard_state, "read_contents", reading)
    engine = SourcesInProcess(1, checkpoint=str(tmp_path))
    engine.sql("CREATE STREAM s (ts TIMESTAMP, k BIGINT, name STRING) TIMESTAMP BY ts")
    other = "s [RANGE 1 HOUR] AS y WHERE x.k = y.k AND x.name = 'nobody'"
    engine.sql(f"CREATE QUERY q AS SELECT x.k FROM s [RANGE 1 HOUR] AS x, {other}")
    here, there = STATES._entries, dict[Any, Any]()
    state = 0
    for second in range(32):
        times = pa.array([second * 1_000_000] * 500, pa.timestamp("us", "UTC"))
        engine.push("s", pa.table({"ts": times, "k": range(500), "name": [f"{second} {k % 7}" for k in range(500)]}))
        engine.step()
        state += engine.status()["state_bytes"]
        STATES._entries, (here, there) = there, (there, here)
    assert 0 < sum(read) * 3 < state
    assert engine["q"].answer().num_rows == 0
    STATES.clear()
    engine.close()


def test_a_batch_that_runs_again_finds_what_was_alive_before_it(tmp_path: Path) -> None:
    """What is in memory is of the first attempt, for which time has gone on: rows have left pieces that both name."""

    class RunTwice(SourcesInProcess):
        def _job(self, rows: Any) -> Any:
            job = super()._job(rows)
            return lambda spec: (job(spec), job(spec))[1]

    engines = [SourcesInProcess(1, checkpoint=str(tmp_path / "once")), RunTwice(1, checkpoint=str(tmp_path / "twice"))]
    for engine in engines:
        engine.sql("CREATE STREAM s (ts TIMESTAMP, k BIGINT, life INTERVAL) TIMESTAMP BY ts LIFETIME BY life")
        engine.sql("CREATE QUERY q AS SELECT k % 7 AS k, COUNT(*) AS n FROM s GROUP BY k % 7")
        for second in range(0, 60, 6):
            times = pa.array([second * 1_000_000 + place for place in range(6_000)], pa.timestamp("us", "UTC"))
            lives = pa.array([(1 + place % 40) * 1_000_000 for place in range(6_000)], pa.duration("us"))
            engine.push("s", pa.table({"ts": times, "k": range(6_000), "life": lives}))
            engine.step()
    once, twice = (engine["q"].changes() for engine in engines)
    assert over_time(once) == over_time(twice)
    for engine in engines:
        engine.close()
