"""Windrow's own source for Spark: what queries emitted, by the log of a checkpoint.

Spark asks for offsets in a process of its own beside the driver; the rows are read where the tasks run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from windrow.errors import WindrowError

if TYPE_CHECKING:
    from windrow.runtime.shards.storage.bundles import Address
    from windrow.runtime.shards.storage.checkpoint import Checkpoint

LOG = "windrow_log"


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
