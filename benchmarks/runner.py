"""Finds the benchmarks, runs them and prints what they report, a JSON object on the last line."""

import argparse
import importlib
import json
import pkgutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from typing import Protocol, cast

from rich.console import Console
from rich.table import Table

import benchmarks
from benchmarks import on_spark

NOT_BENCHMARKS = {"__main__", "asw_loops", "figure", "many_on_spark", "many_queries", "runner"}
NOT_BENCHMARKS |= {"small_process", "spark_runs"}


@dataclass(frozen=True)
class Report:
    """What one benchmark measured: each result is a row of a table, each ratio compares two of them."""

    bench: str
    params: Mapping[str, object]
    results: Sequence[Mapping[str, object]]
    ratios: Mapping[str, float]

    def to_json(self) -> str:
        return json.dumps(asdict(self), allow_nan=False)


class Benchmark(Protocol):
    __doc__: str

    def run(self, quick: bool) -> Report: ...


def names() -> list[str]:
    return sorted(_modules())


def load(name: str) -> Benchmark:
    return cast(Benchmark, importlib.import_module(_modules()[name]))


def _modules() -> dict[str, str]:
    """Where the benchmarks are, by name."""
    return {
        module.name: f"{package.__name__}.{module.name}"
        for package in (benchmarks, on_spark)
        for module in pkgutil.iter_modules(package.__path__)
        if not module.ispkg and module.name not in NOT_BENCHMARKS
    }


def measuring(what: str) -> None:
    """Tells the person waiting what is being measured now; standard output is for the answer."""
    print(f"measuring: {what}", file=sys.stderr, flush=True)


def main(arguments: Sequence[str]) -> int:
    options = _parse(arguments)
    known = names()
    if options.name is not None and options.name not in known:
        print(_unknown(options.name, known), file=sys.stderr)
        return 2
    console = Console(quiet=options.json)
    if options.name is None:
        console.print(_listing(known))
    for name in known if options.name is None else [options.name]:
        report = load(name).run(quick=options.quick)
        console.print(_results(report))
        console.print(_ratios(report))
        print(report.to_json(), flush=True)
    return 0


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure Windrow.")
    parser.add_argument("name", nargs="?", help="the benchmark to run; without it, list and run all")
    parser.add_argument("--quick", action="store_true", help="a short run on less data")
    parser.add_argument("--json", action="store_true", help="print nothing but the JSON line")
    return parser.parse_args(arguments)


def _unknown(name: str, known: Sequence[str]) -> str:
    nearest = get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f" Did you mean {nearest[0]!r}?" if nearest else ""
    return f"error: there is no benchmark {name!r}.{hint} There are: {', '.join(known)}."


def _listing(known: Sequence[str]) -> Table:
    table = Table("benchmark", "measures")
    for name in known:
        table.add_row(name, load(name).__doc__)
    return table


def _results(report: Report) -> Table:
    columns = list(dict.fromkeys(column for result in report.results for column in result))
    table = Table(*columns, title=report.bench)
    for result in report.results:
        table.add_row(*(_shown(result.get(column, "")) for column in columns))
    return table


def _ratios(report: Report) -> Table:
    table = Table("ratio", "value")
    for name, value in report.ratios.items():
        table.add_row(name, _shown(value))
    return table


def _shown(value: object) -> str:
    return f"{value:,.4g}" if isinstance(value, float) else str(value)
