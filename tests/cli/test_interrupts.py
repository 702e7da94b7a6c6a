"""Ctrl-C at any moment: no trace, exit code 130, and a word on how to go on that is true."""

from __future__ import annotations

import os
import pty
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from windrow.cli import interrupts
from windrow.cli.interrupts import Interrupts

FILE = """
CREATE STREAM link (ts TIMESTAMP, src STRING, dst STRING, protocol STRING, bytes BIGINT, duration INTERVAL)
FROM generator('traffic', rate => 500) TIMESTAMP BY ts;
CREATE QUERY pairs AS SELECT src, COUNT(*) AS n, MEDIAN(bytes) AS middle FROM link [RANGE 1 MINUTE] GROUP BY src;
CREATE QUERY lately AS SELECT DISTINCT dst FROM link [RANGE 1 MINUTE SLIDE 10 SECONDS];
"""
COMMAND = "import sys; from windrow.cli import main; print('there', flush=True); main()"  # its arguments follow


def started(file: Path, *options: str, screen: int = subprocess.PIPE) -> subprocess.Popen[bytes]:
    """The command, where an interrupt is not one of Python's own start any more."""
    arguments = [sys.executable, "-c", COMMAND, "run", str(file), "--local", *options]
    return subprocess.Popen(arguments, stdout=screen, stderr=subprocess.PIPE)


def moments(count: int, seed: int) -> list[float]:
    """From right away to well into the run, on a machine of any speed."""
    chosen = random.Random(seed)
    return [chosen.uniform(0.5, 1.5) * 0.02 * 1.6**number for number in range(count)]


@pytest.mark.parametrize("moment", moments(14, 1), ids=lambda moment: f"{moment:.2f} s")
def test_any_moment_is_right(tmp_path: Path, moment: float) -> None:
    file = tmp_path / "queries.cql"
    file.write_text(FILE)
    running = started(file)
    assert running.stdout is not None
    assert running.stdout.readline() == b"there\n"
    time.sleep(moment)
    running.send_signal(signal.SIGINT)
    shown, said = running.communicate()

    assert (running.returncode, said) == (130, b"")
    if shown:
        last = shown.decode().splitlines()[-1]
        assert last == "interrupted; nothing of a run with --local is kept: it starts anew"


@pytest.mark.parametrize("moment", [*moments(4, 2)[2:], 8.0], ids=lambda moment: f"{moment:.2f} s")
def test_on_a_screen(tmp_path: Path, moment: float) -> None:
    file = tmp_path / "queries.cql"
    file.write_text(FILE)
    ours, theirs = pty.openpty()
    running = started(file, screen=theirs)
    os.close(theirs)
    shown = os.read(ours, 1 << 16)
    time.sleep(moment)
    running.send_signal(signal.SIGINT)
    while True:
        try:
            more = os.read(ours, 1 << 16)
        except OSError:  # the other end is closed
            break
        shown += more
        if not more:
            break
    os.close(ours)

    assert running.wait() == 130
    assert running.stderr is not None
    assert running.stderr.read() == b""
    assert b"Traceback" not in shown
    assert shown.rfind(b"\x1b[?25h") >= shown.rfind(b"\x1b[?25l"), "the cursor is there again"


def test_one_that_is_asked_again_and_again_ends_properly(tmp_path: Path) -> None:
    file = tmp_path / "queries.cql"
    file.write_text(FILE)
    running = started(file, "--json")
    assert running.stdout is not None
    running.stdout.readline()
    assert running.stdout.readline().startswith(b"{"), "it runs"
    patience = time.monotonic() + 5  # whoever presses for longer ends it at once
    while running.poll() is None and time.monotonic() < patience:
        running.send_signal(signal.SIGINT)
        time.sleep(0.05)
    shown, said = running.communicate()

    assert running.returncode == 130
    assert said == b"interrupted; nothing of a run with --local is kept: it starts anew\n"
    assert shown.endswith(b"}\n")


def test_one_that_does_not_stop_is_ended_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds, ended = [0.0], list[bool]()
    monkeypatch.setattr(interrupts, "monotonic", lambda: seconds[0])
    monkeypatch.setattr(interrupts, "end_at_once", lambda: ended.append(True))
    ours = Interrupts()
    with ours.running():
        ours.check()
        for after in (1.0, 9.0, 10.9):
            seconds[0] = after
            ours.hear()
        assert not ended
        with pytest.raises(KeyboardInterrupt):
            ours.check()
        seconds[0] = 11.1
        ours.hear()
        assert ended
