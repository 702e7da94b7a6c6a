"""What statements do and answer, how names are read, and aggregates of one's own."""

import json
from decimal import Decimal
from pathlib import Path

import pytest

from support.own_aggregates import Squares
from windrow.catalog import Connector, QueryEntry, StreamEntry, TableEntry, WindowEntry
from windrow.cql import Ask, Create, Drop, Explain, Set, TableChange
from windrow.errors import CqlError, CqlTypeError, WindrowError
from windrow.plan.expressions import Call, Cast, ColumnReference, Literal
from windrow.plan.nodes import GroupBy
from windrow.plan.printer import query_text
from windrow.session import Result, Session
from windrow.types import BIGINT, BOOLEAN, DATE, DOUBLE, FLOAT, INT, INTERVAL, STRING, TIMESTAMP
from windrow.units import HOUR, MAX_DURATION, MINUTE, SECOND, parse_timestamp

STAGE = """
CREATE STREAM s (ts TIMESTAMP, k STRING, v DOUBLE, life INTERVAL)
    FROM parquet('folder') TIMESTAMP BY ts, k SLACK 1 s LIFETIME BY life;
CREATE STREAM arrivals (k STRING, v BIGINT) ARRIVAL;
CREATE TABLE t (k STRING, n INT, since TIMESTAMP, PRIMARY KEY (k)) FROM csv('folder') EFFECTIVE BY since;
CREATE TABLE u (
    k STRING PRIMARY KEY, day DATE, price DECIMAL(6, 2), ratio FLOAT, big BIGINT, small TINYINT, life INTERVAL
) NON RETROACTIVE;
CREATE WINDOW w AS SELECT k, v FROM s [ROWS 5];
CREATE QUERY q AS SELECT k, COUNT(*) AS n FROM s [RANGE 1 HOUR SLIDE 1 MINUTE] GROUP BY k
    REFRESH BEST EFFORT INTO json('out', mode => 'snapshot');
"""


@pytest.fixture
def session() -> Session:
    session = Session()
    session.execute(STAGE)
    return session


def only(session: Session, text: str) -> Result:
    (result,) = session.execute(text)
    return result


def refusal(session: Session, text: str) -> str:
    with pytest.raises(WindrowError) as caught:
        session.execute(text)
    return caught.value.message


# CREATE


def test_create_stream(session: Session) -> None:
    s, arrivals = session.catalog.entries(StreamEntry)

    assert (s.timestamp, s.ties, s.slack, s.lifetime, s.heartbeat) == ("ts", ("k",), SECOND, "life", None)
    assert s.connector == Connector("parquet", ("folder",))
    assert [(column.name, column.type) for column in s.columns] == [
        ("ts", TIMESTAMP),
        ("k", STRING),
        ("v", DOUBLE),
        ("life", INTERVAL),
    ]
    assert (arrivals.timestamp, arrivals.connector) == (None, None)


@pytest.mark.parametrize(
    "clauses",
    [
        "FROM parquet('f') TIMESTAMP BY ts SLACK 5 SECONDS LIFETIME BY life HEARTBEAT 1 MINUTE",
        "FROM parquet('f') HEARTBEAT 1 min LIFETIME BY life SLACK INTERVAL '5' SECONDS TIMESTAMP BY ts",
        "from PARQUET('f') lifetime by LIFE timestamp by TS heartbeat '1 minute' slack 0.5 s 4500 ms",
    ],
)
def test_clauses_of_create_stream_come_in_any_order_and_case(clauses: str) -> None:
    statement = only(Session(), f"CREATE STREAM s (ts TIMESTAMP, life INTERVAL) {clauses}").statement

    assert isinstance(statement, Create)
    assert isinstance(statement.entry, StreamEntry)
    entry = statement.entry
    assert (entry.timestamp, entry.lifetime, entry.slack, entry.heartbeat) == ("ts", "life", 5 * SECOND, MINUTE)


