"""Waiting for something to happen: as long as a very busy machine may take, and no longer than it takes."""

from __future__ import annotations

import time
from collections.abc import Callable

LIMIT = 900.0  # seconds: who waits for so long waits for ever


def until(condition: Callable[[], object], what: str) -> None:
    """Until a condition holds; `what` is said when it does not come to that."""
    limit = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < limit, f"{what} did not happen"
        time.sleep(0.05)
