"""The shard servers of an engine on Spark.

Where Spark runs in this process they are this process's, and come up beside Spark. On a cluster every machine has its
own: the first task that comes there starts them.
"""

from __future__ import annotations

import os
import re
import uuid
from pathlib import Path
from typing import Any

from pyspark import SparkContext

from windrow.errors import WindrowError
from windrow.runtime.shards.serving.channel import FileChannel
from windrow.runtime.shards.serving.client import ShardServers
from windrow.runtime.shards.serving.pool import POOL

_ON_A_MACHINE = 4  # of a cluster


class EngineServers:
    """`channel` is there when all of Spark is in this process: a task then finds what is put there."""

    def __init__(self, spark: Any, master: str | None, checkpoint: str, scratch: Path) -> None:
        self._checkpoint = checkpoint
        cores = local_cores(_master(spark, master))
        self._is_open = True
        self.channel: FileChannel | None = None
        if cores is None:
            self.servers = ShardServers(f"windrow-{uuid.uuid4().hex[:12]}", _ON_A_MACHINE)
        else:
            self.servers = POOL.acquire(cores)
            self.channel = FileChannel(scratch / "batch")

    def close(self) -> None:
        """Have what they know of the checkpoint be forgotten, and end them if no engine of this process needs them."""
        if self.channel is None or not self._is_open:
            return
        self._is_open = False
        self.channel.remove()
        self.servers.forget(self._checkpoint)
        POOL.release()


def _master(spark: Any, master: str | None) -> str:
    context = getattr(spark, "sparkContext", None) or SparkContext._active_spark_context
    return str(getattr(context, "master", master or "local[*]"))  # one that is coming up has none yet


def local_cores(master: str) -> int | None:
    """How many tasks run at a time in a Spark that is in this process; None of any other."""
    found = re.fullmatch(r"local(?:\[(\d+|\*)(?:,\d+)?\])?", master.replace(" ", ""))
    if found is None:
        return None
    cores = (os.cpu_count() or 1) if found[1] == "*" else int(found[1] or 1)
    if not cores:
        hint = "write master='local[2]' for two tasks at a time, or 'local[*]' for one on each core"
        raise WindrowError(f"Spark cannot run on {master}: asked to run locally with 0 threads", hint)
    return cores
