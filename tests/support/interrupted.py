"""A run that is killed: the same rows and statements with and without it have to come to the same.

A *script* is a list of statements and micro-batches. `played` carries it out on shards in this process; wherever a file
of the checkpoint or of a sink is written or deleted the engine can be made to die, just before or just after. A new one
is then made on the same checkpoint, and goes on as Spark would have it: with the batch that it had not committed.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from support.shard_runs import ShardsInProcess
from windrow.runtime.shards.feeding.sink_files import SinkFiles
from windrow.runtime.shards.storage.files.folder import Folder
from windrow.runtime.shards.storage.shard_state import STATES
from windrow.runtime.shards.tasks import shard_sinks


@dataclass(frozen=True)
class Say:
    """A statement, or `END stream`."""

    statement: str

    def to(self, engine: Any) -> None:
        if self.statement.startswith("END "):
            engine.end(self.statement.split()[1])
        else:
            engine.sql(self.statement)


@dataclass(frozen=True)
class Rows:
    rows: Mapping[str, list[dict[str, Any]]]


Script = Sequence[Say | Rows]


class Killed(BaseException):
    """Not an error: nothing may catch it."""


class Killer:
    """Raises at chosen places, counted over the life of an engine from file to file."""

    def __init__(self, places: Sequence[int]) -> None:
        self._left = list(places)
        self._met = 0
        self.kills: list[str] = []

    def wrapped(self, function: Callable[..., Any], what: str) -> Callable[..., Any]:
        def killing(*arguments: Any) -> Any:
            self._pass(f"before {what} {_named(arguments)}")
            result = function(*arguments)
            self._pass(f"after {what} {_named(arguments)}")
            return result

        return killing

    def _pass(self, what: str) -> None:
        if not self._left:
            return
        self._met += 1
        if self._met > self._left[0]:
            self._left.pop(0)
            self._met = 0
            self.kills.append(what)
            raise Killed


def _named(arguments: tuple[Any, ...]) -> str:
    return next((word for word in map(str, arguments) if "/" in word and not word.startswith("Folder(")), "")


@contextmanager
def deadly(killer: Killer) -> Iterator[None]:
    kept = Folder.write, Folder.create, Folder.delete, shard_sinks.write_hidden, SinkFiles.publish
    Folder.create = killer.wrapped(Folder.create, "create")  # type: ignore[method-assign]
    Folder.write = killer.wrapped(Folder.write, "write")  # type: ignore[method-assign]
    Folder.delete = killer.wrapped(Folder.delete, "delete")  # type: ignore[method-assign]
    shard_sinks.write_hidden = killer.wrapped(shard_sinks.write_hidden, "sink")  # type: ignore[assignment]
    SinkFiles.publish = killer.wrapped(SinkFiles.publish, "publish")  # type: ignore[method-assign]
    try:
        yield
    finally:
        Folder.write, Folder.create, Folder.delete, shard_sinks.write_hidden, SinkFiles.publish = kept  # type: ignore[method-assign]


@dataclass
class Came:
    """What a run came to: for every query that is there the answer over time and its refreshes, and the files."""

    answers: dict[str, Counter[Any]]
    refreshes: dict[str, Counter[Any]]
    late: dict[str, int]
    files: dict[str, Counter[str]]
    starts: dict[str, int]


def played(script: Script, checkpoint: Path, sinks: Mapping[str, Path], shards: int, killer: Killer) -> Came:
    said = taken = 0
    while True:
        try:
            with deadly(killer):
                engine = ShardsInProcess(shards, tasks=2, checkpoint=str(checkpoint))
                said = engine.driver.statements.last
                taken = engine.next_number
                _go_on(engine, script, said, taken)
                engine.run()
        except Killed:
            STATES.clear()  # the workers die with the driver
            continue
        try:
            return came(engine, sinks)
        finally:
            engine.close()  # its lease beats no more: the folder may go


def _go_on(engine: ShardsInProcess, script: Script, said: int, taken: int) -> None:
    """From where the checkpoint says the script is; statements after a batch that was begun may come before it ends."""
    statements = batches = 0
    last = engine.driver.batches.last
    logged = engine.driver.checkpoint.logged_batch(0 if last is None else last.number + 1) is not None
    waiting: list[Rows] = []
    for one in script:
        if isinstance(one, Say):
            statements += 1
            if statements > said:
                if waiting and not logged:
                    _step(engine, waiting.pop())
                one.to(engine)
        else:
            if waiting:
                _step(engine, waiting.pop())
                logged = False
            batches += 1
            if batches > taken:
                waiting.append(one)
                if not logged:
                    _step(engine, waiting.pop())
    if waiting:
        _step(engine, waiting.pop())


def _step(engine: ShardsInProcess, batch: Rows) -> None:
    for stream, rows in batch.rows.items():
        engine.push(stream, rows)
    engine.step()


def came(engine: Any, sinks: Mapping[str, Path]) -> Came:
    queries = {query.name: query for query in engine.queries}
    return Came(
        {name: over_time(query.changes()) for name, query in queries.items()},
        {n: bag(query.refreshes()) for n, query in queries.items() if query.slide is not None},
        {name: status["late"] for name, status in engine.status()["streams"].items()},
        {name: lines(folder) for name, folder in sinks.items()},
        {one.name: one.start for one in engine._driver.plans.current.queries},
    )


def over_time(changes: pa.Table) -> Counter[Any]:
    """A changelog as what comes and goes when: the same for all changelogs that give the same answers."""
    steps: Counter[Any] = Counter()
    times = changes.column_names.index("_ts")
    for row in zip(*(column.to_pylist() for column in changes.columns), strict=True):
        begin, end, sign = row[times:]
        steps[row[:times], begin] += sign
        if end is not None:
            steps[row[:times], end] -= sign
    return Counter({step: count for step, count in steps.items() if count})


def bag(table: pa.Table) -> Counter[Any]:
    return Counter(zip(*(column.to_pylist() for column in table.columns), strict=True))


def lines(folder: Path) -> Counter[str]:
    """The rows in the files of a JSON sink; a changelog as what comes and goes when."""
    found = [json.loads(line) for part in folder.glob("part-*") for line in part.read_text().splitlines()]
    if not found or "_sign" not in found[0]:
        return Counter(json.dumps(row) for row in found)
    steps: Counter[str] = Counter()
    for row in found:
        begin, end, sign = row.pop("_ts"), row.pop("_exp"), row.pop("_sign")
        steps[json.dumps([row, begin])] += sign
        if end is not None:
            steps[json.dumps([row, end])] -= sign
    return Counter({step: count for step, count in steps.items() if count})
