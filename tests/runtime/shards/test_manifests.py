"""Manifests that are written as what has changed: they say the same as whole ones, wherever somebody reads them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from support.shard_runs import ShardsInProcess
from windrow.runtime.shards.storage.bundles import Address
from windrow.runtime.shards.storage.manifests import (
    Chain,
    ManifestFile,
    StateManifest,
    applied,
    bundles_of,
    changes,
    read_chain,
)

KEPT, FEW = 60_000, 10
LONGEST = 32
addresses = st.builds(Address, st.sampled_from(["x", "y", "z"]), st.integers(0, 3), st.just(1), st.just(0))
pieces = st.lists(st.tuples(st.sampled_from("abcdefghij"), addresses), max_size=12).map(dict)
names = st.frozensets(st.sampled_from(["q", "r"]))


@st.composite
def manifests(draw: st.DrawFn) -> StateManifest:
    found = draw(pieces)
    lengths = {"x": 1, "y": 2, "z": 3}
    return StateManifest(draw(names), draw(names), draw(st.integers(0, 2)), 0, found, bundles_of(found, lengths))


@given(manifests(), manifests())
def test_changes_of_a_manifest_make_the_next_one_of_the_one_before(before: StateManifest, now: StateManifest) -> None:
    made = applied(changes(before, now, ManifestFile("file", 0, 1)), before)

    assert made == now
    assert list(made.pieces) == list(now.pieces)


def rows(count: int, second: int) -> pa.Table:
    random = np.random.default_rng(second)
    times = pa.array(second * 1_000_000 + np.arange(count)).view(pa.timestamp("us", "UTC"))
    return pa.table({"t": times, "k": random.integers(0, 1_000, count), "v": random.normal(100, 1, count)})


def opened(place: Path, forgetful: bool = False) -> ShardsInProcess:
    engine = ShardsInProcess(1, checkpoint=str(place), forgetful=forgetful)
    if not engine.queries:
        engine.sql("CREATE STREAM a (t TIMESTAMP, k BIGINT, v DOUBLE) TIMESTAMP BY t")
        engine.sql("CREATE QUERY q AS SELECT k, COUNT(*) AS n, SUM(v) AS s FROM a [RANGE 40 SECONDS] GROUP BY k")
    return engine


def carried_on(engine: ShardsInProcess, begin: int, end: int) -> list[Chain]:
    """The chains after each of some batches; the first ten are large."""
    found = []
    for second in range(begin, end):
        engine.push("a", rows(KEPT // 10 if second < 10 else FEW, second))
        engine.step()
        last = engine.driver.batches.last
        assert last is not None
        found.append(read_chain(engine.driver.checkpoint.folder, last.versions[1, 0])[1])
    return found


def answer(engine: ShardsInProcess) -> list[dict[str, object]]:
    return sorted(engine["q"].answer().to_pylist(), key=lambda row: int(row["k"]))


def test_an_engine_that_reads_its_state_back_from_changes_goes_on_as_one_that_remembers(tmp_path: Path) -> None:
    remembering, forgetful = opened(tmp_path / "remembering"), opened(tmp_path / "forgetful", forgetful=True)
    chains = carried_on(remembering, 0, 60)
    carried_on(forgetful, 0, 60)

    assert 2 < max(map(len, chains)) <= LONGEST
    assert answer(forgetful) == answer(remembering)


def test_files_of_a_chain_stay_as_long_as_it_is_needed(tmp_path: Path) -> None:
    engine = opened(tmp_path / "checkpoint")
    second, chain = 20, carried_on(engine, 0, 20)[-1]
    while len(chain) < 3:
        (chain,) = carried_on(engine, second, second + 1)
        second += 1
    engine.driver.checkpoint.copy(str(tmp_path / "copy"))
    engine.close()
    seen = []
    for place in ("checkpoint", "copy"):  # opening sweeps away what nobody needs
        again = opened(tmp_path / place)
        carried_on(again, second, second + 5)
        seen.append(answer(again))
        again.close()

    assert seen[0] == seen[1]
    copied = {f"manifests/{path.name}" for path in (tmp_path / "copy" / "windrow" / "manifests").iterdir()}
    assert {file.name for file in chain} <= copied


def test_few_rows_over_many_pieces_write_a_small_manifest(tmp_path: Path) -> None:
    engine = opened(tmp_path)
    carried_on(engine, 0, 30)
    files = sorted((tmp_path / "windrow" / "manifests").iterdir())

    assert min(path.stat().st_size for path in files[-5:]) < max(path.stat().st_size for path in files) / 3
