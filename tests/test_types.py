"""Types combine as in Spark SQL: the tables were checked against what Spark 4.3.0 says of the same expressions."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.catalog.codec import decode_type
from windrow.session import Session
from windrow.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTERVAL,
    NULL,
    SIMPLE_TYPES,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    DecimalType,
    Type,
    arithmetic_type,
    array,
    common_type,
    decimal,
    struct,
)

decimals = st.integers(1, 38).flatmap(lambda p: st.integers(0, p).map(lambda s: decimal(p, s)))
types = st.one_of(st.sampled_from([*SIMPLE_TYPES.values(), NULL]), decimals)
generated = settings(derandomize=True, deadline=None)


def d(precision: int, scale: int) -> DecimalType:
    return DecimalType("DECIMAL", precision, scale)


@pytest.mark.parametrize(
    ("left", "operator", "right", "result"),
    [
        (d(10, 2), "+", d(10, 2), d(11, 2)),
        (d(10, 2), "-", d(5, 4), d(13, 4)),
        (d(38, 10), "+", d(38, 10), d(38, 9)),
        (d(38, 0), "+", d(38, 38), d(38, 6)),
        (d(10, 2), "*", d(10, 2), d(21, 4)),
        (d(38, 10), "*", d(38, 10), d(38, 6)),
        (d(38, 18), "*", d(38, 18), d(38, 6)),
        (d(20, 5), "*", d(20, 5), d(38, 7)),
        (d(10, 2), "/", d(10, 2), d(23, 13)),
        (d(38, 10), "/", d(38, 10), d(38, 6)),
        (d(5, 0), "/", d(3, 1), d(12, 6)),
        (d(10, 2), "%", d(5, 4), d(5, 4)),
        (d(10, 2), "%", d(10, 2), d(10, 2)),
        (d(10, 2), "+", INT, d(13, 2)),
        (BIGINT, "*", d(5, 2), d(26, 2)),
        (d(10, 2), "/", TINYINT, d(14, 6)),
        (d(10, 2), "*", DOUBLE, DOUBLE),
        (d(10, 2), "+", FLOAT, DOUBLE),
        (INT, "+", INT, INT),
        (INT, "*", BIGINT, BIGINT),
        (TINYINT, "-", SMALLINT, SMALLINT),
        (INT, "/", INT, DOUBLE),
        (INT, "%", SMALLINT, INT),
        (FLOAT, "*", FLOAT, FLOAT),
        (FLOAT, "+", BIGINT, DOUBLE),
        (INT, "+", NULL, INT),
    ],
    ids=str,
)
def test_arithmetic_on_numbers(left: Type, operator: str, right: Type, result: Type) -> None:
    assert arithmetic_type(operator, left, right) == result


@pytest.mark.parametrize(
    ("left", "operator", "right", "result"),
    [
        (TIMESTAMP, "+", INTERVAL, TIMESTAMP),
        (INTERVAL, "+", TIMESTAMP, TIMESTAMP),
        (TIMESTAMP, "-", INTERVAL, TIMESTAMP),
        (TIMESTAMP, "-", TIMESTAMP, INTERVAL),
        (DATE, "-", DATE, INTERVAL),
        (DATE, "+", INTERVAL, TIMESTAMP),
        (INTERVAL, "+", INTERVAL, INTERVAL),
        (INTERVAL, "*", INT, INTERVAL),
        (DOUBLE, "*", INTERVAL, INTERVAL),
        (INTERVAL, "/", INT, INTERVAL),
        (TIMESTAMP, "+", TIMESTAMP, None),
        (INTERVAL, "-", TIMESTAMP, None),
        (TIMESTAMP, "*", INT, None),
        (TIMESTAMP, "+", INT, None),
        (INT, "/", INTERVAL, None),
        (STRING, "+", INT, None),
        (BOOLEAN, "+", BOOLEAN, None),
        (BINARY, "-", NULL, None),
    ],
    ids=str,
)
def test_arithmetic_on_times_and_the_rest(left: Type, operator: str, right: Type, result: Type | None) -> None:
    assert arithmetic_type(operator, left, right) == result


@pytest.mark.parametrize(
    ("left", "right", "common"),
    [
        (INT, BIGINT, BIGINT),
        (TINYINT, SMALLINT, SMALLINT),
        (INT, DOUBLE, DOUBLE),
        (d(10, 2), DOUBLE, DOUBLE),
        (d(10, 2), d(5, 4), d(12, 4)),
        (d(10, 2), INT, d(12, 2)),
        (d(10, 2), BIGINT, d(22, 2)),
        (d(38, 0), d(38, 38), d(38, 0)),
        (d(38, 10), d(38, 0), d(38, 0)),
        (d(38, 10), d(38, 18), d(38, 10)),
        (BIGINT, d(38, 18), d(38, 18)),
        (DATE, TIMESTAMP, TIMESTAMP),
        (NULL, STRING, STRING),
        (STRING, INT, None),
        (STRING, DATE, None),
        (BOOLEAN, INT, None),
        (INTERVAL, TIMESTAMP, None),
        (STRING, BINARY, None),
    ],
    ids=str,
)
def test_common_types(left: Type, right: Type, common: Type | None) -> None:
    assert common_type(left, right) == common


@settings(generated, max_examples=500)
@given(types, types)
def test_the_order_of_two_types_does_not_matter(left: Type, right: Type) -> None:
    assert common_type(left, right) == common_type(right, left)


@settings(generated, max_examples=200)
@given(types)
def test_a_type_fits_itself_and_null(of: Type) -> None:
    assert common_type(of, of) == of
    assert common_type(of, NULL) == of


@settings(generated, max_examples=500)
@given(decimals, decimals, st.sampled_from("+-*/%"))
def test_decimals_stay_in_bounds(left: DecimalType, right: DecimalType, operator: str) -> None:
    result = arithmetic_type(operator, left, right)

    assert isinstance(result, DecimalType)
    assert 1 <= result.precision <= 38
    assert 0 <= result.scale <= result.precision


@settings(generated, max_examples=300)
@given(decimals, decimals)
def test_a_sum_that_fits_has_room_for_every_digit(left: DecimalType, right: DecimalType) -> None:
    result = arithmetic_type("+", left, right)
    whole = max(left.precision - left.scale, right.precision - right.scale) + 1
    scale = max(left.scale, right.scale)

    assert isinstance(result, DecimalType)
    if whole + scale <= 38:
        assert (result.precision - result.scale, result.scale) == (whole, scale)


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("price + 1", d(11, 2)),
        ("price * 2", d(12, 2)),
        ("price % 3", d(3, 2)),
        ("price + 100000", d(11, 2)),
        ("price + whole", d(13, 2)),
        ("price + 0.5", d(11, 2)),
        ("price / 3", d(14, 6)),
        ("-price", d(10, 2)),
        ("ABS(price)", d(10, 2)),
        ("CEIL(price)", d(9, 0)),
        ("FLOOR(price)", d(9, 0)),
        ("CEIL(whole)", BIGINT),
        ("FLOOR(ratio)", BIGINT),
        ("SIGN(price)", DOUBLE),
        ("POWER(price, 2)", DOUBLE),
        ("GREATEST(price, whole)", d(12, 2)),
        ("COALESCE(price, ratio)", DOUBLE),
        ("SUM(price)", d(20, 2)),
        ("SUM(large)", d(38, 10)),
        ("SUM(whole)", BIGINT),
        ("SUM(ratio)", DOUBLE),
        ("AVG(price)", d(14, 6)),
        ("AVG(large)", d(38, 14)),
        ("AVG(whole)", DOUBLE),
        ("MIN(large)", d(38, 10)),
        ("VAR(price)", DOUBLE),
        ("STDDEV(whole)", DOUBLE),
    ],
)
def test_expressions(expression: str, result: Type) -> None:
    session = Session()
    session.execute(
        "CREATE STREAM s (ts TIMESTAMP, price DECIMAL(10, 2), large DECIMAL(38, 10), whole INT, ratio DOUBLE) ARRIVAL"
    )

    (field,) = session.plan(f"SELECT {expression} AS x FROM s [RANGE 1 HOUR]").schema
    assert field.type == result


def test_types_are_written_as_in_cql() -> None:
    assert str(d(10, 2)) == "DECIMAL(10, 2)"
    assert str(array(struct(("item", STRING), ("count", BIGINT)))) == "ARRAY<STRUCT<item: STRING, count: BIGINT>>"


def test_types_are_read_back_from_their_texts() -> None:
    odd = struct(("a b", array(INT)), ('"', struct(("x", d(3, 1)))), ("from", STRING))
    for of in (odd, array(odd), array(array(d(38, 2)))):
        assert decode_type(str(of)) == of
        session = Session()
        session.execute(f"CREATE STREAM s (ts TIMESTAMP, x {of}) TIMESTAMP BY ts")
        assert session.plan("SELECT x FROM s [NOW]").schema.types == (of,)
