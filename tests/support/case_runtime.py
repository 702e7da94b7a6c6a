"""Where a query test file runs. A runtime takes the same setup and gives the same outcome, whatever it runs on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa

from support.local_runs import table_of
from support.normal_rows import normal_row
from support.rows_in_view import Row
from support.shard_runs import ShardsInProcess, files_naming_modules
from windrow.runtime.local import LocalEngine
from windrow.types import Type

Changes = list[tuple[tuple[Any, ...], int, int | None, int]]  # a row, its begin and end, its sign


@dataclass(frozen=True)
class Setup:
    """All that decides an answer: statements, and the rows of every batch in order of arrival."""

    declarations: Sequence[str]
    query: str
    statements: Sequence[str]
    schemas: Mapping[str, pa.Schema]
    batches: Sequence[Mapping[str, list[Row]]]
    ending: Sequence[str]  # streams that end with the last batch
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Outcome:
    """What came out: the changelog, the refreshes, the rows that were late, and up to when answers are final."""

    types: tuple[Type, ...]
    changes: Changes
    refreshes: list[tuple[int, tuple[Any, ...]]]
    late: dict[str, list[tuple[Any, ...]]]
    watermark: int
    rejected: dict[str, list[tuple[Any, ...]]] | None = None  # None: the runtime does not tell

    def answer(self, instant: int) -> Counter[Any]:
        """The bag that the changelog stands for at an instant, by the definition."""
        bag: Counter[Any] = Counter()
        for row, begin, end, sign in self.changes:
            if begin <= instant and (end is None or instant < end):
                bag[row] += sign
        assert all(count >= 0 for count in bag.values()), "more taken back than given"
        return +bag

    def steps(self) -> Iterator[tuple[int, str, Counter[Any]]]:
        """Every instant at which the answer is another one: what comes and what goes."""
        edges = {edge for _, begin, end, _ in self.changes for edge in (begin, end) if edge is not None}
        before: Counter[Any] = Counter()
        for edge in sorted(edges):
            now = self.answer(edge)
            if now - before:
                yield edge, "+", now - before
            if before - now:
                yield edge, "-", before - now
            before = now


class Runtime(Protocol):
    name: str

    def run(self, setup: Setup) -> Outcome: ...


class LocalRuntime:
    """In process, by `windrow.runtime.local`."""

    name = "local"

    def run(self, setup: Setup) -> Outcome:
        engine = LocalEngine()
        engine.sql(";\n".join([*setup.declarations, *(f"SET {k} = {v}" for k, v in setup.settings.items())]))
        query = engine.query(setup.query)
        told: list[pa.Table] = []
        query.subscribe(told.append)
        for statement in setup.statements:
            engine.sql(statement)
        *but_last, last = setup.batches
        for batch in but_last:
            push_batch(engine, batch, setup)
            engine.step()
        push_batch(engine, last, setup)
        for name in setup.ending:
            engine.end(name)
        engine.step()
        return outcome_of(engine, query, setup, told if query.slide is not None else [])


class OnShards:
    """On shards: the same tasks and messages as on Spark, in this process."""

    name = "shards"

    def __init__(self, shards: int, forgetful: bool) -> None:
        self._shards, self._forgetful = shards, forgetful

    def engine(self) -> ShardsInProcess:
        return ShardsInProcess(self._shards, self._forgetful)

    def run(self, setup: Setup) -> Outcome:
        engine = self.engine()
        try:
            engine.sql(";\n".join([*setup.declarations, *(f"SET {k} = {v}" for k, v in setup.settings.items())]))
            query = engine.query(setup.query)
            for statement in setup.statements:
                engine.sql(statement)
            for batch in setup.batches:
                push_batch(engine, batch, setup)
                engine.step()
            for name in setup.ending:
                engine.end(name)
            engine.run()
            assert not files_naming_modules(engine.place)
            refreshes = [query.refreshes()] if query.slide is not None else []
            return outcome_of(engine, query, setup, refreshes)
        finally:
            engine.close()


def push_batch(engine: Any, batch: Mapping[str, list[Row]], setup: Setup) -> None:
    for name, rows in batch.items():
        engine.push(name, table_of(rows, setup.schemas[name]))


def outcome_of(engine: Any, query: Any, setup: Setup, refreshes: Sequence[pa.Table]) -> Outcome:
    """What an engine of any kind has come to."""
    return Outcome(
        query.plan.schema.types,
        _changes(query.changes()),
        [found for table in refreshes for found in _refresh(table)],
        {name: _rows(engine.late(name), setup.schemas[name].names) for name in setup.schemas},
        query.watermark,
        {name: _rows(engine.rejected(name), setup.schemas[name].names) for name in setup.schemas},
    )


def _changes(table: pa.Table) -> Changes:
    begins, ends = table["_ts"].cast(pa.int64()).to_pylist(), table["_exp"].cast(pa.int64()).to_pylist()
    rows = _rows(table, table.column_names[:-3])
    return list(zip(rows, begins, ends, table["_sign"].to_pylist(), strict=True))


def _refresh(table: pa.Table) -> Iterator[tuple[int, tuple[Any, ...]]]:
    ends = table["_window_end"].cast(pa.int64()).to_pylist()
    return zip(ends, _rows(table, table.column_names[:-1]), strict=True)


def _rows(table: pa.Table | None, names: Sequence[str]) -> list[tuple[Any, ...]]:
    if table is None:
        return []
    columns = [table[name].to_pylist() for name in names]
    return [normal_row(row) for row in zip(*columns, strict=True)] if columns else [()] * table.num_rows
