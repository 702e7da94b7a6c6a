"""Columns of rows by the names that were declared: as in SQL, whatever the case of the letters."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import pyarrow as pa

from windrow.errors import WindrowError

_NOT_DECLARED = b"windrow.not_declared"  # in the metadata of a table: the names of columns that were not read


class DeclaredColumns(NamedTuple):
    """How columns are called where they are, by their declared names, and what the others there are called."""

    names: dict[str, str]
    others: list[str]

    def table(self, table: pa.Table) -> pa.Table:
        """The columns of a table that are declared, under their declared names; it remembers what the others were."""
        chosen = table.select(list(self.names.values())).rename_columns(list(self.names))
        return self.remembered(chosen)

    def remembered(self, table: pa.Table) -> pa.Table:
        return table.replace_schema_metadata({_NOT_DECLARED: json.dumps(self.others)})


def declared_columns(given: Sequence[str], declared: Iterable[str]) -> DeclaredColumns:
    """Each declared column among those that are given; when several could be meant, the one of the same case is."""
    by_letters: dict[str, list[str]] = {}
    for name in given:
        by_letters.setdefault(name.lower(), []).append(name)
    names = {}
    for name in declared:
        found = by_letters.get(name.lower(), [])
        if len(found) > 1 and found.count(name) != 1:
            both = " and ".join(found)
            raise WindrowError(f"the columns {both} could both be {name}", f"call one of them {name}")
        if found:
            names[name] = name if name in found else found[0]
    taken = set(names.values())
    return DeclaredColumns(names, [name for name in given if name not in taken])


def not_declared(table: pa.Table) -> list[str]:
    """What the columns are called that were beside those of a table where it was read."""
    written = (table.schema.metadata or {}).get(_NOT_DECLARED)
    return [] if written is None else list(json.loads(written))
