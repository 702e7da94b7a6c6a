"""An engine on shards, whoever hosts them: it has a driver, and hands everything over to it."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from windrow.runtime.engine import Engine
from windrow.runtime.health import Failing
from windrow.runtime.shards.driver import Driver
from windrow.session import Result


class ShardedEngine(Engine):
    def __init__(self, driver: Driver) -> None:
        super().__init__(driver.session, driver.queries)
        self._driver = driver

    def sql(self, text: str) -> list[Result]:
        """Run statements; queries, streams and table changes take effect with the next micro-batch."""
        return self._driver.sql(text)

    def resume(self, text: str) -> list[Result]:
        """Run the statements of a text, except those that the checkpoint has from an earlier run.

        A name that the checkpoint knows as something else is refused.
        """
        return self._driver.resume(text)

    def end(self, stream: str) -> None:
        """No more rows of a stream will come than those that have been handed over."""
        self._driver.end(stream)

    def lookup(self, cql: str, at: int | None = None) -> pa.Table:
        """The answer of a query at once, from a synopsis that is maintained for others: any window that it covers."""
        return self._driver.answers.lookup(cql, at)

    def late(self, stream: str) -> pa.Table | None:
        """Rows that came too late; the newest are kept."""
        return self._driver.answers.log.side_output("late", self._driver.stream(stream).name)

    def rejected(self, stream: str) -> pa.Table | None:
        """Rows that could not be taken, with the reason; the newest are kept."""
        return self._driver.answers.log.side_output("rejected", self._driver.stream(stream).name)

    def status(self) -> dict[str, Any]:
        """What is running: rows taken, late and rejected of each stream, state, and the last micro-batch."""
        return self._driver.status()

    def health(self) -> list[Failing]:
        """What fails or is set aside, while everything else goes on; `status()["failing"]` is the same."""
        return self._driver.health()

    def sharing(self) -> dict[str, int]:
        """What the queries share: operators and streams, and how many there would be if every query ran alone."""
        return self._driver.sharing()

    @property
    def shards(self) -> int:
        """How many parts the state is in."""
        return self._driver.shards

    @property
    def checkpoint(self) -> str:
        """Where the checkpoint is."""
        return self._driver.checkpoint.place

    @property
    def watermark(self) -> int:
        return self._driver.batches.watermark

    @property
    def last_row(self) -> int:
        return self._driver.batches.progress.last_row

    @property
    def has_ended(self) -> bool:
        """Whether all sources have ended, and the last refreshes have been emitted."""
        return self._driver.batches.has_ended
