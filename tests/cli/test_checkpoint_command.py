"""`windrow checkpoint copy`: a copy of a checkpoint that is in use goes on by itself."""

from pathlib import Path

from support.command import Command
from support.shard_runs import ShardsInProcess


def test_a_checkpoint_in_use_is_copied(windrow: Command, tmp_path: Path) -> None:
    engine = ShardsInProcess(2, checkpoint=str(tmp_path / "running"))
    engine.sql(
        "CREATE STREAM s (t TIMESTAMP, k BIGINT) TIMESTAMP BY t; CREATE QUERY q AS SELECT k FROM s [RANGE 1 HOUR]"
    )
    for second in range(3):
        engine.push("s", [{"t": second * 1_000_000, "k": second}])
        engine.step()
    finished = windrow("checkpoint", "copy", str(tmp_path / "running"), str(tmp_path / "copy"))
    assert (finished.returncode, finished.stderr) == (0, "")
    assert finished.stdout == f"{tmp_path}/copy has the checkpoint as of micro-batch 2\n"
    copy = ShardsInProcess(2, checkpoint=str(tmp_path / "copy"))
    assert copy["q"].answer().equals(engine["q"].answer()) and copy["q"].answer().num_rows == 2


def test_what_is_no_checkpoint_or_no_place_is_refused(windrow: Command, tmp_path: Path) -> None:
    finished = windrow("checkpoint", "copy", str(tmp_path / "nothing"), str(tmp_path / "copy"))
    assert finished.returncode == 1 and "there is no checkpoint in" in finished.stderr
    ShardsInProcess(1, checkpoint=str(tmp_path / "running")).close()
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "mine").write_text("")
    finished = windrow("checkpoint", "copy", str(tmp_path / "running"), str(tmp_path / "copy"))
    assert finished.returncode == 1 and "is not empty" in finished.stderr
