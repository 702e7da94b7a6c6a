"""What is not as it should be: one form for sources, sinks, subscribers and queries, whoever runs them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Failing:
    """Something that fails or is set aside while everything else goes on; times are the clock's, in microseconds."""

    what: str  # a source, a sink, a subscriber, a query
    name: str
    since: int
    message: str
    next_try: int | None  # None when it is not tried again by itself
    hint: str


def as_mappings(failing: Iterable[Failing]) -> list[dict[str, Any]]:
    """As `engine.status()` has them."""
    return [asdict(one) for one in failing]
