"""`windrow run FILE.cql`: the answers live in the terminal while it runs, then in full, and a summary."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
from rich.box import SIMPLE_HEAD
from rich.columns import Columns
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from windrow.catalog import StreamEntry
from windrow.cli.failing import failing_lines
from windrow.cli.interrupts import INTERRUPTED, INTERRUPTS
from windrow.cli.questions import questions
from windrow.cli.statement_file import ASKING, StatementFile
from windrow.clock import monotonic
from windrow.connect import connect
from windrow.cql import Ask
from windrow.errors import WindrowError
from windrow.units import FOREVER, format_size, format_timestamp

if TYPE_CHECKING:
    from windrow.runtime.engine import Engine
    from windrow.runtime.health import Failing
    from windrow.runtime.query import Query
    from windrow.runtime.spark import SparkEngine
    from windrow.session import Result

_SHOWN_ROWS = 8
_FRAME = 5  # lines of a table that are not rows


class RunOptions(NamedTuple):
    """What a user may choose about a run."""

    console: Console | None  # without one the status is printed
    follow: bool = False
    master: str | None = None
    checkpoint: str | None = None
    rows_a_batch: int | None = None


def run_local(file: StatementFile, options: RunOptions) -> int:
    """Run the statements in this process until all that is there has been read; the exit code."""
    _warn(file.check(is_resumed=False))
    with connect(local=True) as engine, INTERRUPTS.running(), file.named():
        results = list(engine.execute(file.text))
        return _run_and_answer(engine, file, results, options, _LOCAL)


def run_on_spark(file: StatementFile, options: RunOptions) -> int:
    """The same on Spark; the checkpoint of an earlier run is resumed."""
    _warn(file.check(is_resumed=options.checkpoint is not None and _may_exist(options.checkpoint)))
    with _on_spark(options) as engine, INTERRUPTS.running(), file.named():
        results = engine.resume(file.text)
        if not engine.queries and not any(isinstance(result.statement, ASKING) for result in results):
            raise WindrowError(f"there is no query in {file.what}, nor in the checkpoint", "write CREATE QUERY name AS")
        engine.end_streams_without_source()
        return _run_and_answer(engine, file, results, options, _SCRATCH if options.checkpoint is None else _KEPT)


def retry_on_spark(checkpoint: str, stream: str | None, options: RunOptions) -> int:
    """Go on with a run, with files and rows that were rejected taken again: of one stream, or of all."""
    if not _may_exist(checkpoint):
        raise WindrowError(f"there is no checkpoint in {checkpoint}", "name the folder that a run was given")
    with _on_spark(options) as engine, INTERRUPTS.running():
        streams = (
            [stream] if stream is not None else [each.name for each in engine.session.catalog.entries(StreamEntry)]
        )
        files = [file for name in streams for file in engine.retry(name)]
        if not files:
            _warn([f"nothing{'' if stream is None else f' of {stream}'} has been rejected: there is nothing to retry"])
            return 0
        if options.console is not None:
            options.console.print(f"reading again: {', '.join(files)}", highlight=False, markup=False, soft_wrap=True)
        return _run(engine, {}, options, _KEPT)


def resume_on_spark(checkpoint: str, query: str, options: RunOptions) -> int:
    """Go on with a run, with a query that was set aside taken up again."""
    if not _may_exist(checkpoint):
        raise WindrowError(f"there is no checkpoint in {checkpoint}", "name the folder that a run was given")
    with _on_spark(options) as engine, INTERRUPTS.running():
        engine.resume_query(query)
        return _run(engine, {}, options, _KEPT)


def _on_spark(options: RunOptions) -> SparkEngine:
    console = options.console
    with console.status("Starting Spark ...") if console is not None and console.is_terminal else nullcontext():
        return connect(master=options.master, checkpoint=options.checkpoint, rows_a_batch=options.rows_a_batch)


class _NextTime(NamedTuple):
    """How to go on after a run that was interrupted, and with a sink that has not had everything."""

    run: str
    sink: str


_LOST = "what it has not had is gone; with --checkpoint FOLDER it would be kept"
_LOCAL = _NextTime("nothing of a run with --local is kept: it starts anew", _LOST)
_SCRATCH = _NextTime("nothing is kept; with --checkpoint FOLDER the same command would go on from here", _LOST)
_KEPT = _NextTime(
    "the same command goes on from here", "what it has not had is kept: the same command gives it when the sink works"
)
UNFINISHED = 3  # the exit code of a run that came to its end, but not for all of its sinks or queries


def _may_exist(checkpoint: str) -> bool:
    return "://" in checkpoint or Path(checkpoint).exists()


def _warn(told: Sequence[str]) -> None:
    for line in told:
        Console(stderr=True, highlight=False).print(f"warning: {line}", style="yellow", markup=False, soft_wrap=True)


def _run_and_answer(
    engine: Engine, file: StatementFile, results: Sequence[Result], options: RunOptions, next_time: _NextTime
) -> int:
    """Print what statements gave, run, then answer what was asked: the exit code."""
    for result in results:
        if isinstance(result.statement, ASKING) and not isinstance(result.statement, Ask):
            _print_result(result, options.console)
    code = _run(engine, questions(file.text), options, next_time) if engine.queries else 0
    for result in results:
        if isinstance(result.statement, Ask):
            _print_result(engine.answered(result), options.console)
    return code


def _print_result(result: Result, console: Console | None) -> None:
    if console is not None:
        console.print(str(result), highlight=False, markup=False, soft_wrap=True)
    elif result.answer is not None:
        print(json.dumps({"rows": result.answer.to_pylist()}, default=str), flush=True)
    elif result.columns:
        print(json.dumps({"columns": result.columns, "rows": result.rows}), flush=True)
    else:
        print(json.dumps({"message": result.message}), flush=True)


def _run(engine: Engine, asked: Mapping[str, str], options: RunOptions, next_time: _NextTime) -> int:
    """Until the sources have ended or somebody interrupts; the exit code."""
    if options.console is None:
        is_interrupted, where = print_run(engine, options.follow), Console(stderr=True)
    else:
        is_interrupted, where = show_run(engine, asked, options.console, options.follow), options.console
    if is_interrupted:
        where.print(Text(f"interrupted; {next_time.run}", style="dim"), soft_wrap=True)
    unfinished = list(_unfinished(engine.health(), next_time))
    for line in unfinished:
        Console(stderr=True, highlight=False).print(line, style="red", markup=False, soft_wrap=True)
    return INTERRUPTED if is_interrupted else UNFINISHED if unfinished else 0


def _unfinished(failing: Iterable[Failing], next_time: _NextTime) -> Iterator[str]:
    """Which sinks have not had everything, which queries are set aside, since when, why, and how to go on."""
    for one in failing:
        since = f"since {format_timestamp(one.since)[:19]}: {one.message}"
        if one.what.endswith("sink"):
            yield f"{one.what} of {one.name} fails {since}; {next_time.sink}"
        elif one.what == "query":
            yield f"query {one.name} is set aside {since}; {one.hint}"


def print_run(engine: Engine, follow: bool) -> bool:
    """Run, and print the status as a line of JSON whenever something has happened; whether it was interrupted."""
    printed: list[dict[str, Any]] = []

    def print_status() -> None:
        status = engine.status()
        if printed != [status]:
            printed[:] = [status]
            print(json.dumps(status), flush=True)

    is_interrupted = _is_interrupted(engine, print_status, follow)
    print_status()
    return is_interrupted


def show_run(engine: Engine, asked: Mapping[str, str], console: Console, follow: bool = False) -> bool:
    """Run, and show it as it goes; Ctrl-C ends a run that has no end of its own. Whether it did."""
    if console.is_terminal:
        is_interrupted = live(engine, asked, console, follow)
    else:
        is_interrupted = _is_interrupted(engine, lambda: None, follow)
    for query in engine.queries:
        console.print(answer_table(query, asked), soft_wrap=not console.is_terminal)
    status = engine.status()
    console.print(_summary(status))
    for line in (*failing_lines(status["failing"]), *warning_lines(status["warnings"])):
        console.print(line, soft_wrap=True)
    return is_interrupted


def _is_interrupted(engine: Engine, poll: Callable[[], object], follow: bool) -> bool:
    def check_and_poll() -> None:
        INTERRUPTS.check()
        poll()

    try:
        engine.run(check_and_poll, follow)
    except KeyboardInterrupt:
        return True
    return False


def live(engine: Engine, asked: Mapping[str, str], console: Console, follow: bool) -> bool:
    """Run with the answers so far on the screen; whether it was interrupted."""
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
            screen.update(Group(progress, *_remarks(status), shown[batch]), refresh=True)

        poll()
        return _is_interrupted(engine, poll, follow)


def _remarks(status: Mapping[str, Any]) -> list[Text]:
    """What fails, what is hardly as it was meant, and what is waited for."""
    waiting = [Text(line, style="dim") for line in waiting_lines(status["streams"])]
    return [*failing_lines(status["failing"]), *warning_lines(status["warnings"]), *waiting]


def warning_lines(warnings: Iterable[Mapping[str, Any]]) -> list[Text]:
    """`status()["warnings"]` as lines."""
    return [
        Text(f"warning: {one['stream']}: {one['what']} ({one['count']:,} rows, since {one['since']})", style="yellow")
        for one in warnings
    ]


def waiting_lines(streams: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Why nothing may be seen to move: no row has come yet, at all or of some streams."""
    silent = [name for name, stream in streams.items() if not stream["rows"] and stream["watermark"] is None]
    if len(silent) == len(streams):
        return ["no row has come yet; loops that have not run here before are being compiled"]
    return [f"{name} has had no row yet: queries that read it wait for it" for name in silent]


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
