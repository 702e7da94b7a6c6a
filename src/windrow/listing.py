"""The tables of SHOW and DESCRIBE."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from windrow.catalog import (
    SETTINGS,
    Catalog,
    Entry,
    QueryEntry,
    StreamEntry,
    TableEntry,
    ViewEntry,
    WindowEntry,
)
from windrow.plan.aggregates import AGGREGATES
from windrow.plan.functions import REWRITES, scalar_names
from windrow.plan.functions.aggregate_rewrites import AGGREGATE_REWRITES

Listing: TypeAlias = tuple[tuple[str, ...], Sequence[tuple[str, ...]]]


def _show_streams(catalog: Catalog, remarks: Mapping[str, str]) -> Listing:
    rows = [
        (s.name, s.timestamp or "arrival", s.connector.name if s.connector else "", remarks.get(s.name.lower(), ""))
        for s in catalog.entries(StreamEntry)
    ]
    return ("stream", "time", "source", "holds"), rows


def _show_tables(catalog: Catalog, remarks: Mapping[str, str]) -> Listing:
    kinds = {True: "retroactive", False: "non-retroactive"}
    rows = [
        (t.name, kinds[t.retroactive], t.connector.name if t.connector else "") for t in catalog.entries(TableEntry)
    ]
    return ("table", "changes", "source"), rows


def _show_windows(catalog: Catalog, remarks: Mapping[str, str]) -> Listing:
    return ("window", "text"), [(window.name, window.text) for window in catalog.entries(WindowEntry)]


def _show_views(catalog: Catalog, remarks: Mapping[str, str]) -> Listing:
    return ("view", "text"), [(view.name, view.text) for view in catalog.entries(ViewEntry)]


def _show_queries(catalog: Catalog, remarks: Mapping[str, str], complete: Mapping[str, str]) -> Listing:
    """Since when queries are complete is said of those that came later than rows."""
    rows = [
        (q.name, q.refresh, q.text, complete.get(q.name.lower(), ""), remarks.get(q.name.lower(), ""))
        for q in catalog.entries(QueryEntry)
    ]
    return ("query", "refresh", "text", "complete from", "set aside"), rows


def _show_functions(catalog: Catalog, remarks: Mapping[str, str]) -> Listing:
    own = [(name, "aggregate, yours") for name in catalog.aggregates]
    own += [(name, "scalar, yours") for name in catalog.functions]
    aggregates = [(name, "aggregate") for name in (*AGGREGATES, *AGGREGATE_REWRITES)]
    scalars = [(name, "scalar") for name in dict.fromkeys((*scalar_names(), *REWRITES))]
    rows = [*aggregates, *own, *scalars]
    return ("function", "kind"), rows


def _show_settings(catalog: Catalog, remarks: Mapping[str, str]) -> Listing:
    rows = [(s.name, catalog.setting(s.name), " | ".join(s.values), s.meaning) for s in SETTINGS.values()]
    return ("setting", "value", "choices", "meaning"), rows


_SHOWN: dict[str, Callable[[Catalog, Mapping[str, str]], Listing]] = {
    "streams": _show_streams,
    "tables": _show_tables,
    "windows": _show_windows,
    "views": _show_views,
    "functions": _show_functions,
    "settings": _show_settings,
}


def listing(
    what: str, catalog: Catalog, remarks: Mapping[str, str], complete: Mapping[str, str] | None = None
) -> Listing:
    """What SHOW gives: the names of columns, and rows.

    `remarks` of a runtime are by names in lower case: who waits for a stream, why a query is set aside.
    `complete`, by the same names, says since when queries are that came later.
    """
    if what == "queries":
        return _show_queries(catalog, remarks, complete or {})
    return _SHOWN[what](catalog, remarks)


def description(entry: Entry) -> Listing:
    """What DESCRIBE gives."""
    return ("column", "type", "role"), tuple(_columns_of(entry))


def _columns_of(entry: Entry) -> Iterator[tuple[str, str, str]]:
    if isinstance(entry, WindowEntry | ViewEntry | QueryEntry):
        assert entry.plan is not None, f"{entry.name} has not been bound"
        yield from ((field.name, str(field.type), "") for field in entry.plan.schema)
        return
    for column in entry.columns:
        computed = () if column.computed is None else (f"AS {column.computed}",)
        yield column.name, str(column.type), ", ".join(filter(None, (_role(entry, column.name), *computed)))


def _role(entry: StreamEntry | TableEntry, column: str) -> str:
    if isinstance(entry, TableEntry):
        return "primary key" if column in entry.primary_key else "effect time" if column == entry.effective else ""
    if column == entry.timestamp:
        return "timestamp"
    if column in entry.ties:
        return "tie"
    return "lifetime" if column == entry.lifetime else "closed by punctuations" if column in entry.punctuated else ""
