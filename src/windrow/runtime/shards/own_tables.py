"""Tables whose rows are kept in the checkpoint itself: their statements say so, and not where the checkpoint is."""

from __future__ import annotations

from dataclasses import replace

from windrow.catalog import Connector
from windrow.runtime.shards.storage.files.file_names import file_name
from windrow.runtime.shards.storage.files.folder import Folder

_HERE = "checkpoint:"


def own_source(table: str) -> str:
    """What stands in the statement of a table."""
    return f"{_HERE}tables/{file_name(table.lower())}"


def own_place(folder: Folder, source: str) -> str:
    """Where that is at present."""
    return f"{folder.place}/{source.removeprefix(_HERE)}" if source.startswith(_HERE) else source


def at_its_place(connector: Connector, folder: Folder) -> Connector:
    """A connector as it can be read."""
    if not connector.arguments or not str(connector.arguments[0]).startswith(_HERE):
        return connector
    return replace(connector, arguments=(own_place(folder, str(connector.arguments[0])), *connector.arguments[1:]))
