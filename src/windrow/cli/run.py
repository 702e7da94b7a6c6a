"""`windrow run FILE.cql`: the answers live in the terminal while it runs, then in full, and a summary."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from rich.box import SIMPLE_HEAD
from rich.columns import Columns
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from windrow.cli.failing import failing_lines
from windrow.cli.questions import questions
from windrow.clock import monotonic
from windrow.connect import connect
from windrow.units import FOREVER, format_size, format_timestamp

if TYPE_CHECKING:
    from windrow.runtime.engine import Engine
    from windrow.runtime.query import Query

_SHOWN_ROWS = 8
_FRAME = 5  # lines of a table that are not rows


def run_local(text: str, console: Console | None) -> None:
    """Run the statements in this process until all sources have ended; without a console the status is printed."""
    with connect(local=True) as engine:
        engine.sql(text)
        _run(engine, text, console)


def run_on_spark(
    text: str, console: Console | None, master: str | None, checkpoint: str | None, rows_a_batch: int
) -> None:
    """The same on Spark; the checkpoint of an earlier run is resumed."""
    with console.status("Starting Spark ...") if console is not None and console.is_terminal else nullcontext():
        engine = connect(master=master, checkpoint=checkpoint, rows_a_batch=rows_a_batch)
    with interrupted_once(), engine:
        engine.resume(text)
        engine.end_streams_without_source()
        _run(engine, text, console)


@contextmanager
def interrupted_once() -> Iterator[None]:
    """Only the first Ctrl-C counts: Spark then stops within seconds, and would print a lot if disturbed at that."""

    def interrupt(*_: object) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is interrupt:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _run(engine: Engine, text: str, console: Console | None) -> None:
    if console is None:
        print_run(engine)
    else:
        show_run(engine, questions(text), console)


def print_run(engine: Engine) -> None:
    """Run, and print the status as a line of JSON now and then, and at the end."""

    def print_status() -> None:
        print(json.dumps(engine.status()), flush=True)

    with suppress(KeyboardInterrupt):
        engine.run(print_status)
    print_status()


def show_run(engine: Engine, asked: Mapping[str, str], console: Console) -> None:
    """Run, and show it as it goes; Ctrl-C ends a run that has no end of its own."""
    interrupted = False
    try:
        if console.is_terminal:
            live(engine, asked, console)
        else:
            engine.run()
    except KeyboardInterrupt:
        interrupted = True
    for query in engine.queries:
        console.print(answer_table(query, asked), soft_wrap=not console.is_terminal)
    status = engine.status()
    console.print(_summary(status))
    for line in failing_lines(status["failing"]):
        console.print(line, soft_wrap=True)
    if interrupted:
        console.print(Text("interrupted; with --checkpoint the same command goes on from here", style="dim"))


def live(engine: Engine, asked: Mapping[str, str], console: Console) -> None:
    """Run with the answers so far on the screen."""
    began, seen = monotonic(), _Rate()
    shown: dict[Any, RenderableType] = {}  # the answers after the last micro-batch: they are read once
    with Live(console=console, auto_refresh=False, transient=True, vertical_overflow="crop") as screen:

        def poll() -> None:
            status = engine.status()
            batch = status.get("batch", monotonic())
            if batch not in shown:
                shown.clear()
                shown[batch] = _answers(engine, asked, console)
            progress = _progress(engine, status, monotonic() - began, seen)
            screen.update(Group(progress, *failing_lines(status["failing"]), shown[batch]), refresh=True)

        engine.run(poll)


def _answers(engine: Engine, asked: Mapping[str, str], console: Console) -> RenderableType:
    """All answers, side by side where there is room, each as far as the screen allows."""
    queries = engine.queries
    beside = max(1, min(len(queries), console.width // 52))
    high = -(-len(queries) // beside)
    rows = max(1, min(_SHOWN_ROWS, (console.height - 3) // max(high, 1) - _FRAME))
    width = console.width // beside - 1
    return Columns([answer_table(query, asked, rows, width) for query in queries], width=width, padding=(0, 1))


class _Rate:
    """Rows a second over the last few polls."""

    def __init__(self) -> None:
        self._samples: list[tuple[float, int]] = []

    def at(self, seconds: float, rows: int) -> float:
        self._samples = [*self._samples[-40:], (seconds, rows)]
        before, had = self._samples[0]
        return (rows - had) / (seconds - before) if seconds > before else 0.0


def _progress(engine: Engine, status: Mapping[str, Any], seconds: float, seen: _Rate) -> Text:
    streams = status["streams"].values()
    rows, late = sum(stream["rows"] for stream in streams), sum(stream["late"] for stream in streams)
    rejected = sum(sum(stream["rejected"].values()) for stream in streams)
    reached = "" if not 0 < engine.watermark < FOREVER else f"  at {format_timestamp(engine.watermark)}"
    unread = sum(stream.get("unread") or 0 for stream in streams)
    behind = f"  {unread:,} to read" if unread else ""
    state = f"{status['state_rows']:,} tuples" if "state_bytes" not in status else format_size(status["state_bytes"])
    return Text(
        f"{seconds:.0f} s  {rows:,} rows  {seen.at(seconds, rows):,.0f} rows/s{reached}{behind}  state {state}"
        f"  late {late:,}  rejected {rejected:,}",
        style="bold cyan",
    )


def answer_table(
    query: Query, asked: Mapping[str, str], rows: int = _SHOWN_ROWS, width: int | None = None
) -> RenderableType:
    """The newest answer that says something: when a source has ended, the last one before everything expired."""
    answer = query.latest_answer()
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, width=width)
    for name in answer.column_names:
        right = pa.types.is_integer(answer.schema.field(name).type) or pa.types.is_floating(
            answer.schema.field(name).type
        )
        table.add_column(name, justify="right" if right else "left", no_wrap=width is not None, overflow="ellipsis")
    for row in answer.slice(0, rows).to_pylist():
        table.add_row(*(_shown(value) for value in row.values()))
    more = answer.num_rows - rows
    title = Text.assemble((query.name, "bold"), (f"  {asked.get(query.name.lower(), '')}", "dim"))
    if width is not None:
        title.truncate(width, overflow="ellipsis")
    below = [Text(f"and {more:,} more {'row' if more == 1 else 'rows'}", style="dim italic")] if more > 0 else []
    return Group(title, table, *below, Text())


def _shown(value: object) -> str:
    if value is None:
        return "NULL"
    return f"{value:,.2f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)


def _summary(status: Mapping[str, Any]) -> Table:
    table = Table(title="streams", title_justify="left", title_style="bold", box=SIMPLE_HEAD)
    for name in ("stream", "rows", "late", "rejected"):
        table.add_column(name)
    for name, stream in status["streams"].items():
        table.add_row(name, f"{stream['rows']:,}", f"{stream['late']:,}", str(stream["rejected"] or 0))
    return table
