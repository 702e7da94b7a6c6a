"""Windrow's own sources for Spark: numbers of generated rows, a clock that moves when told to, and logs of queries.

Spark asks for offsets in a process of its own beside the driver; the rows are read where the tasks run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from windrow.errors import WindrowError

if TYPE_CHECKING:
    from windrow.runtime.shards.storage.bundles import Address
    from windrow.runtime.shards.storage.checkpoint import Checkpoint

NUMBERS = "windrow_numbers"
WAKE = "windrow_wake"
LOG = "windrow_log"
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
        self._has_end, self._ends_with_next = self._rows != _NEVER_ENDS, False

    def initialOffset(self) -> dict[str, int]:
        return {"row": 0}

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadMaxRows(self._batch)

    def prepareForTriggerAvailableNow(self) -> None:
        """What is there is all there will be: of a generator without end, one micro-batch."""
        self._ends_with_next = not self._has_end

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        if self._ends_with_next:
            self._ends_with_next, self._rows = False, start["row"] + self._batch
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
    """One empty row whenever the text in the file `path` is another."""

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
        self._seen: str | None = None

    def initialOffset(self) -> dict[str, int]:
        return {"wake": 0}

    def prepareForTriggerAvailableNow(self) -> None:
        """The file may still move: whoever waits for the end stops moving it."""

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        try:
            said = self._path.read_text()
        except OSError:
            return start
        if said == self._seen:
            return start
        self._seen = said
        return {"wake": start["wake"] + 1}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        return [InputPartition(end["wake"])]

    def read(self, partition: InputPartition) -> Iterator[tuple[str]]:
        yield (str(partition.value),)


class Log(DataSource):
    """What a query emitted: an offset is the number of a micro-batch, a partition a shard's part of some of them."""

    @classmethod
    def name(cls) -> str:
        return LOG

    def schema(self) -> StructType:
        return StructType.fromJson(json.loads(self.options["schema"]))

    def streamReader(self, schema: Any) -> DataSourceStreamReader:
        return LogReader(self.options)


class LogReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, options: Any) -> None:
        self._place = options["checkpoint"]
        self._name = options["name"]
        self._last: int | None = None

    @cached_property
    def _checkpoint(self) -> Checkpoint:
        from windrow.runtime.shards.storage.checkpoint import Checkpoint

        return Checkpoint(self._place)

    def initialOffset(self) -> dict[str, int]:
        return {"batch": min(self._checkpoint.batches(), default=0) - 1}

    def prepareForTriggerAvailableNow(self) -> None:
        """What is there now is all."""
        self._last = max(self._checkpoint.batches(), default=-1)

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        last = max(self._checkpoint.batches(), default=-1) if self._last is None else self._last
        return {"batch": max(start["batch"], last)}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        from windrow.runtime.shards.storage.bundles import writing_shard

        first, last = start["batch"] + 1, end["batch"]
        if last < first:
            return []
        oldest = min(self._checkpoint.batches(), default=first)
        if oldest > first:
            hint = "read a log before it is thrown away, or start with a new checkpoint of the reader"
            raise WindrowError(f"micro-batches {first} to {oldest - 1} are not in the log any more", hint)
        by_shard: dict[int, list[Address]] = {}
        for record in self._checkpoint.commits(first - 1):
            if record.number <= last:
                for address in record.emitted.get(self._name, ()):
                    by_shard.setdefault(writing_shard(address.bundle), []).append(address)
        return [InputPartition(addresses) for addresses in by_shard.values()]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        from windrow.runtime.shards.storage.bundles import read_contents

        manifest = {str(place): address for place, address in enumerate(partition.value)}
        for content in read_contents(self._checkpoint.folder, manifest).values():
            yield from pa.ipc.open_stream(content)
