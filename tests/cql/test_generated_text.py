"""Whatever the text, a session raises nothing but `windrow.errors`, and every error in a text knows its place.

Three kinds of text: anything at all, soup of CQL's own tokens, and statements of the showcase and the guide with a few
tokens changed. `scripts/fuzz.py` searches further, guided by coverage.
"""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from windrow.catalog import StreamEntry, TableEntry, WindowEntry
from windrow.errors import CqlError, WindrowError
from windrow.plan.aggregates import AGGREGATES
from windrow.plan.functions import FUNCTIONS
from windrow.plan.printer import RESERVED
from windrow.session import Session
from windrow.units import UNITS

ROOT = Path(__file__).parents[2]
SHOWCASE = re.sub(r"--.*", "", (ROOT / "examples" / "traffic.cql").read_text(encoding="utf-8"))
GUIDE = re.findall(r"```cql\n(.*?)```", (ROOT / "docs" / "guide" / "language.md").read_text(encoding="utf-8"), re.S)
TOKEN = re.compile(r"\w+|'[^']*'|\"[^\"]*\"|<>|<=|>=|=>|\|\||--|/\*|\S")
STATEMENTS = [
    part.strip() for text in (SHOWCASE, *GUIDE) for part in re.sub(r"--.*", "", text).split(";") if part.strip()
]

NAMES = 'link1 link2 owners recent src dst ts bytes protocol owner duration a A "quoted name" `ticks` _x é 表'.split(
    " "
)
CONSTANTS = "0 1 10 -1 1.5 .5 1e9 1e999 9223372036854775808 '' 'x' '2026-01-31' '10 minutes' X'00' TRUE NULL".split()
SIGNS = "( ) [ ] , . ; : = == <> != < <= > >= => + - * / % || | & ^ ~ ! ? @ # $ { } \\ ' \" ` -- /* */ \n \t".split(" ")
WORDS = """AGO APPROX_TOP ARRIVAL AT BEST BIGINT DATE DECIMAL EFFECTIVE EFFORT EXACT FIRST HEARTBEAT INTERNAL JSON KEY
    LAST LIFETIME MONTH NON NOW NULLS PARTITION PICTURE PRIMARY QUERIES QUERY RANGE REFRESH RESTORE RETROACTIVE ROW ROWS
    SINCE SLACK SLIDE STREAM STREAMS STRING TIMESTAMP TO UNBOUNDED csv explain generator json parquet""".split()
VOCABULARY = sorted({*NAMES, *CONSTANTS, *SIGNS, *WORDS, *RESERVED, *UNITS, *FUNCTIONS, *AGGREGATES})

tokens = st.sampled_from(VOCABULARY)
generated = settings(derandomize=True, deadline=None)


def known_entries() -> list[StreamEntry | TableEntry | WindowEntry]:
    session = Session()
    session.execute(SHOWCASE)
    return [entry for kind in (StreamEntry, TableEntry, WindowEntry) for entry in session.catalog.entries(kind)]


KNOWN = known_entries()


def carry_out(text: str) -> None:
    """Run a text where the names of the showcase are known; only errors of ours may come, complete with their place."""
    session = Session()
    for entry in KNOWN:
        session.catalog.put(entry)
    try:
        session.execute(text)
    except CqlError as error:
        lines = text.split("\n")
        assert error.text == text
        assert 1 <= error.line <= len(lines)
        assert 1 <= error.column <= len(lines[error.line - 1]) + 1
        assert f"line {error.line}, column {error.column}: {error.message}" in str(error)
    except WindrowError as error:
        assert error.message in str(error)


@settings(generated, max_examples=1000)
@given(st.text())
@example("'")
@example("/* /* */")
@example("SELECT \0 FROM link1")
@example("\ufeffSELECT src FROM link1")
@example("SELECT src FROM link1 [RANGE \u0661\u0660 MINUTES]")
def test_any_text(text: str) -> None:
    carry_out(text)


@settings(generated, max_examples=1000)
@given(st.lists(tokens, max_size=40).map(" ".join))
def test_soup_of_tokens(text: str) -> None:
    carry_out(text)


@settings(generated, max_examples=1000)
@given(
    st.sampled_from(["SELECT", "SELECT src FROM link1", "CREATE", "CREATE STREAM s (", "SELECT * FROM link1 [", "SET"]),
    st.lists(tokens, max_size=12).map(" ".join),
)
def test_soup_after_a_good_beginning(beginning: str, soup: str) -> None:
    carry_out(f"{beginning} {soup}")


