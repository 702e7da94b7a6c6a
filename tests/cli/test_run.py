"""`windrow run`: what is wrong with a file is said before anything starts, and what happens is shown."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.command import Command
from windrow.cli.run import waiting_lines

STREAM = "CREATE STREAM s (ts TIMESTAMP, symbol STRING, price DECIMAL(18, 4), size BIGINT, venue STRING)"
GENERATED = f"{STREAM} FROM generator('trades', rate => 1000, rows => 5000) TIMESTAMP BY ts;"
QUERY = "CREATE QUERY counted AS SELECT COUNT(*) AS n FROM s [RANGE UNBOUNDED];"


@pytest.fixture(params=["--local", "on Spark"])
def options(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Nothing is found by starting Spark."""

    def started(**_: object) -> None:
        raise AssertionError("an engine is started")

    monkeypatch.setattr("windrow.cli.run.connect", started)
    return ["--local"] if request.param == "--local" else []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there are no statements in {file}"),
        ("-- nothing but this\n;\n", "there are no statements in {file}"),
        (GENERATED, "there is no query in {file}"),
        (f"{GENERATED} SELECT * FROM s [ROWS 1]", "{file}, line 1: rows of s are not kept for questions"),
        (f"{STREAM} TIMESTAMP BY ts; {QUERY}", "no stream in {file} has a source: nothing would come"),
        (f"{GENERATED}\n\nCREATE QUERY q AS SELECT sise FROM s;", "{file}, line 3, column 26: there is no column sise"),
        (f"{GENERATED}\nCREATE QUERI", "{file}, line 2, column 8: 'QUERI' cannot be created"),
        (
            f"\n{STREAM}\nFROM csv('nowhere') TIMESTAMP BY ts; {QUERY}",
            "{file}, line 2: there is no file or folder nowhere",
        ),
        (f"{STREAM} FROM generator('trades', rows => -1) TIMESTAMP BY ts;", "{file}, line 1: "),
        (
            f"{GENERATED}\nCREATE TABLE t (a INT) FROM csv('nowhere');",
            "{file}, line 2: there is no file or folder nowhere",
        ),
    ],
    ids=lambda text: " ".join(text.split())[-40:],
)
def test_a_file_that_cannot_run(windrow: Command, tmp_path: Path, options: list[str], text: str, message: str) -> None:
    file = tmp_path / "queries.cql"
    file.write_text(text)
    finished = windrow("run", str(file), *options, folder=tmp_path)

    assert (finished.returncode, finished.stdout) == (1, "")
    assert finished.stderr.splitlines()[0].startswith(message.format(file=file))
    assert "Traceback" not in finished.stderr


def test_a_stream_without_a_source_beside_one_that_has_it(windrow: Command, tmp_path: Path) -> None:
    file = tmp_path / "queries.cql"
    alone = "CREATE STREAM alone (ts TIMESTAMP) TIMESTAMP BY ts; CREATE QUERY q AS SELECT ts FROM alone;"
    file.write_text(f"{GENERATED} {QUERY} {alone}")
    finished = windrow("run", str(file), "--local")

    assert finished.returncode == 0
    assert finished.stderr == "warning: stream alone has no source: it has no rows here\n"


def test_a_column_that_no_file_has_is_told(windrow: Command, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("ts,symbol,volume\n2026-01-01 12:00:00,A,1\n2026-01-01 12:00:01,B,1\n")
    file = tmp_path / "queries.cql"
    file.write_text(
        f"CREATE STREAM f (ts TIMESTAMP, size BIGINT) FROM csv('{tmp_path}') TIMESTAMP BY ts;"
        "CREATE QUERY q AS SELECT size FROM f;"
    )
    finished = windrow("run", str(file), "--local")

    assert finished.returncode == 0
    (warning,) = (line for line in finished.stdout.splitlines() if line.startswith("warning"))
    assert warning.startswith(
        "warning: f: there is no column size, it is NULL; not declared: symbol, volume (2 rows, since 20"
    )


def test_lines_of_json_are_printed_when_something_has_happened(windrow: Command, tmp_path: Path) -> None:
    file = tmp_path / "queries.cql"
    file.write_text(f"{GENERATED} {QUERY}")
    printed = windrow("run", str(file), "--local", "--json").stdout.splitlines()

    assert len(printed) == len(set(printed)) >= 1
    assert json.loads(printed[-1])["streams"]["s"]["rows"] == 5000


def test_a_run_that_follows_a_folder_reads_files_as_they_come(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "a.csv").write_text("ts,a\n2026-01-01 12:00:00,1\n2026-01-01 12:00:01,2\n")
    file = tmp_path / "queries.cql"
    file.write_text(
        f"CREATE STREAM f (ts TIMESTAMP, a BIGINT) FROM csv('{folder}') TIMESTAMP BY ts;"
        "CREATE QUERY q AS SELECT COUNT(*) AS n FROM f;"
    )
    code = "import sys; from windrow.cli import main; main()"
    arguments = [sys.executable, "-c", code, "run", str(file), "--local", "--follow", "--json"]
    running = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stdout is not None

    def read_until(rows: int) -> None:
        assert running.stdout is not None
        for line in running.stdout:
            if json.loads(line)["streams"]["f"]["rows"] == rows:
                return
        raise AssertionError(f"it ended before there were {rows} rows")

    read_until(2)
    (folder / "b.csv").write_text("ts,a\n2026-01-01 12:00:02,3\n")
    read_until(3)
    running.send_signal(signal.SIGINT)
    running.communicate()
    assert running.returncode == 130


@pytest.mark.parametrize(
    ("streams", "lines"),
    [
        ({"s": (0, None)}, ["no row has come yet; loops that have not run here before are being compiled"]),
        ({"s": (5, 7), "t": (0, None)}, ["t has had no row yet: queries that read it wait for it"]),
        ({"s": (5, 7), "t": (0, 7)}, []),
    ],
    ids=str,
)
def test_why_nothing_moves_is_said(streams: dict[str, tuple[int, int | None]], lines: list[str]) -> None:
    told = {name: {"rows": rows, "watermark": watermark} for name, (rows, watermark) in streams.items()}
    assert waiting_lines(told) == lines


@pytest.mark.parametrize("given", ["-e", "-"])
def test_statements_without_a_file(windrow: Command, given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What SHOW gives comes first, a SELECT is answered when all has been read."""
    text = f"{GENERATED} {QUERY} SELECT n + 1 AS more FROM counted; SHOW QUERIES"
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    finished = windrow("run", "--local", *(["-e", text] if given == "-e" else ["-"]))

    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.startswith("queries: 1\n")
    assert finished.stdout.endswith("1 row\nmore\n5001\n")


def test_answers_as_json(windrow: Command) -> None:
    text = "CREATE TABLE t (a INT, b STRING); INSERT INTO t VALUES (1, 'x'), (2, NULL); SELECT * FROM t; SHOW TABLES"
    finished = windrow("run", "--local", "--json", "-e", text)

    lines = [json.loads(line) for line in finished.stdout.splitlines()]
    assert lines[-1] == {"rows": [{"a": 1, "b": "x"}, {"a": 2, "b": None}]}
    assert lines[0]["columns"] == ["table", "changes", "source"]
