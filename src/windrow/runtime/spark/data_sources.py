"""Windrow's own sources for Spark: numbers of generated rows, and a clock that moves when it is told to.

Spark asks for offsets in a process of its own beside the driver; the rows are read where the tasks run.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

NUMBERS = "windrow_numbers"
WAKE = "windrow_wake"
_NEVER_ENDS = 1 << 62


class Numbers(DataSource):
    """Ranges `first-last` of row numbers up to `rows`, at most `batch` a micro-batch."""

    @classmethod
    def name(cls) -> str:
        return NUMBERS

    def schema(self) -> str:
        return "what string"

    def streamReader(self, schema: Any) -> DataSourceStreamReader:
        return NumbersReader(self.options)


class NumbersReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, options: Any) -> None:
        self._rows = int(options.get("rows", _NEVER_ENDS))
        self._batch = int(options["batch"])
        self._partitions = int(options["partitions"])

    def initialOffset(self) -> dict[str, int]:
        return {"row": 0}

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadMaxRows(self._batch)

    def prepareForTriggerAvailableNow(self) -> None:
        """What is there is all there will be: a generator's rows are known from the start."""

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        if isinstance(limit, ReadAllAvailable) and self._rows != _NEVER_ENDS:
            return {"row": self._rows}
        return {"row": min(start["row"] + self._batch, self._rows)}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        first, last = start["row"], end["row"]
        size = -(-(last - first) // self._partitions) or 1
        return [InputPartition(f"{begin}-{min(begin + size, last)}") for begin in range(first, last, size)]

    def read(self, partition: InputPartition) -> Iterator[tuple[str]]:
        yield (partition.value,)


class Wake(DataSource):
    """One empty row whenever the number in the file `path` has grown."""

    @classmethod
    def name(cls) -> str:
        return WAKE

    def schema(self) -> str:
        return "what string"

    def streamReader(self, schema: Any) -> DataSourceStreamReader:
        return WakeReader(self.options)


class WakeReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, options: Any) -> None:
        self._path = Path(options["path"])

    def initialOffset(self) -> dict[str, int]:
        return {"wake": 0}

    def prepareForTriggerAvailableNow(self) -> None:
        """The file may still move: whoever waits for the end stops moving it."""

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        try:
            return {"wake": max(start["wake"], int(self._path.read_text()))}
        except (OSError, ValueError):
            return start

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        return [InputPartition(end["wake"])]

    def read(self, partition: InputPartition) -> Iterator[tuple[str]]:
        yield (str(partition.value),)
