"""What Spark calls for every micro-batch, and how it is stopped without a trace on the terminal.

Spark looks for an interruption in the text of what `foreachBatch` raised, by a regular expression that overflows the
Java stack on texts as long as those of PySpark's errors. So what is raised here is short: the error in Windrow's words,
or, once the query has been stopped, the one word that Spark knows.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from windrow.clock import monotonic
from windrow.runtime.spark.own_spark import log_to_read
from windrow.runtime.spark.spark_errors import translated

_IDLE = "Waiting for data to arrive"  # what Spark's query says of itself when all that is there has been read
_PATIENCE = 3.0  # seconds for a micro-batch that is under way; cancelled tasks take their workers with them
_BETWEEN_LOOKS = 0.02


class Interrupted(Exception):
    def __init__(self) -> None:
        super().__init__("py4j.protocol.Py4JJavaError: An error occurred while calling: java.lang.InterruptedException")


def _is_worth_telling(record: logging.LogRecord) -> bool:
    return not (record.exc_info and isinstance(record.exc_info[1], Interrupted))


logging.getLogger("py4j.clientserver").addFilter(_is_worth_telling)  # tells of everything that a call from Java raises


class MicroBatches:
    """Calls a function for each, with its rows and its number.

    `stop` lets the one that is under way end, and stops Spark's query where it does nothing: when no rows are there, or
    with the next micro-batch, which is held here and runs after the next start.
    """

    def __init__(self, function: Callable[[DataFrame, int], None]) -> None:
        self._function = function
        self._query: StreamingQuery | None = None
        self._is_stopping = self._is_held = False

    def of(self, query: StreamingQuery) -> StreamingQuery:
        self._query = query
        return query

    @property
    def is_active(self) -> bool:
        return not self._has_been_stopped()

    def __call__(self, packed: DataFrame, number: int) -> None:
        if self._is_stopping:
            self.hold()
        try:
            self._function(packed, number)
        except Exception as error:
            if self._has_been_stopped():
                raise Interrupted from None
            raise translated(error, log_to_read()) from None

    def stop(self) -> None:
        if self._query is None:
            return
        self._is_stopping = True
        until = monotonic() + _PATIENCE
        while not self._is_held and self._is_at_work(self._query) and monotonic() < until:
            time.sleep(_BETWEEN_LOOKS)
        with suppress(Py4JError, OSError):  # Spark itself may be gone
            self._query.stop()

    def hold(self) -> NoReturn:
        """Wait for the end of the query, in a micro-batch that is not to be run now."""
        self._is_held = True
        while not self._has_been_stopped():
            time.sleep(_BETWEEN_LOOKS)
        raise Interrupted

    def _is_at_work(self, query: StreamingQuery) -> bool:
        return not self._has_been_stopped() and query.status["message"] != _IDLE

    def _has_been_stopped(self) -> bool:
        try:
            return self._query is not None and not self._query.isActive
        except Exception:  # Spark itself is gone
            return True
