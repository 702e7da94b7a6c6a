"""Query test files: the text format of tests/cases, read into cases.

    ==== the title of a case
    # what it shows, and a timeline

    stream s (a BIGINT, b STRING) SLACK 2 SECONDS     time is the column ts, in seconds; then the columns
      1      10    x
      2.5    null  'two words'
      ---                                             ends a batch: the rows below come in the next one
      2      20    y

    query SELECT a, b FROM s [RANGE 4 SECONDS]        goes on until an empty line

    at 1:                                             the answer at an instant: a bag, in any order
      10  x
    at 5: nothing
    changes:                                          what comes (+) and goes (-) at every instant
      1  +  10  x
      5  -  10  x
    refreshes:                                        what a periodic query tells, by _window_end
      4  10  x
    late s:                                           rows that came too late
      2  20  y
    rejected s:                                       rows that could not be taken
      2  20  y
    error: the message, then its hint                 instead of answers

Arrays are JSON without spaces, structs the list of their fields: [["x",2],["y",1]].
Seconds count from 2026-01-01 00:00:00 UTC; TIMESTAMP values are written the same way and INTERVAL values in seconds.
Words of a stream after its columns are those of CREATE STREAM; `open` means that the stream never ends. `table`
declares a table, `statement` is carried out after the query has started, before the first row.
"""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

from support.normal_rows import normal_row
from windrow.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGERS,
    INTERVAL,
    STRING,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    StructType,
    Type,
)

START = 1_767_225_600_000_000  # 2026-01-01 00:00:00 UTC
FOLDER = Path(__file__).parents[1] / "cases"
NOTHING = "nothing"


@dataclass
class StreamText:
    """A stream as it is written; `batches` hold lines of words, in the order of arrival."""

    name: str
    declaration: str
    is_open: bool
    batches: list[list[list[str]]] = field(default_factory=lambda: [[]])


@dataclass
class Expected:
    """A block of expectations: its kind, what it is about, and its lines of words."""

    kind: str
    subject: str
    lines: list[list[str]]


@dataclass
class Case:
    file: str
    title: str
    streams: list[StreamText] = field(default_factory=list)
    declarations: list[str] = field(default_factory=list)
    query: str = ""
    statements: list[str] = field(default_factory=list)
    expected: list[Expected] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"{self.file}: {self.title}"

    @property
    def is_batched(self) -> bool:
        """The file says which rows come together."""
        return any(len(stream.batches) > 1 for stream in self.streams)

    def blocks(self, kind: str) -> Iterator[Expected]:
        return (block for block in self.expected if block.kind == kind)


def all_cases() -> list[Case]:
    return [case for file in sorted(FOLDER.glob("*.case")) for case in cases_of(file)]


def cases_of(file: Path) -> list[Case]:
    _, *texts = ("\n" + file.read_text(encoding="utf-8")).split("\n==== ")
    return [_case(file.stem, text) for text in texts]


_BLOCK = re.compile(r"(at|late|rejected|changes|refreshes|error)\b *([^:]*):(.*)")


def _case(file: str, text: str) -> Case:
    title, *lines = text.splitlines()
    case = Case(file, title)
    continued: list[str] | None = None
    for line in lines:
        if line.startswith("#"):
            continue
        if not line.strip():
            continued = None
        elif line.startswith(" ") and continued is not None:
            continued[0] += f"\n{line}"
        elif line.startswith(" "):
            _indented(case, line)
        else:
            continued = _head(case, line)
    return case


def _head(case: Case, line: str) -> list[str] | None:
    """A line that opens a block; a statement that may go on is handed back to be added to."""
    word, _, rest = line.partition(" ")
    if word == "stream":
        case.streams.append(_stream(rest))
        return None
    if word == "table":
        case.declarations.append(f"CREATE TABLE {rest}")
        return None
    if word in ("query", "statement"):
        return _Growing(case, word, rest)
    match = _BLOCK.fullmatch(line)
    assert match is not None, f"{case.name}: {line}"
    block = Expected(match[1], match[2].strip(), [])
    if match[1] == "error" or match[3].strip() not in ("", NOTHING):
        block.lines.append([match[3].strip()])
    case.expected.append(block)
    return None


