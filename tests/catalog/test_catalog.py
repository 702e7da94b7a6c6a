"""The catalog's folder: everything comes back; a crash at any moment leaves the state before or after a statement."""

import json
import os
import signal
import subprocess
import sys
import zlib
from decimal import Decimal
from pathlib import Path

import pytest

from support.own_aggregates import Squares
from windrow.catalog import (
    Catalog,
    ColumnDefinition,
    Connector,
    Punctuation,
    QueryEntry,
    StreamEntry,
    TableEntry,
    WindowEntry,
)
from windrow.catalog.journal import VERSION
from windrow.errors import CatalogError
from windrow.plan.user_aggregate import UserAggregate
from windrow.session import Session
from windrow.types import DOUBLE

STATEMENTS = [
    "CREATE STREAM s (ts TIMESTAMP, k STRING, v DECIMAL(20, 5) NOT NULL, life INTERVAL) "
    "FROM generator('ticks', rate => 250, share => 0.25, mark => X'00ff', on => TRUE, none => NULL) "
    "TIMESTAMP BY ts, k SLACK 2 SECONDS LIFETIME BY life HEARTBEAT 5 SECONDS "
    "IDLE AFTER 1 MINUTE AHEAD 1 DAY PUNCTUATION WHERE v < 0 BY k",
    "CREATE STREAM arrivals (k STRING) ARRIVAL",
    "CREATE TABLE t (k STRING, name STRING, since TIMESTAMP, PRIMARY KEY (k)) NON RETROACTIVE "
    "FROM csv('folder') EFFECTIVE BY since",
    'CREATE TABLE "odd name" ("group" INT PRIMARY KEY)',
    "CREATE WINDOW w AS SELECT k, v FROM s [RANGE 10 MINUTES]",
    "CREATE QUERY q AS SELECT k, SUM(v) AS total FROM w GROUP BY k HAVING SUM(v) > 10 INTO json('out')",
    "CREATE QUERY p AS SELECT k FROM s [RANGE 1 HOUR SLIDE 1 MINUTE] REFRESH BEST EFFORT",
    "CREATE QUERY gone AS SELECT k FROM arrivals",
    "SET explain = json",
    "SET optimizer = off",
    "DROP QUERY gone",
]


def contents(session: Session) -> tuple[object, ...]:
    """All that a session keeps; plans as they are, since entries do not compare them."""
    catalog = session.catalog
    entries = [catalog.get(name) for name in catalog.names()]
    return (
        entries,
        [getattr(entry, "plan", None) for entry in entries],
        [catalog.users(name) for name in catalog.names()],
        [catalog.setting(name) for name in ("explain", "optimizer")],
        [catalog.statistics.of(name) for name in catalog.names()],
    )


def contents_of(folder: Path) -> tuple[object, ...]:
    session = Session(folder)
    try:
        return contents(session)
    finally:
        session.close()


def filled(folder: Path | None) -> Session:
    session = Session(folder)
    for statement in STATEMENTS:
        session.execute(statement)
    return session


def journal(folder: Path) -> Path:
    return folder / "catalog.log"


def test_everything_comes_back(tmp_path: Path) -> None:
    session = filled(tmp_path)
    session.catalog.record_statistics("s", rate=12.5, distinct={"K": 7.0})
    before = contents(session)
    session.close()

    assert contents_of(tmp_path) == before


def test_entries_are_what_was_declared(tmp_path: Path) -> None:
    filled(tmp_path).close()
    catalog = Catalog(tmp_path)

    (s, arrivals) = catalog.entries(StreamEntry)
    assert (s.timestamp, s.ties, s.slack, s.lifetime, s.heartbeat) == ("ts", ("k",), 2_000_000, "life", 5_000_000)
    assert [(column.name, str(column.type), column.nullable) for column in s.columns] == [
        ("ts", "TIMESTAMP", True),
        ("k", "STRING", True),
        ("v", "DECIMAL(20, 5)", False),
        ("life", "INTERVAL", True),
    ]
    options = (("rate", 250), ("share", Decimal("0.25")), ("mark", b"\x00\xff"), ("on", True), ("none", None))
    assert s.connector == Connector("generator", ("ticks",), options)
    assert arrivals.timestamp is None
    (t, odd) = catalog.entries(TableEntry)
    assert (t.primary_key, t.retroactive, t.effective) == (("k",), False, "since")
    assert (odd.name, odd.primary_key) == ("odd name", ("group",))
    assert [query.name for query in catalog.entries(QueryEntry)] == ["q", "p"]
    assert catalog.statistics.rate("s") == 250.0


