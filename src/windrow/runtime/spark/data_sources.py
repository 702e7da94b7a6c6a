"""Windrow's own source for Spark: what queries emitted, by the log of a checkpoint.

Spark asks for offsets in a process of its own beside the driver; the rows are read where the tasks run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from windrow.errors import CheckpointError, WindrowError

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
        self._query, self._mode = options["query"].lower(), options["mode"]
        self._created = int(options["created"])
        self._last: int | None = None

    @cached_property
    def _checkpoint(self) -> Checkpoint:
        from windrow.runtime.shards.storage.checkpoint import Checkpoint
        from windrow.runtime.shards.storage.own_functions import UnreadAggregates

        checkpoint = Checkpoint(self._place)
        checkpoint.aggregates = UnreadAggregates()
        return checkpoint

    def initialOffset(self) -> dict[str, int]:
        return {"batch": min(self._batches(), default=0) - 1}

    def prepareForTriggerAvailableNow(self) -> None:
        """What is there now is all."""
        self._last = max(self._batches(), default=-1)

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        last = max(self._batches(), default=-1) if self._last is None else self._last
        return {"batch": max(start["batch"], last)}

    def _batches(self) -> Sequence[int]:
        found = self._checkpoint.batches()
        if not found:
            self._check_that_it_is_there()
        return found

    def _check_that_it_is_there(self) -> None:
        """Without a checkpoint of its own an engine takes what it has emitted with it."""
        if not self._checkpoint.folder.exists("format"):
            hint = "stop readers of dataframe() before, or keep what queries emit: windrow.connect(checkpoint='folder')"
            raise WindrowError("the engine was closed, and what its queries have emitted is gone with it", hint)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except (CheckpointError, OSError):
            self._check_that_it_is_there()
            raise

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        from windrow.runtime.shards.storage.bundles import writing_shard

        first, last = start["batch"] + 1, end["batch"]
        if last < first:
            return []
        oldest = min(self._batches(), default=first)
        if oldest > first:
            hint = "read a log before it is thrown away, or start with a new checkpoint of the reader"
            raise WindrowError(f"micro-batches {first} to {oldest - 1} are not in the log any more", hint)
        by_shard: dict[int, list[Address]] = {}
        with self._reading():
            names = self._names()
            for record in self._checkpoint.commits(first - 1):
                if record.number <= last:
                    for address in (address for name in names for address in record.emitted.get(name, ())):
                        by_shard.setdefault(writing_shard(address.bundle), []).append(address)
        return [InputPartition(addresses) for addresses in by_shard.values()]

    def _names(self) -> list[str]:
        """Under which commits have what the query emitted: each time that it was resumed it got another one."""
        from windrow.runtime.modes import Mode
        from windrow.runtime.shards.feeding.emitted_log import statements_of
        from windrow.runtime.shards.running_plan import emitted_name, query_key

        numbers = statements_of(self._checkpoint, self._query, self._created)
        return [emitted_name(query_key(self._query, number), Mode(self._mode)) for number in numbers]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        from windrow.runtime.shards.storage.bundles import read_contents

        manifest = {str(place): address for place, address in enumerate(partition.value)}
        with self._reading():
            contents = read_contents(self._checkpoint.folder, manifest)
        for content in contents.values():
            yield from pa.ipc.open_stream(content)