@pytest.mark.parametrize(
    ("clauses", "expected"),
    [
        ("", (None, None, None)),
        ("IDLE AFTER 5 SECONDS", (5 * SECOND, None, None)),
        ("ahead 1 minute idle after '5 seconds'", (5 * SECOND, MINUTE, None)),
        ("AHEAD 1 MINUTE OF NEWEST AHEAD UNLIMITED", (None, MAX_DURATION, MINUTE)),
    ],
)
def test_how_silence_and_times_ahead_are_declared(clauses: str, expected: tuple[int | None, ...]) -> None:
    statement = only(Session(), f"CREATE STREAM s (ts TIMESTAMP) TIMESTAMP BY ts {clauses}").statement

    assert isinstance(statement, Create) and isinstance(statement.entry, StreamEntry)
    entry = statement.entry
    assert (entry.idle_after, entry.ahead, entry.ahead_of_newest) == expected


def test_create_table(session: Session) -> None:
    t, u = session.catalog.entries(TableEntry)

    assert (t.primary_key, t.retroactive, t.effective) == (("k",), True, "since")
    assert (u.primary_key, u.retroactive, u.connector) == (("k",), False, None)


def test_create_query_keeps_its_text_sink_and_refresh(session: Session) -> None:
    (query,) = session.catalog.entries(QueryEntry)

    assert query.text == "SELECT s.k, COUNT(*) AS n FROM s [RANGE 1 HOUR SLIDE 1 MINUTE] GROUP BY s.k"
    assert query.refresh == "best effort"
    assert query.sink == Connector("json", ("out",), (("mode", "snapshot"),))
    assert query.uses == ("s",)


def test_a_window_is_read_like_a_stream(session: Session) -> None:
    session.execute("CREATE QUERY over AS SELECT a.k FROM w AS a, w AS b WHERE a.k = b.k")

    assert session.catalog.users("w") == ["over"]
    (window,) = session.catalog.entries(WindowEntry)
    assert window.plan is not None
    assert window.plan.schema.names == ("k", "v")


def test_options_may_be_called_by_any_word() -> None:
    text = "CREATE STREAM s (k STRING) FROM generator('x', from => 1, table => 'a', Group => TRUE, on = -0.5) ARRIVAL"
    statement = only(Session(), text).statement

    assert isinstance(statement, Create)
    assert isinstance(statement.entry, StreamEntry)
    assert statement.entry.connector is not None
    assert dict(statement.entry.connector.options) == {"from": 1, "table": "a", "group": True, "on": Decimal("-0.5")}


def test_statements_of_one_text_see_each_other() -> None:
    messages = [result.message for result in Session().execute(STAGE + "; ;DROP QUERY q;DROP WINDOW w;;")]

    assert messages[-2:] == ["dropped query q", "dropped window w"]


def test_comments_may_stand_anywhere() -> None:
    text = "-- one\nCREATE TABLE a (k INT); -- two\n/* three */ ; SHOW /* four */ TABLES -- five; not a statement"
    created, shown = Session().execute(text)

    assert (created.message, shown.rows) == ("created table a", (("a", "retroactive", ""),))


def test_statements_before_a_wrong_one_stay_carried_out() -> None:
    session = Session()

    assert "no column" in refusal(session, "CREATE TABLE a (k INT); SELECT x FROM a; CREATE TABLE b (k INT)")
    assert session.catalog.names() == ["a"]


def test_a_text_that_cannot_be_read_carries_out_nothing() -> None:
    session = Session()

    refusal(session, "CREATE TABLE a (k INT); CREATE TABLE b (k")
    assert session.catalog.names() == []


@pytest.mark.parametrize("text", ["", " \n", ";", "-- nothing\n", "/* nothing */ ;; -- at all"])
def test_an_empty_text_does_nothing(text: str) -> None:
    assert Session().execute(text) == []


# DROP


