"""The catalog: what names stand for, what was measured, what was set; durable in a folder."""

from windrow.catalog.catalog import Catalog, free_name
from windrow.catalog.entries import (
    ColumnDefinition,
    Connector,
    Entry,
    Punctuation,
    QueryEntry,
    StreamEntry,
    TableEntry,
    ViewEntry,
    WindowEntry,
    fields_of,
)
from windrow.catalog.settings import SETTINGS

__all__ = [
    "SETTINGS",
    "Catalog",
    "ColumnDefinition",
    "Connector",
    "Entry",
    "Punctuation",
    "QueryEntry",
    "StreamEntry",
    "TableEntry",
    "ViewEntry",
    "WindowEntry",
    "fields_of",
    "free_name",
]
