"""Compiled loops outlive their files: what is on disk is used only as long as it fits."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_MODULE = """
from typing import NamedTuple

import numpy as np

from windrow.batch.compiled import compiled


class {name}(NamedTuple):
    values: np.ndarray


@compiled
def total(of):
    return of.values.sum() + {more}


print(total({name}(np.arange(4))))
"""


def test_a_renamed_tuple_is_compiled_anew(tmp_path: Path) -> None:
    assert _run(tmp_path, name="Before", more=0) == "6"
    assert list(tmp_path.glob("__pycache__/*.nbi"))
    assert _run(tmp_path, name="After", more=1) == "7"
    assert _run(tmp_path, name="After", more=1) == "7"


def _run(folder: Path, name: str, more: int) -> str:
    file = folder / "loops.py"
    file.write_text(_MODULE.format(name=name, more=more))
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, check=True)
    return done.stdout.strip()
