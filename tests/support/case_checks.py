"""Query test files as every runtime is held to them: staged, run in every way, compared with what the file expects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pytest

from support.case_files import START, Case, StreamText, all_cases, bag_of, moment, row_of, text_of, value_of
from support.case_runtime import Outcome, Runtime, Setup
from support.rows_in_view import Row
from windrow.batch import arrow_type
from windrow.catalog import StreamEntry
from windrow.errors import WindrowError
from windrow.session import Session
from windrow.types import INTERVAL, TIMESTAMP, Type

STRATEGIES = ("upa", "direct", "nt")
OPTIMIZER = ("on", "off")

# Cases that no runtime gives yet, by file. A case that begins to hold turns red, so that it is taken out of here.
AWAITED: dict[str, str] = {}

CASES = all_cases()


@dataclass(frozen=True)
class Staged:
    """A case with its values read: rows carry their time as microseconds under ts."""

    setup: Setup
    entries: dict[str, StreamEntry]
    streams: dict[str, list[Row]]


def staged(case: Case) -> Staged:
    declarations = [*(stream.declaration for stream in case.streams), *case.declarations]
    session = Session()
    session.execute(";\n".join(declarations))
    entries = {entry.name: entry for entry in session.catalog.entries(StreamEntry)}
    batches = {stream.name: rows_of(stream, entries[stream.name]) for stream in case.streams}
    schemas = {
        name: pa.schema([(column.name, arrow_type(column.type)) for column in entry.columns])
        for name, entry in entries.items()
    }
    ending = [stream.name for stream in case.streams if not stream.is_open]
    length = max((len(of) for of in batches.values()), default=0)
    as_written = [{name: of[n] for name, of in batches.items() if n < len(of) and of[n]} for n in range(length)]
    setup = Setup(declarations, case.query, case.statements, schemas, as_written, ending)
    return Staged(setup, entries, {name: [row for batch in of for row in batch] for name, of in batches.items()})


def rows_of(stream: StreamText, entry: StreamEntry) -> list[list[Row]]:
    columns = entry.columns[1:]

    def row(line: list[str]) -> Row:
        assert len(line) == len(columns) + 1, f"{stream.name}: {line}"
        values = (_stored(word, column.type) for word, column in zip(line[1:], columns, strict=True))
        return {"ts": moment(line[0]), **dict(zip((column.name for column in columns), values, strict=True))}

    return [[row(line) for line in batch] for batch in stream.batches]


def _stored(word: str, of: Type) -> Any:
    """Times and intervals as microseconds, as tables are made from."""
    if word != "null" and of in (TIMESTAMP, INTERVAL):
        return moment(word) - (START if of == INTERVAL else 0)
    return value_of(word, of)


def one_at_a_time(streams: dict[str, list[Row]]) -> list[dict[str, list[Row]]]:
    """All rows in the order in which their streams reach their times; the streams end after the last one."""
    arrivals: list[tuple[int, str, Row]] = []
    for name, rows in streams.items():
        newest = 0
        for row in rows:
            newest = max(newest, row["ts"])
            arrivals.append((newest, name, row))
    arrivals.sort(key=lambda arrival: arrival[0])
    return [*({name: [row]} for _, name, row in arrivals), {}]


def ways(case: Case, setup: Setup, streams: dict[str, list[Row]]) -> Iterator[tuple[str, Setup]]:
    """Every way to run a case."""
    cuts = {"as written" if case.is_batched else "in one batch": setup.batches}
    if not case.is_batched:
        cuts["one row at a time"] = one_at_a_time(streams)
    for cut, batches in cuts.items():
        for strategy in STRATEGIES:
            for optimizer in OPTIMIZER:
                way = f"{cut}, strategy {strategy}, optimizer {optimizer}"
                yield way, replace(setup, batches=batches, settings={"strategy": strategy, "optimizer": optimizer})


def check(case: Case, setup: Setup, runtime: Runtime, way: str) -> None:
    error = next(case.blocks("error"), None)
    if error is not None:
        with pytest.raises(WindrowError) as caught:
            runtime.run(setup)
        expected = " ".join(line[0] for line in error.lines)
        assert f"{caught.value.message} {caught.value.hint}" == expected
        return
    outcome = runtime.run(setup)
    check_answers(case, outcome, way)
    check_changes(case, outcome, way)
    check_refreshes(case, outcome, way)
    check_aside(case, "late", outcome.late, way)
    if outcome.rejected is not None:
        check_aside(case, "rejected", outcome.rejected, way)


def check_aside(case: Case, kind: str, aside: dict[str, list[tuple[Any, ...]]], way: str) -> None:
    """Rows that were not taken: those that the case names, and no others."""
    for block in case.blocks(kind):
        types = tuple(of for of in _stream_types(case, block.subject))
        assert Counter(aside[block.subject]) == bag_of(block.lines, types), f"{kind} rows: {way}"
    named = {block.subject for block in case.blocks(kind)}
    assert not any(rows for name, rows in aside.items() if name not in named), f"{kind} rows: {way}"


def _stream_types(case: Case, stream: str) -> list[Type]:
    return [column.type for column in staged(case).entries[stream].columns]


def check_answers(case: Case, outcome: Outcome, way: str) -> None:
    for block in case.blocks("at"):
        instant = moment(block.subject)
        if block.lines == [["not final"]]:
            assert instant >= outcome.watermark, f"final at {block.subject}: {way}"
            continue
        assert instant < outcome.watermark, f"not final at {block.subject}: {way}"
        found = outcome.answer(instant)
        assert found == bag_of(block.lines, outcome.types), f"at {block.subject}:{text_of(found)}\n{way}"


def check_changes(case: Case, outcome: Outcome, way: str) -> None:
    for block in case.blocks("changes"):
        expected: dict[tuple[int, str], Counter[Any]] = {}
        for time, sign, *row in block.lines:
            expected.setdefault((moment(time), sign), Counter())[row_of(row, outcome.types)] += 1
        found = {(time, sign): rows for time, sign, rows in outcome.steps()}
        shown = "\n".join(f"{(time - START) / 1e6:.15g} {sign}{text_of(rows)}" for (time, sign), rows in found.items())
        assert found == expected, f"changes:\n{shown}\n{way}"


def check_refreshes(case: Case, outcome: Outcome, way: str) -> None:
    for block in case.blocks("refreshes"):
        expected = Counter((moment(time), row_of(row, outcome.types)) for time, *row in block.lines)
        shown = "".join(f"\n{(end - START) / 1e6:.15g}{text_of(Counter([row]))}" for end, row in outcome.refreshes)
        assert Counter(outcome.refreshes) == expected, f"refreshes:{shown}\n{way}"