def test_drop_and_create_again(session: Session) -> None:
    assert only(session, "DROP QUERY q").message == "dropped query q"
    assert session.catalog.get("q") is None
    assert only(session, "CREATE TABLE q (k INT)").message == "created table q"


def test_drop_if_exists(session: Session) -> None:
    result = only(session, "DROP QUERY IF EXISTS nothing")

    assert result.message == "nothing to drop"
    assert result.statement == Drop("query", None)
    assert only(session, "DROP QUERY IF EXISTS q").message == "dropped query q"


def test_if_exists_is_no_leave_to_drop_another_kind(session: Session) -> None:
    assert refusal(session, "DROP TABLE IF EXISTS s") == "s is a stream, not a table"


def test_what_is_used_is_kept_until_its_users_are_dropped(session: Session) -> None:
    assert refusal(session, "DROP STREAM s") == "s is used by q, w"
    session.execute("DROP QUERY q; DROP WINDOW w; DROP STREAM s")
    assert session.catalog.get("s") is None


# SHOW, DESCRIBE, SET


def test_show_streams(session: Session) -> None:
    result = only(session, "SHOW STREAMS")

    assert result.columns == ("stream", "time", "source", "holds")
    assert result.rows == (("s", "ts", "parquet", ""), ("arrivals", "arrival", "", ""))


def test_show_tables(session: Session) -> None:
    assert only(session, "show tables").rows == (("t", "retroactive", "csv"), ("u", "non-retroactive", ""))


def test_show_windows_and_queries(session: Session) -> None:
    assert only(session, "SHOW WINDOWS").rows == (("w", "SELECT s.k, s.v FROM s [ROWS 5]"),)
    ((name, refresh, text, complete, aside),) = only(session, "SHOW QUERIES").rows
    assert (name, refresh, complete, aside) == ("q", "best effort", "", "")
    assert text.startswith("SELECT s.k, COUNT(*) AS n FROM s")


def test_show_functions_names_what_can_be_called(session: Session) -> None:
    session.register_aggregate("geomean", [DOUBLE], DOUBLE, Squares)
    kinds = dict(only(session, "SHOW FUNCTIONS").rows)

    assert (kinds["SUM"], kinds["UPPER"], kinds["GEOMEAN"]) == ("aggregate", "scalar", "aggregate, yours")
    assert not {"AND", "LIKE", "NEGATE", "+", "IS NULL"} & set(kinds)


def test_show_settings_shows_what_was_set(session: Session) -> None:
    session.execute("SET explain = json")
    rows = {name: (value, choices) for name, value, choices, _ in only(session, "SHOW SETTINGS").rows}

    assert rows["explain"] == ("json", "tree | json | picture")
    assert rows["optimizer"] == ("on", "on | off")


@pytest.mark.parametrize("what", ["STREAMS", "TABLES", "WINDOWS", "QUERIES"])
def test_show_nothing(what: str) -> None:
    assert only(Session(), f"SHOW {what}").rows == ()


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        (
            "s",
            [
                ("ts", "TIMESTAMP", "timestamp"),
                ("k", "STRING", "tie"),
                ("v", "DOUBLE", ""),
                ("life", "INTERVAL", "lifetime"),
            ],
        ),
        ("t", [("k", "STRING", "primary key"), ("n", "INT", ""), ("since", "TIMESTAMP", "effect time")]),
        ("w", [("k", "STRING", ""), ("v", "DOUBLE", "")]),
        ("q", [("k", "STRING", ""), ("n", "BIGINT", "")]),
    ],
)
def test_describe(session: Session, name: str, rows: list[tuple[str, str, str]]) -> None:
    result = only(session, f"DESCRIBE {name}")

    assert result.columns == ("column", "type", "role")
    assert list(result.rows) == rows
    assert result.message.endswith(f" {name}")


@pytest.mark.parametrize(
    "text", ["SET explain = json", "SET explain TO json", "set Explain = JSON", "SET explain = 'json'"]
)
def test_set(session: Session, text: str) -> None:
    result = only(session, text)

    assert result.statement == Set("explain", "json")
    assert session.catalog.setting("explain") == "json"
    json.loads(only(session, "EXPLAIN q").message)


