"""Class data of Windrow's own Spark: what Java reads, checks and links at every start, as an archive that it maps.

Java makes one when it ends (`-XX:ArchiveClassesAtExit`): once for a Java, a Spark and a Windrow, by `make setup`, or by
a process that stays behind after the first run. One that does not fit, or is damaged, Java ignores; all that can go
wrong here costs nobody more than the seconds that the archive would have saved. An empty file stands for an attempt,
under way or in vain: the next one is after a day.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pyspark
from pyspark.find_spark_home import _find_spark_home

from windrow.cache_folder import cache_folders
from windrow.clock import SystemClock
from windrow.units import DAY

_UNUSED = 60 * DAY  # after which an archive is for a Java, a Spark or a Windrow that is gone
_AGAIN = DAY  # after an attempt in vain
_ROOM = 1 << 29  # bytes on the disk without which none is begun
_FULL = (errno.ENOSPC, errno.EDQUOT)
_SUFFIX = ".jsa"


def reading_options() -> list[str]:
    """The Java options to start with the archive; none if there is none."""
    found = _found()
    if found is None or not found.stat().st_size:
        return []
    with suppress(OSError):
        os.utime(found)  # it is in use
    return ["-Xshare:auto", f'"-XX:SharedArchiveFile={found}"']


def writing_options(archive: Path) -> list[str]:
    """The Java options to leave an archive there when Java ends."""
    return [f'"-XX:ArchiveClassesAtExit={archive}"']


def is_missing() -> bool:
    """Whether there is a Java, no archive, none tried of late nor made by others right now, and a place for one."""
    archive = _place()
    if archive is None or not _is_wanted(archive):
        return False
    with suppress(OSError), _alone(archive) as is_alone:
        return is_alone and shutil.disk_usage(archive.parent).free >= _ROOM
    return False


def make_in_background() -> None:
    """If it is missing, in a process that outlives this one, and gives way to all others."""
    archive = _place()
    if archive is None or os.environ.get("WINDROW_MAKE_CLASS_DATA") == "0" or not is_missing():
        return
    with suppress(OSError, RuntimeError):  # RuntimeError: too late, Python is ending
        subprocess.Popen(
            ["nice", "-n", "19", sys.executable, "-m", "windrow.runtime.spark.class_data_record"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=archive.parent,
            start_new_session=True,
        )


def make(record: Callable[[Path], int]) -> Path | None:
    """Have an archive recorded at a path, by a Java whose exit code is told; where it is then.

    It is written beside its place and renamed; whoever comes while another makes it leaves it to them.
    """
    archive = _place()
    if archive is None:
        return None
    with _alone(archive) as is_alone:
        if is_alone and _is_wanted(archive):
            _recorded(archive, record)
            _forget_unused(archive.parent)
    return archive


def archive_name() -> str | None:
    """Made of all that the archive depends on; None without Java."""
    java = _java()
    if java is None:
        return None
    try:
        windrow = version("windrow")
    except PackageNotFoundError:
        windrow = ""
    jars = Path(_find_spark_home()) / "jars"
    digest = hashlib.sha256(repr([windrow, *map(_identity, _parts_of(java)), str(jars)]).encode())
    with suppress(OSError):
        for jar in sorted(jars.iterdir()):
            digest.update(repr(_identity(jar)).encode())
    return f"spark-{pyspark.__version__}-{digest.hexdigest()[:16]}{_SUFFIX}"


def _recorded(archive: Path, record: Callable[[Path], int]) -> None:
    for left in archive.parent.glob(f"{archive.name}.[0-9]*"):  # by one that was killed
        left.unlink(missing_ok=True)
    beside = archive.with_name(f"{archive.name}.{os.getpid()}")
    archive.touch()
    os.utime(archive)
    try:
        code = record(beside)
        if beside.exists() and code == 0:
            beside.replace(archive)
        elif code < 0:  # killed: it may do better next time
            archive.unlink()
    except OSError as error:
        if error.errno in _FULL:
            archive.unlink()
        raise
    finally:
        beside.unlink(missing_ok=True)


@contextmanager
def _alone(archive: Path) -> Iterator[bool]:
    """Whether nobody else is at this archive until the end of the block."""
    lock = archive.with_name(f"{archive.name}.lock")
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_alone = lock.exists() and os.path.samestat(os.fstat(file.fileno()), lock.stat())  # not one let go since
        except (BlockingIOError, FileNotFoundError):
            is_alone = False
        try:
            yield is_alone
        finally:
            if is_alone:
                lock.unlink(missing_ok=True)


def _forget_unused(folder: Path) -> None:
    before = (SystemClock().now() - _UNUSED) / 1e6
    for archive in folder.glob(f"spark-*{_SUFFIX}*"):
        with suppress(OSError):
            if archive.stat().st_mtime < before:
                archive.unlink()


def _found() -> Path | None:
    name = archive_name()
    if name is None:
        return None
    places = (folder / name for folder in cache_folders())
    return next((place for place in places if os.access(place, os.R_OK) and not _is_wanted(place)), None)


def _place() -> Path | None:
    """Of the archive that there is, or can be; None without Java, or a folder that can be written."""
    name = archive_name()
    if name is None:
        return None
    return _found() or next((folder / name for folder in cache_folders() if os.access(folder, os.W_OK)), None)


def _is_wanted(archive: Path) -> bool:
    """Whether there is none, and none was tried of late."""
    try:
        found = archive.stat()
    except OSError:
        return True
    return not found.st_size and found.st_mtime < (SystemClock().now() - _AGAIN) / 1e6


def _java() -> Path | None:
    """The one that Spark's script takes."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which(str(Path(home) / "bin" / "java") if home else "java")
    return None if found is None else Path(found).resolve()


def _parts_of(java: Path) -> list[Path]:
    """What changes with a new version of Java, though the place may stay the same."""
    home = java.parent.parent
    return [java, home / "release", home / "lib" / "modules"]


def _identity(file: Path) -> tuple[str, int, int]:
    try:
        found = file.stat()
    except OSError:
        return str(file), 0, 0
    return str(file), found.st_size, found.st_mtime_ns
