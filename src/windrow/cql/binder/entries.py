"""Names in statements: what they stand for, and whether they are free."""

from __future__ import annotations

from sqlglot import exp

from windrow.catalog import Catalog, Entry
from windrow.cql.syntax import span_of
from windrow.errors import CqlNameError, nearest


def check_free(name: exp.Identifier, catalog: Catalog) -> None:
    taken = catalog.taken(name.name)
    if taken is not None:
        hint = f"DROP {taken.kind.upper()} {taken.name} first, or choose another name"
        raise CqlNameError(f"there is already a {taken.kind} {taken.name}", span_of(name), hint)


def find(name: exp.Identifier, catalog: Catalog) -> Entry:
    entry = catalog.get(name.name)
    if entry is None:
        hint = nearest(name.name, catalog.names(), "names")
        raise CqlNameError(f"there is nothing called {name.name}", span_of(name), hint)
    return entry