def test_the_optimizer_can_be_turned_off(session: Session) -> None:
    text = "SELECT s.k FROM s [RANGE 1 HOUR], arrivals [RANGE 1 HOUR] WHERE s.k = arrivals.k AND s.v > 5"
    optimized = only(session, text).message
    session.execute("SET optimizer = off")

    assert only(session, text).message != optimized


# EXPLAIN and queries


@pytest.mark.parametrize(
    ("statement", "name"),
    [("EXPLAIN q", "q"), ("EXPLAIN w", "w"), ("EXPLAIN SELECT k FROM s", None), ("SELECT k FROM s", None)],
)
def test_what_is_explained(session: Session, statement: str, name: str | None) -> None:
    result = only(session, statement)

    assert isinstance(result.statement, Explain | Ask)
    assert result.explanation is not None
    assert result.explanation.query == name
    assert result.message.startswith(f"{name or 'query'}: SELECT")


def test_forms_of_explain(session: Session) -> None:
    assert only(session, "EXPLAIN TREE q").message == only(session, "EXPLAIN q").message
    assert json.loads(only(session, "EXPLAIN JSON q").message)[0]["query"] == "q"
    assert only(session, "EXPLAIN PICTURE q").message.startswith("digraph")


def test_explaining_a_text_explains_every_query_of_it() -> None:
    explanations = Session().explain(STAGE + "SELECT k FROM w; EXPLAIN q; DESCRIBE q")

    assert [explanation.query for explanation in explanations] == ["q", None, "q"]


# INSERT, UPDATE, DELETE


def change(session: Session, text: str) -> TableChange:
    statement = only(session, text).statement
    assert isinstance(statement, TableChange)
    return statement


def test_insert_converts_constants_to_the_types_of_the_columns(session: Session) -> None:
    inserted = change(session, "INSERT INTO u VALUES ('a', '2026-01-31', 1, 2, 3, -128, '5 min')")

    ((k, day, price, ratio, big, small, life),) = inserted.rows
    assert (k, day, big, small, life) == ("a", 20_484, 3, -128, 5 * MINUTE)
    assert (price, type(price)) == (Decimal(1), Decimal)
    assert (ratio, type(ratio)) == (2.0, float)


def test_insert_of_typed_constants_and_nulls(session: Session) -> None:
    full = "('a', DATE '1970-01-02', -9999.99, 1e-3, NULL, NULL, INTERVAL 1 HOUR)"
    empty = "('b', NULL, NULL, NULL, NULL, NULL, NULL)"
    first, second = change(session, f"INSERT INTO u VALUES {full}, {empty}").rows

    assert first == ("a", 1, Decimal("-9999.99"), 0.001, None, None, HOUR)
    assert second == ("b", None, None, None, None, None, None)


def test_insert_into_some_columns_in_any_order(session: Session) -> None:
    inserted = change(session, "INSERT INTO u (BIG, k) VALUES (9223372036854775807, 'a'), (-1, 'b')")

    assert inserted.rows == (
        ("a", None, None, None, 2**63 - 1, None, None),
        ("b", None, None, None, -1, None, None),
    )


@pytest.mark.parametrize(
    "values",
    [
        "('a', 'soon', 1, 1, 1, 1, NULL)",
        "('a', NULL, 10000, 1, 1, 1, NULL)",
        "('a', NULL, 0.001, 1, 1, 1, NULL)",
        "('a', NULL, 1e2, 1, 1, 1, NULL)",
        "('a', NULL, 1, 'x', 1, 1, NULL)",
        "('a', NULL, 1, 1, 1.5, 1, NULL)",
        "('a', NULL, 1, 1, 1, 128, NULL)",
        "('a', NULL, 1, 1, 1, 1, 5)",
        "('a', NULL, 1, 1, 1, 1, 'a while')",
        "(TRUE, NULL, 1, 1, 1, 1, NULL)",
    ],
)
def test_insert_of_what_does_not_fit(session: Session, values: str) -> None:
    with pytest.raises(CqlTypeError):
        session.execute(f"INSERT INTO u VALUES {values}")


