"""The contract of `python -m benchmarks`: what it lists, how it refuses, and its JSON line."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import runner

ROOT = Path(__file__).parent.parent


def bench(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "benchmarks", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def is_one_report(line: str, name: str) -> bool:
    report = json.loads(line)
    return list(report) == ["bench", "params", "results", "ratios"] and report["bench"] == name


@pytest.mark.parametrize("name", runner.names())
def test_benchmark_describes_itself_in_one_sentence(name: str) -> None:
    description = runner.load(name).__doc__

    assert description.endswith(".")
    assert "\n" not in description


@pytest.mark.parametrize("name", runner.names())
def test_quick_run_ends_with_one_json_object(name: str) -> None:
    finished = bench(name, "--quick")

    assert finished.returncode == 0, finished.stderr
    *table, last = finished.stdout.splitlines()
    assert any(name in line for line in table)
    assert is_one_report(last, name)


def test_json_option_prints_nothing_else() -> None:
    finished = bench("parse", "--quick", "--json")

    (line,) = finished.stdout.splitlines()
    assert is_one_report(line, "parse")


def test_parse_reports_its_named_ratios() -> None:
    report = runner.load("parse").run(quick=True)

    assert {"queries_per_second", "planning_growth"} <= set(report.ratios)
    assert all(value > 0 for value in report.ratios.values())


def test_no_name_lists_and_runs_all() -> None:
    finished = bench("--quick")

    assert finished.returncode == 0, finished.stderr
    reports = [json.loads(line) for line in finished.stdout.splitlines() if line.startswith("{")]
    assert [report["bench"] for report in reports] == runner.names()
    assert "measures" in finished.stdout


def test_unknown_name_gets_the_nearest_and_the_list() -> None:
    finished = bench("prase")

    assert finished.returncode == 2
    assert finished.stdout == ""
    assert "'prase'" in finished.stderr
    assert "Did you mean 'parse'?" in finished.stderr
    assert f"There are: {', '.join(runner.names())}." in finished.stderr
