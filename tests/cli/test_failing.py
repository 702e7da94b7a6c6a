"""What a run shows of what fails."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest

from support.failing_sink import HANGING, REFUSING
from windrow.cli import main
from windrow.cli.run import UNFINISHED
from windrow.runtime.local.query import LocalQuery

TEXT = """
CREATE STREAM link (ts TIMESTAMP, protocol STRING) FROM generator('traffic', rate => 500, rows => 2000) TIMESTAMP BY ts;
CREATE QUERY n AS SELECT COUNT(*) AS n FROM link [RANGE 1 SECOND] INTO python('support.failing_sink:receive');
"""


def test_a_run_goes_on_and_says_what_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "queries.cql").write_text(TEXT)
    monkeypatch.setattr(sys, "argv", ["windrow", "run", str(tmp_path / "queries.cql"), "--local"])
    REFUSING["n"] = "no room"
    try:
        with pytest.raises(SystemExit) as ended:
            main()
    finally:
        REFUSING.clear()
    written = capsys.readouterr()
    shown = " ".join(written.out.split())
    assert "2,000" in shown
    assert "sink of n, since" in shown and "OSError: no room; again at" in shown
    assert ended.value.code == UNFINISHED
    assert "sink of n fails since 20" in written.err and "OSError: no room" in written.err
    assert "what it has not had is gone; with --checkpoint FOLDER it would be kept" in written.err


def test_a_run_whose_sink_hangs_ends_unfinished(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("windrow.runtime.outputs.feeder.PATIENCE", 0.2)
    (tmp_path / "queries.cql").write_text(TEXT)
    monkeypatch.setattr(sys, "argv", ["windrow", "run", str(tmp_path / "queries.cql"), "--local"])
    HANGING["n"] = threading.Event()
    try:
        with pytest.raises(SystemExit) as ended:
            main()
    finally:
        HANGING.pop("n").set()
    assert ended.value.code == UNFINISHED
    assert "sink of n fails since 20" in (said := capsys.readouterr().err) and "it has not returned" in said


def test_a_run_whose_query_is_set_aside_ends_unfinished(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object) -> None:
        raise MemoryError("no room")

    monkeypatch.setattr(LocalQuery, "take", fail)
    (tmp_path / "queries.cql").write_text(TEXT)
    monkeypatch.setattr(sys, "argv", ["windrow", "run", str(tmp_path / "queries.cql"), "--local"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == UNFINISHED
    assert "query n is set aside since 20" in (said := capsys.readouterr().err) and "MemoryError: no room" in said
