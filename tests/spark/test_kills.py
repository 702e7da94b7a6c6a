"""A driver that is killed with SIGKILL at five moments gives, in the end, what an undisturbed one gives."""

from __future__ import annotations

from pathlib import Path

import killed_run
from killing import killed_run_until_done, moments
from pyspark.sql import SparkSession

KILLS = 5


def test_killed_driver_comes_to_the_same(spark: SparkSession, tmp_path: Path) -> None:
    quiet, disturbed = tmp_path / "quiet", tmp_path / "disturbed"
    killed_run.push_all(quiet)
    undisturbed = killed_run.carried_out(quiet, spark)
    assert all(undisturbed.answers.values()) and all(undisturbed.files.values()), "nothing to compare"
    came, deaths = killed_run_until_done(disturbed, list(moments(KILLS, seed=1)))
    assert len(deaths) == KILLS
    assert 2 * sum(death.amid != "between" for death in deaths) >= KILLS, deaths
    assert came == undisturbed, deaths
