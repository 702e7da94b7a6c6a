"""The command `windrow`, run in this process."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from windrow.cli import main

ROOT = Path(__file__).parents[2]
Command = Callable[..., "Finished"]


@dataclass(frozen=True)
class Finished:
    returncode: int
    stdout: str
    stderr: str


@contextmanager
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Command]:
    """`windrow("explain", "file.cql")`; interrupts are for the tests again afterwards."""

    def run(*arguments: str, folder: Path = ROOT) -> Finished:
        monkeypatch.chdir(folder)
        monkeypatch.setattr(sys, "argv", ["windrow", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        return Finished(int(ended.value.code or 0), printed.out, printed.err)

    heard = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    yield run
    signal.pthread_sigmask(signal.SIG_SETMASK, heard)
