"""A folder for as long as an engine lives."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from windrow.clock import monotonic

_PATIENCE = 5.0  # seconds; Spark gives a cancelled task two before it kills the worker (spark.python.task.killTimeout)
_BETWEEN_TRIES = 0.2


class Scratch:
    """It goes when the engine closes, also if tasks that Spark has cancelled write there a moment longer."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="windrow-", ignore_cleanup_errors=True)
        self.path = Path(self._folder.name)

    def remove(self) -> None:
        until = monotonic() + _PATIENCE
        self._folder.cleanup()
        while self.path.exists() and monotonic() < until:
            time.sleep(_BETWEEN_TRIES)
            self._folder.cleanup()
