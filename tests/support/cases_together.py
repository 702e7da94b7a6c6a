"""Query test files, many in one engine: every case has streams, tables and a query of its own, told apart by a number.

Queries that read other streams move with these alone, so that each has to come to what it comes to by itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from support.case_runtime import Outcome, Setup, outcome_of, push_batch
from support.rows_in_view import Row
from windrow.catalog import StreamEntry, TableEntry
from windrow.errors import WindrowError
from windrow.session import Session

_TOKEN = re.compile(r"'(?:[^']|'')*'|\d[\d.]*\s+\w+|\w+|.", re.DOTALL)  # what follows a number is a unit, not a name


@dataclass(frozen=True)
class Apart:
    """A case under names that no other has."""

    setup: Setup
    names: Mapping[str, str]  # as the case has them, in lower case -> as the engine has them

    def beside(self, query: str) -> Apart:
        """Another query over the same streams and tables, which are there already, as are their rows."""
        more = replace(
            self.setup, query=_renamed(query, self.names), declarations=[], statements=[], batches=[], ending=[]
        )
        return replace(self, setup=more)

    def as_written(self, outcome: Outcome) -> Outcome:
        late, rejected = (
            {name: rows[self.names[name.lower()]] for name in self.names if self.names[name] in rows}
            for rows in (outcome.late, outcome.rejected or {})
        )
        return replace(outcome, late=late, rejected=rejected)

    def error_as_written(self, error: WindrowError) -> WindrowError:
        back = {new.lower(): old for old, new in self.names.items()}
        return WindrowError(_renamed(error.message, back), None if error.hint is None else _renamed(error.hint, back))


def apart(setup: Setup, number: int) -> Apart:
    session = Session()
    session.execute(";\n".join(setup.declarations))
    names = {name.lower(): f"{name}_of_{number}" for name in session.catalog.names()}
    declared = [*session.catalog.entries(StreamEntry), *session.catalog.entries(TableEntry)]
    columns = {column.name.lower() for entry in declared for column in entry.columns}
    assert not columns & set(names), "a column and a relation of one name cannot be told apart"

    def texts(of: Sequence[str]) -> list[str]:
        return [_renamed(text, names) for text in of]

    own = replace(
        setup,
        declarations=texts(setup.declarations),
        query=_renamed(setup.query, names),
        statements=texts(setup.statements),
        schemas={names[name.lower()]: schema for name, schema in setup.schemas.items()},
        batches=[{names[name.lower()]: rows for name, rows in batch.items()} for batch in setup.batches],
        ending=[names[name.lower()] for name in setup.ending],
    )
    return Apart(own, names)


def _renamed(text: str, names: Mapping[str, str]) -> str:
    return "".join(names.get(token.lower(), token) for token in _TOKEN.findall(text))


def batches_by(streams: Mapping[str, list[Row]], cuts: Sequence[int]) -> list[dict[str, list[Row]]]:
    """The rows of streams that are before each cut, and the rest."""
    edges = [None, *sorted(set(cuts)), None]
    return [
        {
            name: between
            for name, rows in streams.items()
            if (between := [row for row in rows if (a is None or a <= row["ts"]) and (b is None or row["ts"] < b)])
        }
        for a, b in pairwise(edges)
    ]


def run_together(engine: Any, cases: Sequence[Apart]) -> list[Outcome | WindrowError]:
    """What each case came to; one that is refused has no part in the rest."""
    found: dict[int, Outcome | WindrowError] = {}
    queries: dict[int, Any] = {}
    for number, case in enumerate(cases):
        setup = case.setup
        try:
            engine.sql(";\n".join([*setup.declarations, *(f"SET {k} = {v}" for k, v in setup.settings.items())]))
            queries[number] = engine.query(setup.query, f"query_of_{number}")
            for statement in setup.statements:
                engine.sql(statement)
        except WindrowError as error:
            found[number] = case.error_as_written(error)
    for turn in range(max(len(case.setup.batches) for case in cases)):
        for number in queries:
            setup = cases[number].setup
            if turn < len(setup.batches):
                push_batch(engine, setup.batches[turn], setup)
        engine.step()
    for number in queries:
        for name in cases[number].setup.ending:
            engine.end(name)
    engine.run()
    for number, query in queries.items():
        refreshes = [query.refreshes()] if query.slide is not None else []
        found[number] = cases[number].as_written(outcome_of(engine, query, cases[number].setup, refreshes))
    return [found[number] for number in range(len(cases))]
