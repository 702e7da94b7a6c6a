"""Everything at once, at random: in the end all output is that of an undisturbed run (longer: `scripts/soak.py`)."""

from __future__ import annotations

from pathlib import Path

from support.chaos import Chaos


def test_whatever_happens_the_output_is_the_same(tmp_path: Path) -> None:
    undisturbed = Chaos(tmp_path / "quiet", 0).undisturbed()
    assert all(undisturbed.answers.values()) and all(undisturbed.files.values()), "nothing to compare"
    chaos = Chaos(tmp_path / "chaos", 20)
    assert chaos.disturbed(times=3) == undisturbed, chaos.happened
