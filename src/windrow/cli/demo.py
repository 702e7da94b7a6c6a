"""`windrow demo`: what the queries of the showcase ask, their answers as they change, and what it took."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from windrow.cli.interrupts import INTERRUPTED, INTERRUPTS
from windrow.cli.questions import questions
from windrow.cli.run import show_run
from windrow.clock import monotonic
from windrow.connect import connect
from windrow.errors import WindrowError
from windrow.runtime.spark import SparkEngine, SparkQuery
from windrow.units import format_size

_SHOWCASE = Path("examples") / "traffic.cql"
_BATCH_ROWS = 60_000  # two minutes of each link: enough of them to watch, few enough to be done in a minute


def run_demo(console: Console, master: str | None) -> int:
    """The showcase on Spark, explained; the exit code."""
    text = _showcase().read_text(encoding="utf-8")
    asked = questions(text)
    _introduce(console, asked)
    folder = Path(tempfile.mkdtemp(prefix="windrow-demo-"))
    began = monotonic()
    with console.status("Starting Spark, and the processes that keep the state ..."):
        engine = connect(master=master, checkpoint=str(folder / "checkpoint"), rows_a_batch=_BATCH_ROWS)
    with engine, INTERRUPTS.running():
        engine.resume(text)
        start = monotonic() - began
        console.print(Text(f"Spark is up after {start:.1f} s; the first micro-batch warms up.", style="dim"))
        is_interrupted = show_run(engine, asked, console)
        _conclude(console, engine, start, _written(engine, folder))
    return INTERRUPTED if is_interrupted else 0


def _showcase() -> Path:
    for place in (Path(), Path(__file__).parents[3]):
        if (place / _SHOWCASE).exists():
            return place / _SHOWCASE
    raise WindrowError(f"there is no {_SHOWCASE}", "run this in a copy of Windrow's repository")


def _introduce(console: Console, asked: Mapping[str, str]) -> None:
    table = Table(box=None, show_header=False, pad_edge=False)
    for name, question in asked.items():
        table.add_row(Text(name, style="bold"), question)
    said = Text.assemble(
        "Two network links report every connection they see, about 500 a second each. ",
        f"{len(asked)} questions are kept answered all the time: ",
        "every answer changes when a connection comes, and again when an old one leaves its window. ",
        "Twelve minutes of traffic go by as fast as Spark can take them.",
    )
    console.print(Panel(said, title="Windrow", title_align="left", border_style="cyan"))
    console.print(table)
    console.print()


def _written(engine: SparkEngine, folder: Path) -> Path:
    """The last answer of every query, and all that it emitted, as files."""
    for query in engine.queries:
        emitted = query.refreshes() if isinstance(query, SparkQuery) and query.slide is not None else query.changes()
        for kind, table in (("answers", query.latest_answer()), ("emitted", emitted)):
            (folder / kind).mkdir(exist_ok=True)
            pyarrow.parquet.write_table(table, folder / kind / f"{query.name}.parquet")
    return folder


def cost(status: Mapping[str, Any], start: float, shards: int) -> str:
    """How fast it went once warm, and how long that took; the first micro-batch warms up."""
    rows = sum(stream["rows"] for stream in status["streams"].values())
    taken = list(status["batch_seconds"])
    began = f"Spark started in {start:.1f} s"
    if len(taken) < 2:
        return f"{rows:,} rows on {shards} shards; {began}."
    warm, share = sum(taken[1:]), rows - _BATCH_ROWS * len(status["streams"])
    return (
        f"{share / warm:,.0f} rows/s once warm, {warm / (len(taken) - 1):.2f} s a micro-batch: {rows:,} rows in "
        f"{len(taken)} of them on {shards} shards. {began}, the first micro-batch took {taken[0]:.1f} s."
    )


def _conclude(console: Console, engine: SparkEngine, start: float, folder: Path) -> None:
    status, shared = engine.status(), engine.sharing()
    dearest = ", ".join(f"{one['operator']} {one['seconds']:.1f} s" for one in status["totals"][:4])
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_row(
        Text("shared", style="bold"),
        f"{len(engine.queries)} queries read each of {shared['streams_read']} streams once; one by one they would read "
        f"them {shared['streams_read_alone']} times. {shared['operators']} operators run instead of "
        f"{shared['operators_alone']}.",
    )
    table.add_row(
        Text("cost", style="bold"),
        f"{cost(status, start, engine.shards)} Most state {format_size(status['most_state_bytes'])}. "
        f"Dearest: {dearest}.",
    )
    table.add_row(
        Text("results", style="bold"),
        f"{folder}: answers/ has the last answer of every query and emitted/ all its changes, as Parquet;\n"
        f"checkpoint/ is what an interrupted run goes on from.",
    )
    table.add_row(
        Text("next", style="bold"),
        "windrow run examples/traffic.cql runs the same file; windrow explain examples/traffic.cql shows the plans.",
    )
    console.print(table)
