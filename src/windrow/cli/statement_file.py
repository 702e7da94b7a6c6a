"""A file of statements: what is wrong with it is found before anything starts, and said with its name and line."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from windrow.catalog import Catalog, Entry, QueryEntry, StreamEntry, TableEntry
from windrow.cql import Ask, Create, Describe, Explain, Show, ShowStatement, Statement, placed_statements
from windrow.errors import CqlError, CqlNameError, WindrowError
from windrow.plan.analysis.relations import streams_of
from windrow.session import Session

ASKING = (Ask, Show, ShowStatement, Describe, Explain)  # statements that give something to print


class StatementFile(NamedTuple):
    name: str  # empty for statements that are in no file
    text: str

    @property
    def what(self) -> str:
        """As messages call it."""
        return self.name or "the statements"

    def check(self, is_resumed: bool) -> list[str]:
        """Read and plan all of it, and look for its sources; what is to be said although it can run.

        A file that is resumed may name what only the checkpoint knows.
        """
        session = Session()
        try:
            found = list(self._applied(session))
        except CqlNameError:
            if is_resumed:
                return []
            raise
        if not found:
            hint = "write CREATE STREAM ... FROM ... and CREATE QUERY name AS SELECT ..."
            raise WindrowError(f"there are no statements in {self.what}", hint)
        queries = session.catalog.entries(QueryEntry)
        if not queries and not is_resumed and not any(isinstance(one, ASKING) for one in found):
            hint = "write CREATE QUERY name AS SELECT ..., or SELECT ... FROM a table"
            raise WindrowError(f"there is no query in {self.what}", hint)
        return [] if is_resumed else self._without_source(session.catalog, queries)

    @contextmanager
    def named(self) -> Iterator[None]:
        """Errors in the text say which file it is."""
        try:
            yield
        except CqlError as error:
            if error.text == self.text and self.name:
                error.file = self.name
            raise

    def _applied(self, session: Session) -> Iterator[Statement]:
        with self.named():
            for statement, line in placed_statements(self.text, session.catalog):
                try:
                    session.apply(statement)
                    _check(statement, session)
                except CqlError as error:
                    raise error.locate(self.text) from None
                except WindrowError as error:
                    raise WindrowError(f"{self.what}, line {line}: {error.message}", error.hint) from None
                yield statement

    def _without_source(self, catalog: Catalog, queries: list[QueryEntry]) -> list[str]:
        read = {name.lower() for query in queries if query.plan is not None for name in streams_of(query.plan)}
        streams = [stream for stream in catalog.entries(StreamEntry) if stream.name.lower() in read]
        lonely = [stream.name for stream in streams if stream.connector is None]
        if lonely and len(lonely) == len(streams):
            hint = "add FROM parquet('folder'), csv, json or generator(...) to CREATE STREAM, or push rows from Python"
            raise WindrowError(f"no stream in {self.what} has a source: nothing would come", hint)
        return [f"stream {name} has no source: it has no rows here" for name in lonely]


def read_statements(file: Path) -> StatementFile:
    """Of a file; `-` is what comes in."""
    try:
        if str(file) == "-":
            return StatementFile("", sys.stdin.read())
        return StatementFile(str(file), file.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise WindrowError(f"{file} cannot be read: {reason}") from None


def _check(statement: Statement, session: Session) -> None:
    """What a runtime would refuse, as far as it can be known without one."""
    if isinstance(statement, Ask):
        from windrow.runtime.questions import check_kept  # loads Arrow

        check_kept(statement.plan)
    if isinstance(statement, Create):
        _check_entry(statement.entry, session)


def _check_entry(entry: Entry, session: Session) -> None:
    if isinstance(entry, StreamEntry | TableEntry) and entry.connector is not None:
        from windrow.sources.connectors import check_source, source_of  # load Arrow, which `explain` does without

        check_source(entry.connector)
        if entry.connector.name == "generator":
            source_of(entry.connector, entry.columns)
    if isinstance(entry, QueryEntry) and entry.plan is not None:
        session.explain_query(entry.name, entry.plan)