def test_what_is_written_names_no_module_and_no_class(tmp_path: Path) -> None:
    """So that a file or a class can be moved and renamed, and the folder is still read."""
    filled(tmp_path).close()
    written = journal(tmp_path).read_text()
    classes = (StreamEntry, TableEntry, WindowEntry, QueryEntry, ColumnDefinition, Connector, Punctuation)
    assert not [name for name in ("windrow", *(of.__name__ for of in classes)) if name in written]


def test_windows_and_queries_are_planned_again(tmp_path: Path) -> None:
    filled(tmp_path).close()
    session = Session(tmp_path)

    plans = {entry.name: entry.plan for kind in (WindowEntry, QueryEntry) for entry in session.catalog.entries(kind)}
    unstored = filled(None)
    assert plans == {name: unstored.catalog.get(name).plan for name in ("w", "q", "p")}  # type: ignore[union-attr]
    assert session.execute("EXPLAIN TREE q")[0].message == unstored.execute("EXPLAIN TREE q")[0].message


def test_a_session_goes_on_where_the_last_one_ended(tmp_path: Path) -> None:
    filled(tmp_path).close()
    session = Session(tmp_path)
    session.execute("DROP QUERY q; DROP WINDOW w; CREATE QUERY r AS SELECT k FROM s; SET explain = picture")
    before = contents(session)
    session.close()

    assert contents_of(tmp_path) == before


