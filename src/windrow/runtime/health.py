"""What is not as it should be: one form for sources, sinks, subscribers and queries, whoever runs them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from windrow.errors import WindrowError


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
    hint = f"engine.resume_query({name!r}) takes it up again, with windows that fill from then on"
    return Failing("query", name, since, message, None, hint)


def not_aside(name: str, aside: Sequence[str]) -> WindrowError:
    """Why a query cannot be resumed."""
    return WindrowError(f"{name} is not set aside", f"set aside: {', '.join(aside) or 'nothing'}")


def as_mappings(failing: Iterable[Failing]) -> list[dict[str, Any]]:
    """As `engine.status()` has them."""
    return [asdict(one) for one in failing]
