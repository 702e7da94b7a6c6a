"""What is not as it should be: one form for sources, sinks, subscribers and queries, whoever runs them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from windrow.errors import WindrowError
from windrow.plan.printer import identifier
from windrow.units import format_timestamp


@dataclass(frozen=True)
class Failing:
    """Something that fails or is set aside while everything else goes on; times are the clock's, in microseconds."""

    what: str  # a source, a sink, a subscriber, a query
    name: str
    since: int
    message: str
    next_try: int | None  # None when it is not tried again by itself
    hint: str


def query_aside(name: str, since: int, message: str) -> Failing:
    """A query above an operator that has raised."""
    hint = f"RESUME QUERY {identifier(name)} takes it up again, with windows that fill from then on"
    return Failing("query", name, since, message, None, hint)


def aside_remarks(aside: Iterable[Failing]) -> dict[str, str]:
    """Why queries are set aside, since when, and what to do: what SHOW QUERIES says."""
    return {one.name.lower(): f"since {format_timestamp(one.since)}: {one.message}; {one.hint}" for one in aside}


def not_aside(name: str, aside: Sequence[str]) -> WindrowError:
    """Why a query cannot be resumed."""
    return WindrowError(f"{name} is not set aside", f"set aside: {', '.join(aside) or 'nothing'}")


def as_mappings(failing: Iterable[Failing]) -> list[dict[str, Any]]:
    """As `engine.status()` has them."""
    return [asdict(one) for one in failing]
