"""Names of the user's own in statements that engines write: quoted where CQL would read them as something else."""

from __future__ import annotations

from windrow.catalog import StreamEntry, TableEntry
from windrow.runtime.create_statements import stream_statement, table_statement
from windrow.session import Session

COLUMNS = [('a "b"', "TIMESTAMP"), ("order", "INT")]


def test_a_stream_may_have_any_names() -> None:
    session = Session(None)
    list(session.run(stream_statement('s "1"', COLUMNS, 'a "b"', "1 SECOND")))
    entry = session.catalog.get('s "1"')
    assert isinstance(entry, StreamEntry)
    assert [column.name for column in entry.columns] == ['a "b"', "order"]
    assert entry.timestamp == 'a "b"' and entry.slack == 1_000_000


def test_a_table_may_have_any_names() -> None:
    session = Session(None)
    list(session.run(table_statement("select", COLUMNS, ["order"], False, "it's here")))
    entry = session.catalog.get("select")
    assert isinstance(entry, TableEntry)
    assert not entry.retroactive
    assert entry.connector is not None and entry.connector.arguments == ("it's here",)
