"""What fails while a run goes on, one line each: for the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rich.text import Text

from windrow.units import format_timestamp


def failing_lines(failing: Iterable[Mapping[str, Any]]) -> list[Text]:
    """`status()["failing"]` as lines: what, since when, why, and what happens next."""
    return [Text(_line(one), style="yellow", overflow="ellipsis", no_wrap=True) for one in failing]


def _line(one: Mapping[str, Any]) -> str:
    again = "" if one["next_try"] is None else f"; again at {_clock(one['next_try'])}"
    of = "" if one["what"] in ("query", "stream") else "of "
    return f"{one['what']} {of}{one['name']}, since {_clock(one['since'])}: {one['message']}{again}; {one['hint']}"


def _clock(time: int) -> str:
    return format_timestamp(time)[:19]
