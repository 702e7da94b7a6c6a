"""Expressions, compiled, against the oracle of expressions, row by row, over all types."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from support.expression_oracle import SPARK, expected
from support.spark_forms import FORMS as SPARK_FORMS
from windrow.batch import Dictionary, arrow_type, column_to_arrow, columns_from_arrow, inserts
from windrow.cql import compile_query
from windrow.errors import CqlError
from windrow.physical.expressions import KERNELS, ExpressionCompiler
from windrow.plan.expressions import Expression
from windrow.plan.functions import FUNCTIONS, TIME_PARTS
from windrow.plan.nodes import Project
from windrow.session import Session
from windrow.types import Type

COLUMNS = {
    "p": "BOOLEAN", "q": "BOOLEAN",
    "t": "TINYINT", "i": "INT", "a": "BIGINT", "b": "BIGINT",
    "f": "FLOAT", "x": "DOUBLE", "y": "DOUBLE",
    "m": "DECIMAL(10, 2)", "n": "DECIMAL(18, 6)", "w": "DECIMAL(38, 10)",
    "s": "STRING", "u": "STRING",
    "d": "DATE", "e": "DATE",
    "z": "TIMESTAMP", "h": "TIMESTAMP",
    "l": "INTERVAL", "k": "INTERVAL",
    "bin": "BINARY",
}  # fmt: skip
SESSION = Session()
SESSION.execute(
    f"CREATE STREAM r (ts TIMESTAMP, {', '.join(f'{n} {of}' for n, of in COLUMNS.items())}) TIMESTAMP BY ts"
)
TYPES: dict[str, Type] = {
    field.name: field.type for field in SESSION.plan("SELECT * FROM r").schema if field.name != "ts"
}


def scaled(precision: int, scale: int, random: Random) -> Decimal:
    most = 10**precision - 1
    edges = [0, 1, -1, 5, 50, -50, 10**scale, most, -most, 5 * 10 ** max(0, scale - 1), 25 * 10 ** max(0, scale - 1)]
    value = random.choice([*edges, random.randint(-most, most), random.randint(-10_000, 10_000)])
    return Decimal((int(value < 0), Decimal(abs(value)).as_tuple().digits, -scale))


def integer(bits: int, random: Random) -> int:
    edges = [0, 1, -1, 2, 5, 12, -7, -(2**bits), 2**bits - 1, 115, 125, -125]
    return random.choice([*edges, random.randint(-(2**bits), 2**bits - 1), random.randint(-12, 12)])


def double(random: Random) -> float:
    common = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        2.5,
        -2.5,
        2.675,
        1.005,
        1e7,
        9999999.0,
        1e-3,
        1e-4,
        123456789.125,
        1e300,
        5e-324,
    ]
    rare = [math.nan, math.inf, -math.inf, 2.0**53 + 2, -(2.0**63), 2.0**63, 0.1, 1e22, 1e23]
    return random.choice([*common, *rare, round(random.uniform(-1000, 1000), 3), random.uniform(-1, 1)])


def moment(random: Random) -> datetime:
    edges = [datetime(1970, 1, 1), datetime(2024, 2, 29, 23, 59, 59, 999999), datetime(1969, 12, 31, 23, 59, 59, 1)]
    any_time = datetime(1900, 1, 1) + timedelta(microseconds=random.randrange(6_000_000_000_000_000))
    return random.choice([*edges, any_time, any_time.replace(microsecond=0)]).replace(tzinfo=timezone.utc)


TEXTS = [
    "", " ", "a", "ab", "aab", "b a", "A%", "a_b", "Straße", "日本語", "İ", "ΑΣ", "e\u0301", "😀x", "\\", "a\\%",
    "null", "\n", "1", " 42 ", "+7", "-128", "128", "9223372036854775807", "9223372036854775808", "1.5", ".5",
    "5.", "1e3", "1e400", "NaN", "inf", "-Infinity", "true", "No", "T", "2026-01-31", "2026-02-30",
    "2026-01-31 12:30:00.25", "12:00", "90 s", "-0", "2026-01-31T12:30:00+02:00", "1 hour 5 minutes", "1.005",
    "99999999999999999999", "0x1F", "1_000", "٣", "\t5\t",
]  # fmt: skip
VALUES: dict[str, Callable[[Random], Any]] = {
    "BOOLEAN": lambda random: random.random() < 0.5,
    "TINYINT": lambda random: max(-128, min(127, integer(7, random))),
    "INT": lambda random: integer(31, random),
    "BIGINT": lambda random: integer(63, random),
    "FLOAT": lambda random: random.choice([0.0, -0.0, 1.5, -0.25, 16777216.0, math.nan, math.inf, -math.inf, 0.125]),
    "DOUBLE": double,
    "DECIMAL(10, 2)": lambda random: scaled(10, 2, random),
    "DECIMAL(18, 6)": lambda random: scaled(18, 6, random),
    "DECIMAL(38, 10)": lambda random: scaled(38, 10, random),
    "STRING": lambda random: random.choice(TEXTS),
    "BINARY": lambda random: random.choice([b"", b"\x00\xff", b"a", b"ab"]),
    "DATE": lambda random: moment(random).date(),
    "TIMESTAMP": moment,
    "INTERVAL": lambda random: timedelta(
        microseconds=random.choice(
            [0, 1, -1, 86_400_000_000, -90_000_000, 1_500_000, random.randint(-(10**13), 10**13)]
        )
    ),
}
ROWS = 60


def rows(seed: int) -> dict[str, list[Any]]:
    """Rows with the values at which things go wrong, and any others."""
    random = Random(seed)
    return {
        name: [None if random.random() < 0.12 else VALUES[of](random) for _ in range(ROWS)]
        for name, of in COLUMNS.items()
    }


# Expressions by what they give: n numbers, s strings, t times, l intervals, c conditions; capitals are plain ones.
LEAVES = {
    "n": [*"tiabxyfmnw", "7", "-3", "0", "2.50", "1.5e3", "9999999999", "CAST(NULL AS INT)"],
    "s": ["s", "u", "'a'", "''", "' ab '", "'ß日'"],
    "t": ["z", "h", "d", "e", "TIMESTAMP '2024-02-29 12:00:00.5'", "DATE '2026-01-31'"],
    "l": ["l", "k", "INTERVAL 90 SECONDS", "INTERVAL '1 day 2 h'"],
    "c": ["p", "q", "TRUE", "p IS NULL", "CAST(NULL AS BOOLEAN)"],
    "#": ["0", "1", "2", "-1", "-2", "5", "t"],  # counts of characters
}
TARGETS = ("TINYINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(10, 2)", "DECIMAL(20, 3)", "DECIMAL(38, 10)")
FORMS = {
    "n": [
        *(f"({{n}}) {operator} ({{N}})" for operator in "+-*/%"),
        *(f"({{N}}) {operator} ({{n}})" for operator in "+-*/%"),
        "-({n})",
        *(f"{name}({{n}})" for name in ("ABS", "SIGN", "CEIL", "FLOOR", "ROUND", "SQRT", "EXP", "LN", "LOG10")),
        *(f"ROUND({{n}}, {digits})" for digits in (-3, -1, 0, 1, 2, 4)),
        "ROUND({n}, t)",
        "LOG({N}, {n})",
        "POWER({n}, {N})",
        "GREATEST({n}, {N})",
        "LEAST({n}, {N}, {N})",
        "COALESCE({n}, {N})",
        "NULLIF({n}, {N})",
        "CASE WHEN {c} THEN {n} WHEN {C} THEN {N} ELSE {N} END",
        "IF({c}, {n}, {N})",
        "LENGTH({s})",
        "POSITION({S} IN {s})",
        *(f"EXTRACT({part} FROM {{t}})" for part in TIME_PARTS),
        *(
            f"{name}({{t}})"
            for name in ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND", "DAYOFWEEK", "UNIX_MICROS")
        ),
        *(f"CAST({{n}} AS {of})" for of in TARGETS),
        *(f"CAST({{s}} AS {of})" for of in TARGETS),
        *(f"CAST({{c}} AS {of})" for of in ("INT", "DOUBLE", "DECIMAL(5, 2)")),
    ],
    "s": [
        *(f"{name}({{s}})" for name in ("UPPER", "LOWER", "TRIM", "LTRIM", "RTRIM")),
        "{s} || {S}",
        "CONCAT({s}, {S}, {N})",
        "{s} || {T}",
        "SUBSTRING({s}, {#})",
        "SUBSTRING({s}, {#}, {#})",
        "LEFT({s}, {#})",
        "RIGHT({s}, {#})",
        "REPLACE({s}, {S}, {S})",
        "SPLIT_PART({s}, {S}, {#})",
        "CAST({n} AS STRING)",
        "CAST({t} AS STRING)",
        "CAST({c} AS STRING)",
        "CAST({l} AS STRING)",
        "COALESCE({s}, {S})",
        "GREATEST({s}, {S})",
        "NULLIF({s}, {S})",
        "CASE WHEN {c} THEN {s} ELSE {S} END",
    ],
    "t": [
        "({t}) + {l}",
        "({t}) - {l}",
        "{l} + ({t})",
        *(f"DATE_TRUNC('{part}', {{t}})" for part in TIME_PARTS),
        "TO_DATE({t})",
        "CAST({t} AS TIMESTAMP)",
        "CAST({t} AS DATE)",
        "CAST({s} AS DATE)",
        "CAST({s} AS TIMESTAMP)",
        "TIMESTAMP_MICROS(i)",
        "TIMESTAMP_MICROS(UNIX_MICROS({t}))",
        "GREATEST({t}, {T})",
        "COALESCE({t}, {T})",
        "IF({c}, {t}, {T})",
    ],
    "l": [
        "({l}) + {L}",
        "({l}) - {L}",
        "({t}) - ({T})",
        *(f"({{l}}) * {number}" for number in ("t", "3", "0.5", "0.25")),
        *(f"({{l}}) / {number}" for number in ("t", "3", "0.5", "0", "i")),
        "-({l})",
        "ABS({l})",
        "LEAST({l}, {L})",
        "CAST({s} AS INTERVAL)",
        "COALESCE({l}, {L})",
    ],
    "c": [
        *(f"({{{of}}}) {operator} ({{{of}}})" for of in "nstl" for operator in ("=", "<>", "<", "<=", ">", ">=")),
        *(f"({{{of}}}) IS DISTINCT FROM ({{{of}}})" for of in "nstl"),
        *(f"({{{of}}}) IN ({{{of.upper()}}}, {{{of.upper()}}}, NULL)" for of in "nstl"),
        *(f"({{{of}}}) NOT IN ({{{of.upper()}}}, {{{of.upper()}}})" for of in "nstl"),
        *(f"({{{of}}}) BETWEEN {{{of.upper()}}} AND {{{of.upper()}}}" for of in "nstl"),
        *(f"({{{of}}}) IS NULL" for of in "nstlc"),
        "({c}) AND ({c})",
        "({c}) OR ({c}) OR {C}",
        "NOT ({c})",
        *(f"{{s}} LIKE {pattern}" for pattern in ("u", "'a%'", "'_'", "'%b%'", "'a\\%'", "''", "'%'")),
        "STARTS_WITH({s}, {S})",
        "ENDS_WITH({s}, {S})",
        "CONTAINS({s}, {S})",
        *(f"REGEXP_LIKE({{s}}, {pattern})" for pattern in ("'a+b?'", "'^.$'", "'[0-9]'", "'(a|ß)$'")),
        "CAST({s} AS BOOLEAN)",
        "CAST({n} AS BOOLEAN)",
        "bin = X'00ff'",
        "bin || bin > bin",
        "COALESCE({c}, {C})",
    ],
}


@st.composite
def expressions(draw: st.DrawFn, of: str, depth: int) -> str:
    if depth == 0 or of == "#":
        return draw(st.sampled_from(LEAVES[of]))
    form = draw(st.sampled_from(FORMS[of]))

    def part(match: re.Match[str]) -> str:
        kind = match[1]
        return draw(expressions(kind.lower(), 0 if kind.isupper() else draw(st.integers(0, depth - 1))))

    return re.sub(r"\{([a-zA-Z#])\}", part, form)


def bound(text: str) -> Expression:
    plan = compile_query(f"SELECT {text} AS answer FROM r", SESSION.catalog)
    assert isinstance(plan, Project)
    return plan.columns[0].expression


def computed(expression: Expression, values: dict[str, list[Any]]) -> list[Any]:
    table = pa.table({name: pa.array(values[name], arrow_type(of)) for name, of in TYPES.items()})
    dictionary = Dictionary()
    batch = inserts(columns_from_arrow(table, dictionary), np.zeros(table.num_rows, np.int64))
    ordinals = {f"r.{name}": place for place, name in enumerate(table.column_names)}
    column = ExpressionCompiler(ordinals, dictionary).column(expression)(batch)
    assert column.type == expression.type, f"{column.type} instead of {expression.type}"
    assert len(column) == table.num_rows
    array = column_to_arrow(column)
    array.validate(full=True)
    return list(array.to_pylist())


def same(found: Any, wanted: Any) -> bool:
    """Exactly, but for doubles: NaN is NaN, and functions of doubles may differ in the last digits."""
    if isinstance(found, float) and isinstance(wanted, float):
        if found != found or wanted != wanted:
            return found != found and wanted != wanted
        return found == wanted or math.isclose(found, wanted, rel_tol=1e-9, abs_tol=5e-324)
    return type(found) is type(wanted) and found == wanted


def check(text: str, values: dict[str, list[Any]]) -> None:
    expression = bound(text)
    wanted = expected(expression, values, len(values["p"]))
    found = computed(expression, values)
    for place, (one, other) in enumerate(zip(found, wanted, strict=True)):
        row = {name: column[place] for name, column in values.items() if name in text}
        assert same(one, other), f"{text} is {one!r}, it should be {other!r}, in {row}"


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=st.sampled_from("nstlc").flatmap(lambda of: expressions(of, 3)), seed=st.integers(0, 50))
def test_generated(text: str, seed: int) -> None:
    try:
        bound(text)
    except CqlError:
        assume(False)
    check(text, rows(seed))


@pytest.mark.parametrize("form", [form for forms in FORMS.values() for form in forms])
def test_every_form_over_columns(form: str) -> None:
    """Each form once over plain columns and constants, so that every function is tried with every kind of value."""
    random, texts = Random(form), set()
    for _ in range(8):
        texts.add(re.sub(r"\{([a-zA-Z#])\}", lambda match: random.choice(LEAVES[match[1].lower()]), form))
    for text in sorted(texts):
        try:
            bound(text)
        except CqlError:
            continue
        check(text, rows(1))


# What Spark SQL does not have under these names: the value of each text is written beside it.
OF_OUR_OWN: dict[str, Any] = {
    "SIMILAR_TO('abc', '(a|x)%')": True,
    "'abc' SIMILAR TO 'a_'": False,
    "'a.c' SIMILAR TO 'a.c'": True,
    "STRING_SPLIT('a.b.c', '.')": ["a", "b", "c"],
    "PARSE_TIMESTAMP('2024-02-29', 'yyyy-MM-dd')": datetime(2024, 2, 29, tzinfo=timezone.utc),
    "TIMESTAMPADD('MONTH', 1, TIMESTAMP '2024-01-31 12:00:00')": datetime(2024, 2, 29, 12, tzinfo=timezone.utc),
    "DATEADD('hour', -2, TIMESTAMP '2024-01-31 12:00:00')": datetime(2024, 1, 31, 10, tzinfo=timezone.utc),
    "TIMESTAMPDIFF('MONTH', TIMESTAMP '2024-01-31 00:00:00', TIMESTAMP '2024-02-29 00:00:00')": 1,
    "DATE_DIFF('day', DATE '2024-01-31', DATE '2024-03-01')": 30,
    "EPOCH(TIMESTAMP '1970-01-01 00:00:01.5')": 1.5,
    "TIME_BUCKET(INTERVAL 15 MINUTES, TIMESTAMP '2024-01-31 12:44:00')": datetime(
        2024, 1, 31, 12, 30, tzinfo=timezone.utc
    ),
    'JSON_QUERY(\'{"a": {"b": "x"}}\', \'$.a\')': '{"b":"x"}',
    "'{\"a\": {\"b\": \"x\"}}' -> 'a' ->> 'b'": "x",
    "'[1, [2, 3]]' -> 1 ->> 0": "2",
    "TIMESTAMP '2024-07-01 12:00:00' AT TIME ZONE 'Europe/Berlin'": datetime(2024, 7, 1, 14, tzinfo=timezone.utc),
    "REGEXP_LIKE('a', '(')": None,
    "REGEXP_REPLACE('a', '(', 'x')": None,
    "TYPEOF(ARRAY(1))": "array<int>",
}


@pytest.mark.parametrize("text", OF_OUR_OWN)
def test_functions_with_names_of_other_systems(text: str) -> None:
    assert set(map(str, computed(bound(text), rows(1)))) == {str(OF_OUR_OWN[text])}


def test_every_function_has_a_kernel_and_a_test() -> None:
    text = "\n".join([*(form for forms in FORMS.values() for form in forms), *SPARK_FORMS, *OF_OUR_OWN])
    operators = {"NEGATE": "-(", "IS NULL": "IS NULL", "||": "||"}

    assert set(FUNCTIONS) == set(KERNELS) | {"EXTRACT", "DATE_TRUNC"}
    access = {"FIELD", "ELEMENT"}  # in tests/cases/everyday_sql.case, and written o.field and l[0]
    assert [name for name in FUNCTIONS if operators.get(name, name) not in text and name not in access] == []


def test_the_list_of_differences_is_about_functions() -> None:
    assert set(SPARK) <= set(FUNCTIONS)


def test_constants_and_no_rows() -> None:
    none = {name: [] for name in COLUMNS}

    assert computed(bound("UPPER(s) || 'x'"), none) == []
    assert computed(bound("1 + 1"), none) == []
    assert computed(bound("CASE WHEN p THEN m ELSE w END"), none) == []
