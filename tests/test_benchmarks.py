"""The contract of `python -m benchmarks`: what it lists, how it refuses, and its JSON line."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchmarks import asw, collective, kernels, runner, swag, upa
from benchmarks.on_spark import small

ROOT = Path(__file__).parent.parent


def bench(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "benchmarks", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


@dataclass(frozen=True)
class Measured:
    """Stands for a benchmark that has measured nothing."""

    name: str

    def run(self, quick: bool) -> runner.Report:
        return runner.Report(self.name, {"quick": quick}, [], {})


def is_one_report(line: str, name: str) -> bool:
    report = json.loads(line)
    return list(report) == ["bench", "params", "results", "ratios"] and report["bench"] == name


@pytest.mark.parametrize("name", runner.names())
def test_benchmark_describes_itself_in_one_sentence(name: str) -> None:
    description = runner.load(name).__doc__

    assert description.endswith(".")
    assert "\n" not in description


def test_quick_run_ends_with_one_json_object() -> None:
    finished = bench("parse", "--quick")

    assert finished.returncode == 0, finished.stderr
    *table, last = finished.stdout.splitlines()
    assert any("parse" in line for line in table)
    assert is_one_report(last, "parse")


def test_json_option_prints_nothing_else() -> None:
    finished = bench("parse", "--quick", "--json")

    (line,) = finished.stdout.splitlines()
    assert is_one_report(line, "parse")


def test_parse_reports_its_named_ratios() -> None:
    report = runner.load("parse").run(quick=True)

    assert {"queries_per_second", "planning_growth"} <= set(report.ratios)
    assert all(value > 0 for value in report.ratios.values())


def test_kernels_agree_and_report_their_named_ratios(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("benchmarks.figure.OUT", tmp_path)

    report = kernels.compared(2_000, 20_000, quick=True, repeats=1)

    compared = {f"{kernel}_over_best" for kernel in ("selection", "join", "distinct", "negation", "groupby")}
    assert set(report.ratios) == {*compared, "growth_10x"}
    assert (tmp_path / "kernels.png").exists()


def test_strategies_agree_and_report_their_named_ratios(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("benchmarks.figure.OUT", tmp_path)
    monkeypatch.setattr(upa, "TRACE", tmp_path / "missing.parquet")

    report = upa.compared(5_000, {1: 10, 1_000: 2_000}, quick=True)

    strategies = {f"{query}_{other}_over_upa" for query in ("q1", "q2") for other in ("direct", "nt")}
    assert set(report.ratios) == {*strategies, "q2_state_over_output", "q4_pushed_over_pulled"}
    assert report.ratios["q2_state_over_output"] <= 2
    assert "missing.parquet is not in ../shared/data" in str(report.params["skipped"])
    assert (tmp_path / "upa.png").exists()


def test_synopses_agree_and_report_their_named_ratios(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("benchmarks.figure.OUT", tmp_path)

    report = asw.compared(2_000, 1_000, 1_000, (500, 1_000), 1_000, quick=True)

    rates = {f"{synopsis}_{what}_per_second" for synopsis in ("rint", "bint") for what in ("lookups", "updates")}
    assert set(report.ratios) == {*rates, "quantile_lookups_per_second"}
    assert {result["figure"] for result in report.results} == {9, 10, 11}
    assert (tmp_path / "asw.png").exists()


def test_the_index_agrees_and_reports_its_named_ratios(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("benchmarks.figure.OUT", tmp_path)

    report = collective.compared(300, 5_000, 60, quick=True)

    assert set(report.ratios) == {"ci_over_plain", "gain_of_ceiling"}
    assert [result["p"] for result in report.results] == [0, *collective.LEVELS]
    assert (tmp_path / "collective.png").exists()


def test_rolling_windows_agree_and_report_their_named_ratios(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("benchmarks.figure.OUT", tmp_path)

    report = swag.compared(
        (swag.Work("1k", 20, 3_000, 600, 500), swag.Work("1m", 900, 3_000, 1_800, 2_000)), quick=True
    )

    ratios = {f"{other}_over_windrow_{work}" for other in ("rolling", "recomputation") for work in ("1k", "1m")}
    assert set(report.ratios) == ratios
    assert (tmp_path / "swag.png").exists()


def test_no_name_lists_and_runs_all(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(runner, "load", Measured)

    assert runner.main(["--quick"]) == 0
    printed = capsys.readouterr().out
    reports = [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
    assert [report["bench"] for report in reports] == runner.names()
    assert "measures" in printed


def test_unknown_name_gets_the_nearest_and_the_list() -> None:
    finished = bench("prase")

    assert finished.returncode == 2
    assert finished.stdout == ""
    assert "'prase'" in finished.stderr
    assert "Did you mean 'parse'?" in finished.stderr
    assert f"There are: {', '.join(runner.names())}." in finished.stderr


def test_small_takes_medians_over_processes_and_reports_its_named_ratios(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("first_answer", "second", "warm", "cpu", "memory")
    runs = iter(range(100))
    monkeypatch.setattr(small, "_one", lambda command: dict.fromkeys(names, 1.0 + next(runs)))

    report = small.run(quick=False)

    assert {
        "warm_over_empty",
        "native_over_warm",
        "second_over_warm",
        "first_answer_over_native",
        "cpu_over_native",
        "memory_over_native",
    } <= set(report.ratios)
    assert [result["warm"] for result in report.results] == [2.0, 5.0, 8.0, 10.0, 12.0, 15.0]
    assert report.ratios["native_over_warm"] == 7.5