@pytest.mark.parametrize(
    ("text", "effect"),
    [
        ("INSERT INTO u (k) VALUES ('a')", None),
        ("INSERT INTO u (k) VALUES ('a') AT '2026-01-31'", "2026-01-31"),
        ("INSERT INTO u (k) VALUES ('a') AT TIMESTAMP '2026-01-31 12:00:00+01:00'", "2026-01-31 11:00:00"),
        ("UPDATE u SET big = 1 AT '2026-01-31 12:00:00.000001'", "2026-01-31 12:00:00.000001"),
        ("UPDATE u SET big = 1 WHERE k = 'a' AT '2026-01-31'", "2026-01-31"),
        ("DELETE FROM u AT '2026-01-31'", "2026-01-31"),
        ("DELETE FROM u WHERE k = 'a'", None),
    ],
)
def test_effect_times(session: Session, text: str, effect: str | None) -> None:
    assert change(session, text).effect == (None if effect is None else parse_timestamp(effect))


def test_update(session: Session) -> None:
    updated = change(session, "UPDATE u SET ratio = ratio * 2, price = 1 WHERE k = 'a' AND day > '2026-01-31'")

    assert (updated.kind, updated.table, updated.rows) == ("UPDATE", "u", ())
    (ratio, doubled), (price, one) = updated.assignments
    assert (ratio, price) == ("ratio", "price")
    assert doubled == Cast(Call("*", (ColumnReference("ratio", FLOAT), Literal(2, INT)), DOUBLE), FLOAT)
    assert isinstance(one, Literal)
    assert one.value == Decimal(1)
    assert updated.predicate is not None
    assert updated.predicate.type == BOOLEAN
    assert ColumnReference("day", DATE) in updated.predicate.arguments[1].arguments  # type: ignore[union-attr]


def test_delete(session: Session) -> None:
    assert change(session, "DELETE FROM u").predicate is None
    deleted = change(session, "DELETE FROM U WHERE u.k = 'a'")
    assert deleted.table == "u"
    assert deleted.predicate == Call("=", (ColumnReference("k", STRING), Literal("a", STRING)), BOOLEAN)


def test_messages_of_changes(session: Session) -> None:
    assert only(session, "INSERT INTO u (k) VALUES ('a')").message == "insert 1 row into u"
    two = only(session, "INSERT INTO u (k) VALUES ('a'), ('b') AT '2026-01-31'")
    assert two.message == "insert 2 rows into u, effective 2026-01-31 00:00:00"


# Names


@pytest.mark.parametrize(
    "text", ["SELECT k FROM s", "select K from S", "SeLeCt S.k FrOm s", 'SELECT "K" FROM "S"', "SELECT s.K FROM S"]
)
def test_names_are_known_in_any_case(session: Session, text: str) -> None:
    statement = only(session, text).statement

    assert isinstance(statement, Ask)
    (column,) = statement.plan.columns  # type: ignore[attr-defined]
    assert column.expression == ColumnReference("s.k", STRING)


def test_names_keep_the_case_they_were_created_with() -> None:
    session = Session()
    session.execute("CREATE STREAM Trades (TS TIMESTAMP, Price DOUBLE) TIMESTAMP BY ts")

    assert only(session, "DESCRIBE TRADES").message == "stream Trades"
    assert only(session, "DESCRIBE trades").rows[0] == ("TS", "TIMESTAMP", "timestamp")
    assert session.plan("SELECT * FROM trades").schema.names == ("TS", "Price")