def test_a_stored_query_whose_aggregate_is_not_registered_is_named(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.register_aggregate("geomean", [DOUBLE], DOUBLE, Squares)
    session.execute("CREATE STREAM s (ts TIMESTAMP, v DOUBLE) TIMESTAMP BY ts")
    session.execute("CREATE QUERY g AS SELECT GEOMEAN(v) AS m FROM s [ROWS 10]")
    session.close()

    with pytest.raises(CatalogError, match="the stored query g cannot be planned: there is no function GEOMEAN"):
        Session(tmp_path)
    again = Session(tmp_path, aggregates=[UserAggregate("geomean", (DOUBLE,), DOUBLE, Squares())])
    assert again.catalog.get("g") is not None


@pytest.mark.parametrize("last", range(len(STATEMENTS)))
def test_a_crash_at_any_byte_of_a_write_leaves_before_or_after(tmp_path: Path, last: int) -> None:
    session = Session(tmp_path)
    for statement in STATEMENTS[:last]:
        session.execute(statement)
    before, start = contents(session), journal(tmp_path).stat().st_size
    session.execute(STATEMENTS[last])
    after, data = contents(session), journal(tmp_path).read_bytes()
    session.close()

    assert before != after
    for length in range(start, len(data) + 1):
        journal(tmp_path).write_bytes(data[:length])
        assert contents_of(tmp_path) == (after if length == len(data) else before), length


def test_a_crash_in_the_first_write_leaves_an_empty_catalog(tmp_path: Path) -> None:
    Session(tmp_path).close()
    data = journal(tmp_path).read_bytes()

    for length in range(len(data) + 1):
        journal(tmp_path).write_bytes(data[:length])
        assert contents_of(tmp_path) == contents(Session())


def test_writing_goes_on_after_an_incomplete_line(tmp_path: Path) -> None:
    filled(tmp_path).close()
    with journal(tmp_path).open("ab") as file:
        file.write(b'12345678 {"put":')
    session = Session(tmp_path)
    session.execute("CREATE TABLE later (k STRING)")
    before = contents(session)
    session.close()

    assert contents_of(tmp_path) == before


def test_a_crash_while_compacting_leaves_the_old_file(tmp_path: Path) -> None:
    session = filled(tmp_path)
    before = contents(session)
    session.close()
    (tmp_path / "catalog.new").write_bytes(b"half of a new fi")

    assert contents_of(tmp_path) == before


@pytest.mark.parametrize("number", [1, 2, len(STATEMENTS)])
def test_a_damaged_line_is_named(tmp_path: Path, number: int) -> None:
    filled(tmp_path).close()
    lines = journal(tmp_path).read_bytes().splitlines(keepends=True)
    line = bytearray(lines[number - 1])
    line[len(line) // 2] ^= 1
    journal(tmp_path).write_bytes(b"".join([*lines[: number - 1], bytes(line), *lines[number:]]))

    with pytest.raises(CatalogError, match=f"catalog.log, line {number} is damaged") as caught:
        Session(tmp_path)
    assert caught.value.hint is not None


def test_every_flipped_bit_is_noticed(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.execute("CREATE TABLE t (k STRING)")
    session.execute("CREATE TABLE u (k STRING)")
    session.close()
    data = journal(tmp_path).read_bytes()
    begin = data.index(b"\n") + 1
    end = data.index(b"\n", begin)

    for position in range(begin, end):
        damaged = bytearray(data)
        damaged[position] ^= 4
        journal(tmp_path).write_bytes(damaged)
        with pytest.raises(CatalogError):
            Session(tmp_path)


def test_a_folder_is_open_once(tmp_path: Path) -> None:
    session = Session(tmp_path)

    with pytest.raises(CatalogError) as caught:
        Session(tmp_path)
    assert str(caught.value) == (
        f"the catalog folder {tmp_path} is in use by another process\n"
        "  hint: stop the other one, or give this one a folder of its own"
    )
    session.close()
    Session(tmp_path).close()


def test_a_refused_folder_is_free_again(tmp_path: Path) -> None:
    filled(tmp_path).close()
    data = journal(tmp_path).read_bytes()
    refusals = []
    for wrong in (b"damaged\n" + data, data + line_of({"drop": "nothing"}), data + line_of({"put": NO_SUCH_STREAM})):
        journal(tmp_path).write_bytes(wrong)
        with pytest.raises(CatalogError) as caught:
            Session(tmp_path)
        refusals.append(caught)
    journal(tmp_path).write_bytes(data)

    Session(tmp_path).close()
    assert not any("in use" in refusal.value.message for refusal in refusals)


NO_SUCH_STREAM = {"kind": "window", "name": "x", "text": "SELECT * FROM nowhere", "uses": []}


def test_another_process_is_refused(tmp_path: Path) -> None:
    session = filled(tmp_path)
    script = "import sys; from windrow.session import Session; Session(sys.argv[1])"
    refused = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True)
    session.close()
    accepted = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True)

    assert refused.returncode != 0
    assert "is in use by another process" in refused.stderr
    assert accepted.returncode == 0, accepted.stderr


def test_a_folder_that_cannot_be_one(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(CatalogError, match="cannot be used"):
        Session(tmp_path / "file")


def test_compaction_keeps_everything_and_bounds_the_file(tmp_path: Path) -> None:
    session = filled(tmp_path)
    session.catalog.record_statistics("s", rate=12.5, distinct={"k": 7.0})
    sizes = []
    for number in range(2_000):
        form = ("tree", "json", "picture")[number % 3]
        session.execute(f"SET explain = {form}; CREATE TABLE passing{number} (k STRING); DROP TABLE passing{number}")
        sizes.append(journal(tmp_path).stat().st_size)
    before = contents(session)
    session.close()

    assert max(sizes) < 2 * max(sizes[:400])
    assert contents_of(tmp_path) == before


def test_a_compacted_folder_is_written_further(tmp_path: Path) -> None:
    session = filled(tmp_path)
    for number in range(1_200):
        session.execute(f"SET explain = {('tree', 'json')[number % 2]}")
    session.execute("CREATE TABLE after (k STRING)")
    before = contents(session)
    session.close()

    assert contents_of(tmp_path) == before


def line_of(record: dict[str, object]) -> bytes:
    body = json.dumps(record).encode()
    return b"%08x %s\n" % (zlib.crc32(body), body)


def test_another_version_is_refused(tmp_path: Path) -> None:
    journal(tmp_path).write_bytes(line_of({"version": VERSION + 1}))

    with pytest.raises(CatalogError) as caught:
        Session(tmp_path)
    assert str(caught.value) == (
        f"{journal(tmp_path)} has version {VERSION + 1}\n"
        f"  hint: this Windrow reads version {VERSION}; use the one that wrote the folder"
    )


@pytest.mark.parametrize(
    "record",
    [
        {"put": {"kind": "view", "name": "v"}},
        {"put": {"kind": "table", "name": "t", "columns": [{"name": "k", "type": "MONEY", "nullable": True}]}},
        {"put": {"kind": "table", "name": "t", "columns": [], "colour": "red"}},
        {"drop": "nothing"},
        {"set": ["explain"]},
        {"statistics": 5},
        {"rename": ["a", "b"]},
        ["put"],
    ],
    ids=json.dumps,
)
def test_a_record_of_another_kind_is_refused(tmp_path: Path, record: dict[str, object]) -> None:
    journal(tmp_path).write_bytes(line_of({"version": VERSION}) + line_of(record))

    with pytest.raises(CatalogError, match="cannot be understood"):
        Session(tmp_path)


def test_a_failed_statement_keeps_those_before_it(tmp_path: Path) -> None:
    session = Session(tmp_path)
    with pytest.raises(Exception, match="there is no column"):
        session.execute("CREATE TABLE t (k STRING); SELECT nothing FROM t; CREATE TABLE u (k STRING)")
    session.close()

    assert [entry.name for entry in Catalog(tmp_path).entries(TableEntry)] == ["t"]


ENDLESS = """
import sys
from windrow.plan.user_aggregate import UserAggregate
from windrow.session import Session
session = Session(sys.argv[1])
number = 0
while True:
    session.execute(f"CREATE TABLE t{number} (k STRING); SET explain = {('tree', 'json')[number % 2]}")
    print(number, flush=True)
    number += 1
"""


@pytest.mark.parametrize("statements", [1, 40, 700])
def test_a_killed_process_leaves_a_prefix(tmp_path: Path, statements: int) -> None:
    """Every statement that was answered is there, and at most those of the one call that was under way besides."""
    process = subprocess.Popen([sys.executable, "-c", ENDLESS, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    answered = -1
    while answered < statements:
        answered = int(process.stdout.readline())
    os.kill(process.pid, signal.SIGKILL)
    answered = max([answered, *map(int, process.stdout.read().split())])
    process.wait()

    kept = [entry.name for entry in Catalog(tmp_path).entries(TableEntry)]
    assert kept == [f"t{number}" for number in range(len(kept))]
    assert answered + 1 <= len(kept) <= answered + 2


def test_in_memory_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    filled(None).close()

    assert list(tmp_path.iterdir()) == []


def test_statistics_are_forgotten_with_their_stream(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.execute("CREATE STREAM s (ts TIMESTAMP, k STRING) TIMESTAMP BY ts")
    session.catalog.record_statistics("S", rate=5.0, distinct={"K": 3.0})
    assert (session.catalog.statistics.rate("s"), session.catalog.statistics.distinct("s", "k")) == (5.0, 3.0)
    session.execute("DROP STREAM s; CREATE STREAM s (ts TIMESTAMP, k STRING) TIMESTAMP BY ts")
    session.close()

    assert Catalog(tmp_path).statistics.of("s") == (None, {})


def test_a_query_can_read_a_query(tmp_path: Path) -> None:
    """They are bound in the order in which they were created, windows and queries alike."""
    session = Session(tmp_path)
    session.execute("CREATE STREAM s (ts TIMESTAMP, k STRING) TIMESTAMP BY ts")
    session.execute("CREATE QUERY q AS SELECT k FROM s [RANGE 1 HOUR]")
    session.execute("CREATE WINDOW w AS SELECT k FROM q")
    session.execute("CREATE QUERY r AS SELECT k FROM w")
    before = contents(session)
    session.close()

    assert contents_of(tmp_path) == before


def test_user_defined_aggregates_live_in_the_process() -> None:
    session = Session()
    session.register_aggregate("total", [DOUBLE], DOUBLE, Squares)

    assert session.catalog.aggregates["TOTAL"].is_subtractable
    assert Session().catalog.aggregates == {}