class _Growing(list[str]):
    """The text of a statement that later lines are added to."""

    def __init__(self, case: Case, kind: str, text: str) -> None:
        super().__init__([text])
        self._case, self._kind = case, kind
        self._store(text)

    def _store(self, text: str) -> None:
        if self._kind == "query":
            self._case.query = text
        else:
            self._case.statements.append(text)

    def __setitem__(self, place: Any, text: Any) -> None:
        super().__setitem__(place, text)
        if self._kind == "statement":
            self._case.statements.pop()
        self._store(text)


def _stream(text: str) -> StreamText:
    match = re.fullmatch(r"(\w+) \((.*?)\)((?: [A-Z].*?)?)( open)?", text)
    assert match is not None, text
    name, columns, clauses, is_open = match.groups()
    time = "" if "TIMESTAMP BY" in clauses or "ARRIVAL" in clauses else " TIMESTAMP BY ts"
    return StreamText(name, f"CREATE STREAM {name} (ts TIMESTAMP, {columns}){time}{clauses}", is_open is not None)


def _indented(case: Case, line: str) -> None:
    if case.expected:
        block = case.expected[-1]
        block.lines.append([line.strip()] if block.kind == "error" else words(line))
    elif line.strip() == "---":
        case.streams[-1].batches.append([])
    else:
        case.streams[-1].batches[-1].append(words(line))


def words(line: str) -> list[str]:
    """The words of a line; quotes stay, so that '' and 'null' are texts."""
    lexer = shlex.shlex(line, posix=False)
    lexer.whitespace_split, lexer.commenters, lexer.quotes = True, "", "'"
    return list(lexer)


def moment(word: str) -> int:
    return START + int(Decimal(word) * 1_000_000)


def value_of(word: str, of: Type) -> Any:
    """A word as a value of a type."""
    if word == "null":
        return None
    if of == STRING:
        return word[1:-1] if word.startswith("'") else word
    if of == BOOLEAN:
        return {"true": True, "false": False}[word]
    if of in INTEGERS:
        return int(word)
    if of in (DOUBLE, FLOAT):
        return float(word)
    if isinstance(of, DecimalType):
        return Decimal(word)
    if of == DATE:
        return date.fromisoformat(word)
    if isinstance(of, ArrayType | StructType):  # JSON without spaces; a struct as the list of its fields
        return _shaped(json.loads(word), of)
    if of == INTERVAL:
        return timedelta(seconds=float(word))
    assert of == TIMESTAMP, of
    return datetime(2026, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=float(word))


def _shaped(value: Any, of: Type) -> Any:
    """Lists of fields as structs."""
    if isinstance(of, ArrayType) and value is not None:
        return [_shaped(item, of.element) for item in value]
    if isinstance(of, StructType) and value is not None:
        return {name: _shaped(item, part) for item, (name, part) in zip(value, of.fields, strict=True)}
    return value


def row_of(line: list[str], types: tuple[Type, ...]) -> tuple[Any, ...]:
    assert len(line) == len(types), f"{line} has not {len(types)} values"
    return normal_row([value_of(word, of) for word, of in zip(line, types, strict=True)])


def bag_of(lines: list[list[str]], types: tuple[Type, ...]) -> Counter[Any]:
    return Counter(row_of(line, types) for line in lines)


def text_of(rows: Counter[Any]) -> str:
    """Rows as they are written in the files, for messages."""
    lines = sorted("  ".join(_word(value) for value in row) for row in rows.elements())
    return "".join(f"\n  {line}" for line in lines) or f" {NOTHING}"


def _word(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, datetime):
        return f"{(value - datetime(2026, 1, 1, tzinfo=timezone.utc)).total_seconds():.15g}"
    if isinstance(value, timedelta):
        return f"{value.total_seconds():.15g}"
    if isinstance(value, tuple):
        return json.dumps(value, separators=(",", ":"), default=str)
    text = f"{value:.9g}" if isinstance(value, float) else str(value)
    quoted = isinstance(value, str) and (not text or " " in text or text == "null")
    return f"'{text}'" if quoted else text
