"""What is known here of Spark's own folders, one for each stream that it brings: offsets, a file a micro-batch."""

from __future__ import annotations

from windrow.errors import CheckpointError
from windrow.runtime.shards.storage.files.folder import Folder


def check_offsets(spark: Folder, called: str, batch: int) -> None:
    """That a folder is there, and as new as the last of its micro-batches that was committed; -1 when none was."""
    for name in ("metadata", f"offsets/{batch}") if batch >= 0 else ():
        if not spark.exists(name):
            hint = "the folders spark/ and windrow/ belong together: restore both from the same copy"
            raise CheckpointError(f"{called}/{name} of the checkpoint is missing", hint)


def batches_begun(spark: Folder) -> list[int]:
    return _numbered(spark, "offsets")


def rewind(spark: Folder, batch: int) -> None:
    """Have Spark go on after one of its batches; the next one is made again if it had begun."""
    for under, most in (("offsets", batch + 1), ("commits", batch)):
        for later in _numbered(spark, under):
            if later > most:
                spark.delete(f"{under}/{later}")
                spark.delete(f"{under}/.{later}.crc")


def files_until(spark: Folder, batch: int) -> list[str]:
    """What a copy needs that goes on after one of its batches."""
    wanted = (name for name in spark.every() if not name.endswith(".crc"))
    return [name for name in wanted if not _is_later(name, batch)]


def _is_later(name: str, batch: int) -> bool:
    folder, _, number = name.rpartition("/")
    return folder in ("offsets", "commits") and number.isdecimal() and int(number) > batch


def _numbered(spark: Folder, under: str) -> list[int]:
    return sorted(int(name) for name in spark.names(under) if name.isdecimal())
