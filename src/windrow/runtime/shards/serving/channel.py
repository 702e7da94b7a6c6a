"""A micro-batch as it travels to the servers of its shards: whoever carries it need not understand it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple, Protocol


class SentBatch(NamedTuple):
    spec: bytes  # without its plan
    plan_key: str  # servers know the plans that they have had by their keys
    slots: tuple[int, ...]  # by shard
    stages: int
    tasks: int  # that read


class Channel(Protocol):
    """How a task comes to the batch that it is to deliver."""

    def batch(self) -> SentBatch: ...

    def plan(self, key: str) -> bytes:
        """For a server that has not had it."""


class InlineChannel(NamedTuple):
    """As part of the function of the task."""

    content: SentBatch
    plan_content: bytes

    def batch(self) -> SentBatch:
        return self.content

    def plan(self, key: str) -> bytes:
        return self.plan_content


class FileChannel(NamedTuple):
    """Files of this machine in which the next batch lies: the function of the task that takes it stays the same.

    Whoever takes a batch later than it should finds a newer one: it then does what is done anyway, for a job that is
    over.
    """

    file: Path

    def put(self, batch: SentBatch, plan: bytes) -> None:
        """A plan is written once."""
        if not self._plan_of(batch.plan_key).exists():
            self.remove()
            _write(self._plan_of(batch.plan_key), plan)
        head = json.dumps([batch.plan_key, batch.slots, batch.stages, batch.tasks]).encode()
        _write(self.file, head + b"\n" + batch.spec)

    def batch(self) -> SentBatch:
        with self.file.open("rb") as file:
            plan_key, slots, stages, tasks = json.loads(file.readline())
            return SentBatch(file.read(), plan_key, tuple(slots), stages, tasks)

    def plan(self, key: str) -> bytes:
        return self._plan_of(key).read_bytes()

    def remove(self) -> None:
        for file in self.file.parent.glob(f"{self.file.name}*"):
            file.unlink(missing_ok=True)

    def _plan_of(self, key: str) -> Path:
        return self.file.with_name(f"{self.file.name}.{key}")


def _write(path: Path, content: bytes) -> None:
    hidden = path.with_name(f"{path.name}.hidden")
    hidden.write_bytes(content)
    hidden.replace(path)
