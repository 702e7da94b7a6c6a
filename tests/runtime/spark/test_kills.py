"""A driver that is killed with SIGKILL at six moments gives, in the end, what an undisturbed one gives."""

from __future__ import annotations

from pathlib import Path

from support.interrupted import Came
from support.killing import killed_run_until_done, moments

KILLS = 6


def test_killed_driver_comes_to_the_same(undisturbed: Came, tmp_path: Path) -> None:
    assert all(undisturbed.answers.values()) and all(undisturbed.files.values()), "nothing to compare"
    came, deaths = killed_run_until_done(tmp_path, list(moments(KILLS, seed=1)))
    assert len(deaths) == KILLS
    assert 2 * sum(death.amid != "between" for death in deaths) >= KILLS, deaths
    assert came == undisturbed, deaths
