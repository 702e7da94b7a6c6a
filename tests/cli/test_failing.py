"""What a run shows of what fails."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from support.failing_sink import REFUSING
from windrow.cli import main

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
        with pytest.raises(SystemExit):
            main()
    finally:
        REFUSING.clear()
    shown = " ".join(capsys.readouterr().out.split())
    assert "2,000" in shown
    assert "sink of n, since" in shown and "OSError: no room; again at" in shown
