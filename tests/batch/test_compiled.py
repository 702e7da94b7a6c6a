"""Compiled loops outlive their files: what is on disk is used only as long as it fits."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import windrow
from windrow.batch.compiled import compiled, prefetch

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


def test_memory_may_be_asked_for_any_place() -> None:
    array = np.arange(6).reshape(3, 2)
    assert _with_prefetch(array, np.array([0, 5, 6, -1, 1 << 40, -(1 << 40)])) == 6
    assert array.ravel().tolist() == [0, 1, 2, 3, 4, 5]


@compiled
def _with_prefetch(array, places):
    for place in places:
        prefetch(array, place)
    return len(places)


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


def run_without_a_home(package: Path, temporary: Path) -> None:
    """A process that can write neither beside the package nor at home; whoever runs this may be root."""
    code = """
import numpy as np
from windrow.batch.key_table import KeyTable
print(KeyTable().intern(np.array([[7, 7, 9]], dtype=np.uint64).T).tolist())
"""
    places = {"HOME": os.devnull, "TMPDIR": str(temporary), "PYTHONPATH": str(package), "PATH": os.environ["PATH"]}
    finished = subprocess.run([sys.executable, "-c", code], env=places, capture_output=True, text=True)
    assert (finished.stdout.strip(), finished.stderr) == ("[0, 0, 1]", "")


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package that has no room for compiled loops: where their folders would be, there are files."""
    copied = tmp_path / "package" / "windrow"
    shutil.copytree(Path(windrow.__file__).parent, copied, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [copied, *(path for path in copied.rglob("*") if path.is_dir())]:
        (folder / "__pycache__").touch()
    return copied.parent


def test_loops_are_kept_in_a_temporary_folder_when_there_is_no_other(package: Path, tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    run_without_a_home(package, temporary)
    (folder,) = temporary.iterdir()
    assert folder.stat().st_mode & 0o077 == 0
    assert list(folder.rglob("*.nbc"))


@pytest.mark.parametrize("taken", ["by a file", "by others"])
def test_loops_are_compiled_without_being_kept_when_there_is_no_place(
    package: Path, tmp_path: Path, taken: str
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    name = temporary / f"windrow-compiled-{os.getuid()}"
    if taken == "by a file":
        name.touch()
    else:
        name.mkdir(mode=0o777)
        name.chmod(0o777)
    run_without_a_home(package, temporary)
    assert not list(temporary.rglob("*.nbc"))