@st.composite
def mutated_statements(draw: st.DrawFn) -> str:
    """A valid statement with a few tokens deleted, repeated, exchanged or replaced."""
    parts = TOKEN.findall(draw(st.sampled_from(STATEMENTS)))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, max(0, len(parts) - 1)))
        other = draw(st.integers(0, max(0, len(parts) - 1)))
        edit = draw(st.sampled_from(["delete", "repeat", "exchange", "replace", "insert"]))
        if edit == "delete":
            del parts[at : at + 1]
        elif edit == "repeat":
            parts[at:at] = parts[at : at + 5]
        elif edit == "exchange" and parts:
            parts[at], parts[other] = parts[other], parts[at]
        elif edit == "replace":
            parts[at : at + 1] = [draw(tokens)]
        else:
            parts.insert(at, draw(tokens))
    return " ".join(parts)


@settings(generated, max_examples=2000)
@given(mutated_statements())
def test_mutated_statements(text: str) -> None:
    carry_out(text)


def nested(open_: str, inner: str, close: str, times: int) -> str:
    return open_ * times + inner + close * times


DEEP_AND_LONG: dict[str, Callable[[int], str]] = {
    "parentheses": lambda n: f"SELECT {nested('(', 'bytes', ')', n)} AS x FROM link1",
    "signs": lambda n: f"SELECT {nested('- ', 'bytes', '', n)} AS x FROM link1",
    "calls": lambda n: f"SELECT {nested('ABS(', 'bytes', ')', n)} AS x FROM link1",
    "cases": lambda n: f"SELECT {nested('CASE WHEN TRUE THEN ', '1', ' END', n)} AS x FROM link1",
    "negations": lambda n: f"SELECT src FROM link1 WHERE {nested('NOT ', 'bytes = 1', '', n)}",
    "IN in IN": lambda n: (
        f"SELECT src FROM link1 WHERE {nested('src IN (SELECT src FROM link1 WHERE ', 'TRUE', ')', n)}"
    ),
    "sub-queries": lambda n: nested("SELECT * FROM (", "SELECT src FROM link1", ")", n),
    "queries in parentheses": lambda n: nested("(", "SELECT src FROM link1", ")", n),
    "sum": lambda n: f"SELECT {' + '.join(['bytes'] * n)} AS x FROM link1",
    "concatenation": lambda n: f"SELECT {' || '.join(['src'] * n)} AS x FROM link1",
    "conjunction": lambda n: f"SELECT src FROM link1 WHERE {' AND '.join(['bytes = 1'] * n)}",
    "many INs": lambda n: f"SELECT src FROM link1 WHERE {' AND '.join(['src IN (SELECT src FROM link2)'] * n)}",
    "join": lambda n: f"SELECT 1 AS one FROM {', '.join(f'link1 [ROWS 1] AS s{i}' for i in range(n))}",
    "union": lambda n: " UNION ALL ".join(["SELECT src FROM link1"] * n),
    "digits": lambda n: f"SELECT {'9' * 3 * n} AS x FROM link1",
    "digits after the point": lambda n: f"SELECT 0.{'9' * 3 * n} AS x FROM link1",
    "digits of an exponent": lambda n: f"SELECT 1e{'9' * 3 * n} AS x FROM link1",
    "digits of a range": lambda n: f"SELECT src FROM link1 [RANGE {'9' * 3 * n} DAYS]",
    "digits of a quoted range": lambda n: f"SELECT src FROM link1 [RANGE '{'9' * 3 * n} DAYS']",
    "digits of rows": lambda n: f"SELECT src FROM link1 [ROWS {'9' * 3 * n}]",
    "digits of a position": lambda n: f"SELECT src FROM link1 GROUP BY {'9' * 3 * n}",
    "digits of an order": lambda n: f"SELECT src FROM link1 ORDER BY {'9' * 3 * n}",
    "digits of a type": lambda n: f"SELECT CAST(src AS DECIMAL({'9' * 3 * n})) FROM link1",
    "difference": lambda n: " EXCEPT ".join(["SELECT src FROM link1 [ROWS 1]"] * n),
}


@pytest.mark.parametrize("times", [30, 100, 150, 200, 300, 1000, 2000])
@pytest.mark.parametrize("kind", DEEP_AND_LONG)
def test_depth_and_length(kind: str, times: int) -> None:
    carry_out(DEEP_AND_LONG[kind](times))
