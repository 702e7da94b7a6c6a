"""The format of a checkpoint: what wrote it, and how many shards there are.

A change of what is written makes another format. From then on older checkpoints are migrated, or refused by name; a
small one of every format is stored beside the tests, and opened there.
"""

from __future__ import annotations

import json
from importlib.metadata import version

from windrow.errors import CheckpointError
from windrow.runtime.shards.storage.files.folder import Folder
from windrow.runtime.shards.storage.records import RESTORE

FORMAT = 6
VERSION = version("windrow")


def write_format(folder: Folder, shards: int) -> None:
    folder.create("format", json.dumps({"format": FORMAT, "windrow": VERSION, "shards": shards}).encode())


def shards_written(folder: Folder) -> int | None:
    """The number of shards of a checkpoint that can be used; None when there is none yet."""
    if not folder.exists("format"):
        if there := [under for under in ("statements", "commits", "plans") if folder.names(under)]:
            raise CheckpointError(f"format of the checkpoint is missing, but there is {there[0]}/", RESTORE)
        return None
    try:
        described = json.loads(folder.read("format"))
        number, windrow, shards = described["format"], described["windrow"], int(described["shards"])
    except (ValueError, KeyError, TypeError):
        raise CheckpointError("format of the checkpoint is damaged", RESTORE) from None
    if number != FORMAT:
        raise CheckpointError(
            f"the checkpoint has format {number}, of Windrow {windrow}; "
            f"this is Windrow {VERSION}, which reads and writes format {FORMAT}",
            "run it with the version that wrote it, or start with an empty checkpoint",
        )
    return shards
