"""`windrow run` on Spark: quiet, ends by itself, and a second time with the same checkpoint."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession

from support.command import command
from support.failing_sink import GOT, REFUSING
from support.waiting import until
from windrow.cli.run import UNFINISHED

FILE = """
CREATE STREAM link (ts TIMESTAMP, src STRING, dst STRING, protocol STRING, bytes BIGINT, duration INTERVAL)
FROM generator('traffic', rate => 500, seed => 1, rows => 3000) TIMESTAMP BY ts;
CREATE TABLE ports (protocol STRING, port INT);
INSERT INTO ports VALUES ('https', 443);
-- How many connections does each protocol have?
CREATE QUERY connections AS SELECT protocol, COUNT(*) AS n FROM link [RANGE 1 MINUTE] GROUP BY protocol;
CREATE QUERY to_port AS SELECT port, COUNT(*) AS n FROM link [RANGE 1 MINUTE] JOIN ports
ON link.protocol = ports.protocol GROUP BY port;
"""


@pytest.fixture
def stack() -> Iterator[contextlib.ExitStack]:
    with contextlib.ExitStack() as stack:
        yield stack


def test_a_file_runs_twice(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    stack: contextlib.ExitStack,
) -> None:
    windrow = stack.enter_context(command(capsys, monkeypatch))

    def run(text: str, *options: str) -> tuple[int, str, str]:
        (tmp_path / "queries.cql").write_text(text)
        done = windrow("run", str(tmp_path / "queries.cql"), "--checkpoint", str(tmp_path / "run"), *options)
        return done.returncode, done.stdout, done.stderr

    first = run(FILE, "--batch-rows", "1000")
    assert first[0] == 0
    assert "connections  How many connections does each protocol have?" in first[1]
    assert "3,000" in first[1]
    assert run(FILE) == first, "it has ended: the results are shown again"

    code, _, error = run(FILE.replace("COUNT(*) AS n FROM link [RANGE 1 MINUTE] GROUP", "1 AS n FROM link GROUP"))
    assert (code, error.split(":")[0]) == (1, "the checkpoint has another query connections")
    code, _, error = run(f"{FILE} CREATE QUERY more AS SELECT src FROM link [RANGE 1 MINUTE];")
    assert (code, error.splitlines()[0]) == (1, "the run in this checkpoint has ended: nothing can be added to it")

    status = json.loads(run(FILE, "--json")[1].splitlines()[-1])
    assert status["streams"]["link"]["rows"] == 3000
    assert status["streams"]["link"]["unread"] == 0


def test_a_run_again_reads_what_is_new_and_files_can_be_retried(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    stack: contextlib.ExitStack,
) -> None:
    """As from cron: every run ends when it has read what there is."""
    windrow, folder, place = stack.enter_context(command(capsys, monkeypatch)), tmp_path / "files", tmp_path / "run"
    folder.mkdir()
    (tmp_path / "queries.cql").write_text(
        f"CREATE STREAM f (ts TIMESTAMP, a BIGINT) FROM parquet('{folder}') TIMESTAMP BY ts;"
        "CREATE QUERY counted AS SELECT COUNT(*) AS n FROM f;"
    )

    def write(name: str, *seconds: int) -> None:
        times = pa.array([second * 1_000_000 for second in seconds], pa.timestamp("us", "UTC"))
        pa.parquet.write_table(pa.table({"ts": times, "a": list(seconds)}), folder / name)

    def rows(*arguments: str) -> int:
        finished = windrow(*arguments)
        assert (finished.returncode, finished.stderr) == (0, "")
        return int(json.loads(finished.stdout.splitlines()[-1])["streams"]["f"]["rows"])

    run = ["run", str(tmp_path / "queries.cql"), "--checkpoint", str(place), "--json"]
    write("a.parquet", 1, 2)
    (folder / "broken.parquet").write_text("this is no Parquet")
    assert rows(*run) == 2
    assert rows(*run) == 2, "nothing is read twice"
    write("b.parquet", 3)
    assert rows(*run) == 3

    again = windrow("retry", str(place), "F")
    assert (again.returncode, again.stderr) == (0, "")
    assert again.stdout.startswith("reading again: broken.parquet\ncounted")
    assert windrow("retry", str(place), "g").stderr.startswith("there is no stream g")
    assert windrow("retry", str(tmp_path / "none")).stderr.startswith("there is no checkpoint in")
    (folder / "broken.parquet").unlink()

    (tmp_path / "queries.cql").write_text(f"{(tmp_path / 'queries.cql').read_text()} ALTER STREAM f SET AHEAD 1 HOUR;")
    write("c.parquet", 4, 7_000_000_000)  # of the year 2191
    assert rows(*run) == 4
    (tmp_path / "queries.cql").write_text(
        f"{(tmp_path / 'queries.cql').read_text()} ALTER STREAM f SET AHEAD UNLIMITED;"
    )
    assert rows(*run) == 4, "what was rejected waits to be asked for"
    again = windrow("retry", str(place), "f")
    assert again.stdout.startswith("reading again: broken.parquet, 1 rejected row\ncounted")
    assert rows(*run) == 5


def test_a_run_whose_sink_fails_says_so_and_the_next_one_feeds_it(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    stack: contextlib.ExitStack,
) -> None:
    windrow = stack.enter_context(command(capsys, monkeypatch))
    (tmp_path / "queries.cql").write_text(
        "CREATE STREAM link (ts TIMESTAMP, protocol STRING) FROM generator('traffic', rows => 500) TIMESTAMP BY ts;"
        "CREATE QUERY all_of_them AS SELECT protocol FROM link INTO python('support.failing_sink:receive');"
    )
    run = ["run", str(tmp_path / "queries.cql"), "--checkpoint", str(tmp_path / "run"), "--json"]
    GOT.clear()
    REFUSING["all_of_them"] = "no room"
    stack.callback(REFUSING.clear)
    failed = windrow(*run)
    assert failed.returncode == UNFINISHED
    assert "sink of all_of_them fails since 20" in failed.stderr and "OSError: no room" in failed.stderr
    assert "the same command gives it when the sink works" in failed.stderr
    REFUSING.clear()
    assert windrow(*run).returncode == 0
    assert sum(table.num_rows for table in GOT["all_of_them"]) == 500
    refused = windrow("resume", str(tmp_path / "run"), "all_of_them")
    assert refused.returncode == 1 and refused.stderr.startswith("all_of_them is not set aside")


def test_a_run_of_its_own_says_nothing_but_its_results(tmp_path: Path) -> None:
    (tmp_path / "queries.cql").write_text(FILE)
    command = [str(Path(sys.executable).with_name("windrow")), "run", str(tmp_path / "queries.cql")]
    finished = subprocess.run(command, capture_output=True, text=True)

    assert (finished.returncode, finished.stderr) == (0, "")
    assert finished.stdout.startswith("connections  How many connections")


@pytest.mark.parametrize("moment", [1.0, 4.0, 8.0, 15.0], ids=lambda moment: f"{moment} s")
def test_an_interrupt_at_any_moment(tmp_path: Path, moment: float) -> None:
    """Of all of its processes, as from a terminal: also while Spark starts, and while loops are compiled."""
    (tmp_path / "queries.cql").write_text(FILE.replace(", rows => 3000", ""))
    command = [str(Path(sys.executable).with_name("windrow")), "run", str(tmp_path / "queries.cql")]
    running = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    time.sleep(moment)
    os.killpg(running.pid, signal.SIGINT)
    shown, said = running.communicate()

    assert (running.returncode, said) == (130, "")
    if shown:
        assert shown.rstrip().endswith("with --checkpoint FOLDER the same command would go on from here")


def test_a_second_interrupt_while_spark_stops_is_not_heard(tmp_path: Path) -> None:
    (tmp_path / "queries.cql").write_text(FILE.replace(", rows => 3000", ""))
    command = [str(Path(sys.executable).with_name("windrow")), "run", str(tmp_path / "queries.cql")]
    options = ["--checkpoint", str(tmp_path / "run"), "--batch-rows", "1000"]
    running = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until(lambda: running.poll() is not None or list((tmp_path / "run").glob("windrow/commits/*")), "a commit")
    patience = time.monotonic() + 5  # whoever presses for longer ends it at once
    while running.poll() is None and time.monotonic() < patience:  # whatever it is doing
        running.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            running.wait(0.1)
    shown, said = running.communicate()

    assert (running.returncode, said) == (130, "")
    assert shown.rstrip().endswith("interrupted; the same command goes on from here")