def test_quoted_names_may_be_anything_but_empty_or_dotted() -> None:
    session = Session()
    session.execute(
        'CREATE STREAM "select" ("from" TIMESTAMP, "a b" INT, "quote "" inside" INT, `order` INT, "é" INT) '
        'TIMESTAMP BY "from"'
    )
    statement = only(
        session, 'SELECT "a b", "quote "" inside", "order", é, "select"."from" AS "group" FROM "select" [ROWS 5]'
    ).statement

    assert isinstance(statement, Ask)
    assert statement.plan.schema.names == ("a b", 'quote " inside', "order", "é", "group")
    again = only(session, query_text(statement.plan)).statement
    assert again == statement


def test_words_of_the_grammar_that_are_not_reserved_are_names() -> None:
    session = Session()
    session.execute(
        "CREATE STREAM stream (range TIMESTAMP, rows INT, slide INT, now INT, query INT, first INT) TIMESTAMP BY range"
    )
    plan = session.plan("SELECT range, rows, slide, now, query, first AS last FROM stream [RANGE 1 HOUR] AS internal")

    assert plan.schema.names == ("range", "rows", "slide", "now", "query", "last")


# Aggregates of one's own


def test_a_registered_aggregate_binds_and_has_its_type(session: Session) -> None:
    session.register_aggregate("wavg", [DOUBLE, DOUBLE], DOUBLE, Squares)
    plan = session.plan("SELECT k, WAVG(v, 2) AS mean, wavg(v + 1, v) AS other FROM s [RANGE 1 HOUR] GROUP BY k")

    assert [field.type for field in plan.schema] == [STRING, DOUBLE, DOUBLE]
    (group_by,) = (node for node in plan.walk() if isinstance(node, GroupBy))
    assert [named.call.function for named in group_by.aggregates] == ["WAVG", "WAVG"]


def test_a_registered_aggregate_makes_a_query_grouped(session: Session) -> None:
    session.register_aggregate("anything", [STRING], BIGINT, Squares)

    assert session.plan("SELECT ANYTHING(k) AS n FROM s [ROWS 5]").schema.types == (BIGINT,)
    assert "neither a key nor an aggregate" in refusal(session, "SELECT k, ANYTHING(k) AS n FROM s [ROWS 5]")
    assert "cannot stand in WHERE" in refusal(session, "SELECT k FROM s WHERE ANYTHING(k) > 1")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("WAVG(v)", "WAVG takes 2 arguments"),
        ("WAVG(v, k)", "WAVG takes DOUBLE, this is STRING"),
        ("WAVG(DISTINCT v)", "WAVG takes no DISTINCT"),
        ("WAVG(*)", "WAVG(*) has no meaning"),
    ],
)
def test_a_registered_aggregate_is_checked(session: Session, call: str, message: str) -> None:
    session.register_aggregate("wavg", [DOUBLE, DOUBLE], DOUBLE, Squares)

    with pytest.raises(CqlError) as caught:
        session.execute(f"SELECT {call} AS x FROM s [ROWS 5]")
    assert caught.value.message == message
    assert caught.value.marked == call


@pytest.mark.parametrize(
    "name", ["sum", "MEAN", "first_value", "upper", "POW", "ifnull", "select", "two words", "", "1st"]
)
def test_names_that_an_aggregate_cannot_have(session: Session, name: str) -> None:
    with pytest.raises(WindrowError):
        session.register_aggregate(name, [DOUBLE], DOUBLE, Squares)


def test_sinks_of_late_and_rejected_rows(tmp_path: Path) -> None:
    """Bound, and kept by the catalog."""
    session = Session(tmp_path)
    session.execute("""
        CREATE STREAM s (ts TIMESTAMP) TIMESTAMP BY ts
        REJECTED INTO python('a:b', on_error => 'stop') LATE INTO json('late')
    """)
    session.close()
    entry = Session(tmp_path).catalog.stream("s")
    assert entry.late_sink == Connector("json", ("late",))
    assert entry.rejected_sink == Connector("python", ("a:b",), (("on_error", "stop"),))
