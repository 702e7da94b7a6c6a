"""`windrow run FILE.cql --local`: the answers live in the terminal, then a summary."""

from __future__ import annotations

import time
from collections.abc import Iterator

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from windrow.runtime.local import Engine, Query
from windrow.units import FOREVER, format_timestamp

_SHOWN_ROWS = 8
_BETWEEN_DRAWINGS = 0.25  # seconds


def run_local(text: str, console: Console) -> None:
    """Carry out the statements and run until all sources have ended."""
    engine = Engine()
    try:
        engine.sql(text)
        if console.is_terminal:
            _live(engine, console)
        else:
            engine.run()
            for query in engine.queries:
                console.print(_answer_table(query), soft_wrap=True)
        console.print(_summary(engine))
    finally:
        engine.close()


def _live(engine: Engine, console: Console) -> None:
    with Live(console=console, auto_refresh=False, transient=True) as live:
        for progress in _steps(engine):
            live.update(Group(progress, *(_answer_table(query) for query in engine.queries)), refresh=True)
    for query in engine.queries:
        console.print(_answer_table(query))


def _steps(engine: Engine) -> Iterator[Text]:
    """A progress line every now and then, until the sources have ended."""
    began = drawn = time.monotonic()
    while engine.step():
        now = time.monotonic()
        if now - drawn >= _BETWEEN_DRAWINGS:
            drawn = now
            yield _progress(engine, now - began)


def _progress(engine: Engine, seconds: float) -> Text:
    status = engine.status()
    rows = sum(stream["rows"] for stream in status["streams"].values())
    late = sum(stream["late"] for stream in status["streams"].values())
    rejected = sum(sum(stream["rejected"].values()) for stream in status["streams"].values())
    reached = "" if engine.watermark >= FOREVER else f"  at {format_timestamp(max(engine.watermark, 0))}"
    return Text(
        f"{rows:,} rows  {rows / max(seconds, 1e-9):,.0f} rows/s{reached}  state {status['state_rows']:,} tuples"
        f"  late {late:,}  rejected {rejected:,}",
        style="dim",
    )


def _answer_table(query: Query) -> Table:
    """The newest answer that says something: when a source has ended, the last one before everything expired."""
    answer = query.latest_answer()
    table = Table(title=query.name, title_justify="left", title_style="bold")
    for name in answer.column_names:
        table.add_column(name)
    for row in answer.slice(0, _SHOWN_ROWS).to_pylist():
        table.add_row(*(_shown(value) for value in row.values()))
    if answer.num_rows > _SHOWN_ROWS:
        table.caption = f"and {answer.num_rows - _SHOWN_ROWS:,} more rows"
        table.caption_justify = "left"
    return table


def _shown(value: object) -> str:
    if value is None:
        return "NULL"
    return f"{value:,.2f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)


def _summary(engine: Engine) -> Table:
    table = Table(title="streams", title_justify="left", title_style="bold")
    for name in ("stream", "rows", "late", "rejected"):
        table.add_column(name)
    for name, stream in engine.status()["streams"].items():
        table.add_row(name, f"{stream['rows']:,}", f"{stream['late']:,}", str(stream["rejected"] or 0))
    return table
