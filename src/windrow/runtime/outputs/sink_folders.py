"""Folders that sinks write files to: each belongs to one sink, and nothing else is in it when the sink is declared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa
import pyarrow.fs

from windrow.catalog import Catalog, Connector, Entry, QueryEntry, StreamEntry, ViewEntry, WindowEntry
from windrow.errors import WindrowError
from windrow.sources.source_folder import local_path

FILES = ("json", "csv", "parquet")  # the connectors that read and write files
_MOST_LISTED = 3


class UsedPlace(NamedTuple):
    """A folder or file that somebody else has, and who it is."""

    place: str
    user: str


def opened(place: str) -> tuple[pa.fs.FileSystem, str]:
    """The file system of a folder that is named by a path or an address, and the folder in it."""
    path = local_path(place)
    if path is not None:
        return pa.fs.LocalFileSystem(), path
    found: tuple[pa.fs.FileSystem, str] = pa.fs.FileSystem.from_uri(place)
    return found


def sinks_of(entry: Entry) -> list[Connector]:
    """Where what an entry gives out goes to."""
    if isinstance(entry, QueryEntry):
        return [] if entry.sink is None else [entry.sink]
    sides = (entry.late_sink, entry.rejected_sink) if isinstance(entry, StreamEntry) else ()
    return [sink for sink in sides if sink is not None]


def check_folders(entry: Entry, catalog: Catalog, own: str | None) -> None:
    """Refuse file sinks of a new entry that would write into what others have; the folders are there afterwards.

    `own` is the folder of the engine itself: of its checkpoint, or of its catalog.
    """
    files = [sink for sink in sinks_of(entry) if sink.name in FILES]
    if not files:
        return  # most have none, and there may be many others to look at
    taken = list(_taken(entry, catalog))
    if own is not None:
        taken.append(UsedPlace(own, "the engine itself is kept in"))
    for sink in files:
        place = str(sink.arguments[0])
        _check_apart(place, taken)
        _check_empty(place)
        taken.append(UsedPlace(place, f"{entry.kind} {entry.name} writes to"))


def _taken(entry: Entry, catalog: Catalog) -> Iterator[UsedPlace]:
    """What the sources and the other sinks of an engine use; a stream's own source too."""
    for other in catalog.everything():
        source = None if isinstance(other, QueryEntry | WindowEntry | ViewEntry) else other.connector
        if source is not None and source.name in FILES:
            yield UsedPlace(str(source.arguments[0]), f"{other.kind} {other.name} reads")
        if other.name.lower() != entry.name.lower():
            files = (sink for sink in sinks_of(other) if sink.name in FILES)
            yield from (UsedPlace(str(sink.arguments[0]), f"{other.kind} {other.name} writes to") for sink in files)


def _check_apart(place: str, taken: list[UsedPlace]) -> None:
    """No folder is that of another, nor inside it, nor around it."""
    for other in taken:
        if _overlap(place, other.place):
            same = "" if place == other.place else f", which {_lies(place, other.place)}"
            raise WindrowError(
                f"{place} cannot be the folder of a sink: {other.user} {other.place}{same}",
                "choose a folder that nothing else uses: every sink has one of its own",
            )


def _overlap(one: str, other: str) -> bool:
    if (local_path(one) is None) != (local_path(other) is None):
        return False
    (files, path), (other_files, other_path) = opened(one), opened(other)
    inside = _is_inside(path, other_path) or _is_inside(other_path, path)
    return files.type_name == other_files.type_name and inside


def _is_inside(path: str, folder: str) -> bool:
    return f"{path.rstrip('/')}/".startswith(f"{folder.rstrip('/')}/")


def _lies(place: str, other: str) -> str:
    paths = opened(place)[1].rstrip("/"), opened(other)[1].rstrip("/")
    if paths[0] == paths[1]:
        return "is the same folder"
    return "is around it" if _is_inside(*paths) else "is inside it"


def _check_empty(place: str) -> None:
    """Make the folder when it is not there; what is hidden in it is nobody's result."""
    files, root = opened(place)
    try:
        files.create_dir(root, recursive=True)
        inside = files.get_file_info(pa.fs.FileSelector(root))
    except OSError as error:
        raise WindrowError(f"{place} cannot be written to: {error}", "choose another folder") from None
    names = sorted(info.base_name for info in inside if not info.base_name.startswith("."))
    if any(name.startswith("part-") for name in names):
        raise WindrowError(f"{place} has results already", "remove them, or choose another folder")
    if names:
        shown = ", ".join(names[:_MOST_LISTED]) + (", ..." if len(names) > _MOST_LISTED else "")
        raise WindrowError(f"{place} has other things in it: {shown}", "choose a folder that is empty, or a new one")


def remove_parts(place: str, prefix: str) -> None:
    """Files of results whose names begin so."""
    files, root = opened(place)
    for info in files.get_file_info(pa.fs.FileSelector(root, allow_not_found=True)):
        if info.base_name.startswith(prefix):
            files.delete_file(info.path)


def parts_in(place: str) -> int:
    """How many files of results a folder has."""
    files, root = opened(place)
    inside = files.get_file_info(pa.fs.FileSelector(root, allow_not_found=True))
    return sum(info.base_name.startswith("part-") for info in inside)
