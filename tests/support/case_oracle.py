"""Query test files as the oracle sees them: their text, the rows that are data, and all that they say of answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from support import spark_on_duckdb
from support.case_checks import rows_of, staged
from support.case_files import Case, StreamText, bag_of, moment, row_of
from support.cql_text import closing, spark_text, tokens_of
from support.rows_in_view import Row, stream_order
from support.table_history import TableHistory
from support.text_oracle import World, arrow, instants
from windrow.catalog import StreamEntry
from windrow.types import Type

_PLACE = pa.field("place", pa.int64())
_CLAUSES = ("SLACK", "LIFETIME", "HEARTBEAT", "IDLE", "AHEAD", "PUNCTUATION", "TIMESTAMP", "ARRIVAL")


@dataclass(frozen=True)
class Declared:
    """What the words of CREATE STREAM say of its rows."""

    ties: list[str]
    lifetime: str | None
    punctuations: list[tuple[str, list[str]]]  # the condition as SQL, and the columns that it closes


def declared(text: str) -> Declared:
    ties: list[str] = []
    lifetime, punctuations = None, []
    for clause in _clauses(tokens_of(text)):
        words = [word.upper() for word in clause]
        if words[0] == "TIMESTAMP":
            ties = clause[4::2]
        elif words[0] == "LIFETIME":
            lifetime = clause[2]
        elif words[:2] == ["PUNCTUATION", "WHERE"]:
            end = words.index("BY") if "BY" in words else len(words)
            punctuations.append((spark_text(clause[2:end]), clause[end + 1 :: 2]))
    return Declared(ties, lifetime, punctuations)


def _clauses(words: list[str]) -> Iterator[list[str]]:
    """What follows the columns, clause by clause."""
    columns = closing(words, words.index("("))
    starts = [at for at, word in enumerate(words) if at > columns and word.upper() in _CLAUSES]
    yield from (words[begin:end] for begin, end in zip(starts, [*starts[1:], len(words)], strict=True))


def world_of(case: Case) -> World:
    """All that decides the answers of a case, with the instants at which they may change."""
    stage = staged(case)
    told = {stream.name: declared(stream.declaration) for stream in case.streams}
    streams = {}
    for name, rows in stage.streams.items():
        taken = _taken(case, name, rows, stage.entries[name])
        data = _data(name, taken, stage.setup.schemas[name], told[name])
        streams[name] = stream_order(data, told[name].ties)
    tables = {history.name: history for text in case.declarations for history in [TableHistory(text, case.statements)]}
    lifetimes = {name: of.lifetime for name, of in told.items() if of.lifetime is not None}
    ties = {name: of.ties for name, of in told.items() if of.ties}
    world = World(case.query, streams, stage.setup.schemas, (), tables, lifetimes, ties)
    world.instants = instants(world.query, world, _last_named(case) + 2 * (world.query.slide or 0))
    return world


def _taken(case: Case, name: str, rows: list[Row], entry: StreamEntry) -> list[Row]:
    """The rows but those that the case says are late or rejected."""
    taken = list(rows)
    for kind in ("late", "rejected"):
        lines = [line for block in case.blocks(kind) if block.subject == name for line in block.lines]
        for (row,) in rows_of(StreamText(name, "", False, [[line] for line in lines]), entry):
            taken.remove(row)
    return taken


def _data(name: str, rows: list[Row], schema: Any, of: Declared) -> list[Row]:
    """The rows that are no punctuations."""
    for condition, _ in of.punctuations:
        numbered = arrow([{**row, "place": place} for place, row in enumerate(rows)], schema.append(_PLACE))
        sql = f"SELECT place FROM {name} WHERE {condition}"
        closing = set(spark_on_duckdb.run(sql, {name: numbered}, {})["place"].to_pylist())
        rows = [row for place, row in enumerate(rows) if place not in closing]
    return rows


def _last_named(case: Case) -> int:
    """The last instant that a case says anything of."""
    named = [moment(block.subject) for block in case.blocks("at")]
    for block in (*case.blocks("changes"), *case.blocks("refreshes")):
        named += [moment(line[0]) for line in block.lines]
    return max(named)


def answers_of(case: Case, world: World, types: tuple[Type, ...]) -> Iterator[tuple[int, Counter[Any]]]:
    """Every instant of which a case says the answer: with changes, all at which it could change."""
    for block in case.blocks("at"):
        if block.lines != [["not final"]]:
            yield moment(block.subject), bag_of(block.lines, types)
    for block in case.blocks("changes"):
        for instant in world.instants:
            bag: Counter[Any] = Counter()
            for time, sign, *row in block.lines:
                if moment(time) <= instant:
                    bag[row_of(row, types)] += 1 if sign == "+" else -1
            yield instant, +bag


def refreshes_of(case: Case, types: tuple[Type, ...]) -> Iterator[dict[int, Counter[Any]]]:
    for block in case.blocks("refreshes"):
        found: dict[int, Counter[Any]] = {}
        for time, *row in block.lines:
            found.setdefault(moment(time), Counter())[row_of(row, types)] += 1
        yield found
