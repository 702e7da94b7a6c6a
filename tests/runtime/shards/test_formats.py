"""A checkpoint of every format that there was is migrated, or refused by name; what is incomplete is refused too.

`tests/checkpoints/format-N` was written by Windrow when N was its format: one query, three rows.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from support.expected import REWRITE, ROOT
from support.shard_runs import ShardsInProcess
from windrow.errors import CheckpointError
from windrow.runtime.shards.storage.format import FORMAT


def made(place: Path) -> None:
    """What is stored of the present format; made anew with WINDROW_REWRITE=1, while the format is in the making."""
    engine = a_checkpoint(place)
    for second in range(3):
        engine.push("s", [{"t": second * 1_000_000, "k": "a"}])
        engine.step()
    engine.close()
    shutil.rmtree(place / "spark")


def a_checkpoint(place: Path) -> ShardsInProcess:
    engine = ShardsInProcess(1, checkpoint=str(place))
    if not engine.queries:
        engine.sql(
            "CREATE STREAM s (t TIMESTAMP, k STRING) TIMESTAMP BY t; "
            "CREATE QUERY q AS SELECT k, COUNT(*) AS n FROM s [RANGE 1 HOUR] GROUP BY k"
        )
    return engine


if REWRITE:
    shutil.rmtree(ROOT / "tests" / "checkpoints" / f"format-{FORMAT}", ignore_errors=True)
    made(ROOT / "tests" / "checkpoints" / f"format-{FORMAT}")
STORED = sorted((ROOT / "tests" / "checkpoints").iterdir())
REFUSED = {4, 5}


def _format(stored: Path) -> int:
    return int(stored.name.removeprefix("format-"))


def test_every_format_before_this_one_is_stored() -> None:
    """The present one when its round is over: WINDROW_REWRITE=1 writes it."""
    stored = {_format(stored) for stored in STORED}
    assert {*range(4, FORMAT)} <= stored <= {*range(4, FORMAT + 1)}


@pytest.mark.parametrize("stored", STORED, ids=lambda path: path.name)
def test_a_stored_checkpoint_goes_on_or_is_refused_by_name(stored: Path, tmp_path: Path) -> None:
    place = tmp_path / "checkpoint"
    shutil.copytree(stored, place)
    if _format(stored) in REFUSED:
        with pytest.raises(CheckpointError, match=f"the checkpoint has format {_format(stored)}, of Windrow"):
            ShardsInProcess(1, checkpoint=str(place))
        assert sorted(p.name for p in place.rglob("*")) == sorted(p.name for p in stored.rglob("*")), "as it was"
        return
    engine = ShardsInProcess(1, checkpoint=str(place))
    engine.push("s", [{"t": 3_000_000, "k": "b"}, {"t": 4_000_000, "k": "b"}])
    engine.step()
    assert engine["q"].answer().to_pylist() == [{"k": "a", "n": 3}, {"k": "b", "n": 1}]


@pytest.mark.parametrize("lost", ["format", "statements", "commits", "plans", "manifests", "pieces"])
def test_a_part_that_is_lost_is_named(tmp_path: Path, lost: str) -> None:
    for second in range(3):  # each in a life of its own
        engine = a_checkpoint(tmp_path)
        engine.push("s", [{"t": second * 1_000_000, "k": "a"}])
        engine.step()
        engine.close()
    part = tmp_path / "windrow" / lost
    part.unlink() if part.is_file() else shutil.rmtree(part)
    with pytest.raises(CheckpointError, match=f"{lost}(/[0-9a-f-]+)? of the checkpoint (is missing|cannot be read)"):
        a_checkpoint(tmp_path)


def test_another_number_of_shards_is_never_mixed_in(tmp_path: Path) -> None:
    a_checkpoint(tmp_path).close()
    (tmp_path / "windrow" / "format").unlink()
    with pytest.raises(CheckpointError, match="format of the checkpoint is missing, but there is statements/"):
        ShardsInProcess(4, checkpoint=str(tmp_path))
