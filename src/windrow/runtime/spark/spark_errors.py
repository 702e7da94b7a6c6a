"""Spark's errors in Windrow's words: what went wrong, where, and what to do."""

from __future__ import annotations

import re
import subprocess
import traceback
from collections.abc import Callable
from os import environ
from pathlib import Path

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

from windrow.errors import CheckpointError, WindrowError

_AGAIN = "start again with the same checkpoint: nothing is lost"
_JAVA = "run `make setup`, or install a Java of version 17 or later; JAVA_HOME names the one to use"


def not_started(log: str) -> WindrowError:
    """Why the Java machine did not come up, from what it printed."""
    if "UnsupportedClassVersionError" in log or "Unrecognized VM option" in log:
        return WindrowError(f"Spark could not be started: {_java()} is too old for it", _JAVA)
    if "JAVA_HOME is not set" in log or "No such file" in log or "not found" in log:
        return WindrowError("Spark could not be started: there is no Java", _JAVA)
    last = next((line for line in reversed(log.splitlines()) if line.strip()), "it says nothing")
    return WindrowError(f"Spark could not be started: {last.strip()}", _JAVA)


def translated(error: BaseException, log: Path | None = None) -> WindrowError:
    """The Windrow error that is behind an error of Spark, or what Spark says in the end."""
    if isinstance(error, WindrowError):
        return error
    text = _told(error)
    ours = re.findall(r"windrow\.errors\.(\w+): (.*?)(?:\n  hint: (.*?))?(?=\n|$)", text)
    if ours:
        kind, message, hint = ours[-1]
        return (CheckpointError if kind == "CheckpointError" else WindrowError)(message, hint or None)
    for sign, found in _KNOWN:
        if (seen := re.search(sign, text)) is not None:
            return found(seen, text)
    details = "" if log is None else f"; Spark's log is {log}"
    return WindrowError(f"Spark stopped: {_cause(text) or type(error).__name__}", _AGAIN + details)


def _told(error: BaseException) -> str:
    """Errors of Spark have the traces of workers in their text; of one from here the trace says where it was."""
    if isinstance(error, PySparkException | Py4JError) or error.__traceback__ is None:
        return str(error)
    return "".join(traceback.format_exception(error))


def _worker_lost(found: re.Match[str], text: str) -> WindrowError:
    hint = f"{_AGAIN}. If it happens again, give the machine more memory, or the engine more shards"
    return WindrowError("a worker of Spark was lost, and so were those that took its place", hint)


def _too_busy(found: re.Match[str], text: str) -> WindrowError:
    return WindrowError("a Python process did not start within Spark's 10 seconds: the machine is too busy", _AGAIN)


def _out_of_memory(found: re.Match[str], text: str) -> WindrowError:
    where = "Spark's Java machine" if "java.lang" in found[0] else "a worker"
    hint = f"{_AGAIN}. Give it more (spark.driver.memory, spark.executor.memory), or use more shards or shorter windows"
    return WindrowError(f"{where} ran out of memory", hint)


def _other_sources(found: re.Match[str], text: str) -> WindrowError:
    hint = "give the engine an empty folder, or the statements that the checkpoint was made with"
    return CheckpointError(f"the checkpoint is of other sources: {_cause(text)}", hint)


def _nobody_there(found: re.Match[str], text: str) -> WindrowError:
    return WindrowError("a source could not be reached: the connection was refused", f"start it, then {_AGAIN}")


def _disk_full(found: re.Match[str], text: str) -> WindrowError:
    return WindrowError("there is no room left on a disk that is written to", f"make room, then {_AGAIN}")


def _failed(found: re.Match[str], text: str) -> WindrowError:
    """The last frame that is not of Spark, Arrow or ours is where the user's function went wrong."""
    frames = re.findall(r'File "([^"]+)", line (\d+), in (\S+)', text)
    theirs = [frame for frame in frames if not re.search(_NOT_THEIRS, frame[0])]
    if theirs:
        name, line, function = theirs[-1]
        return WindrowError(
            f"a function failed ({function}, {name} line {line}): {_cause(text)}", f"mend it, then {_AGAIN}"
        )
    for sign, message, hint in _PLACES:
        if (seen := re.search(sign, _cause(text), re.IGNORECASE)) is not None:
            place = re.search(r"'([^']+)'", seen.string)
            return WindrowError(message.format(place[1] if place else "a file or folder"), f"{hint}, then {_AGAIN}")
    return WindrowError(f"a task failed: {_cause(text)}", _AGAIN)


_NOT_THEIRS = r"/(pyspark|src/windrow|py4j)/|pyspark\.zip|/lib/python3|^pyarrow/|^<"
_PLACES = (
    ("no such file or directory", "{} is not there any more", "put it back"),
    ("permission denied|read-only file system", "{} cannot be read or written", "change who may do so"),
)
_KNOWN: tuple[tuple[str, Callable[[re.Match[str], str], WindrowError]], ...] = (
    (r"No space left on device|Disk quota exceeded", _disk_full),
    (r"java\.lang\.OutOfMemoryError|\bMemoryError\b|Unable to allocate|malloc of size", _out_of_memory),
    (r"Python worker failed to connect back", _too_busy),
    (
        r"Python worker exited unexpectedly|ExecutorLostFailure|WORKER_CRASHED|the server of a shard was lost",
        _worker_lost,
    ),
    (r"STREAMING_QUERY_EVOLUTION|There are \[\d+\] sources in the checkpoint", _other_sources),
    (r"Connection refused", _nobody_there),
    (r"Traceback \(most recent call last\)", _failed),
)


def _cause(text: str) -> str:
    """The innermost exception that the text tells of, without the names of packages."""
    found = re.findall(r"^\s*(?:Caused by: )?(?:[\w.]+\.)?(\w+(?:Error|Exception))(?:: (.+))?$", text, re.MULTILINE)
    inner = [f"{name}: {message}" if message else name for name, message in found if name not in _WRAPPINGS]
    return _without_marks(inner[-1] if inner else (text.splitlines() or [""])[0])


def _without_marks(line: str) -> str:
    """What Spark puts around its words: `[CLASS] Query [id = ...] terminated with exception: ... SQLSTATE: 42`."""
    line = re.sub(r"Query [^\[]*\[id = [^\]]*\] terminated with exception: ", "", line)
    line = re.sub(r"^(\w+: )?(\[[A-Z0-9_.]+\] ?)+", r"\1", line)
    return re.sub(r" ?SQLSTATE: \w+", "", line)


_WRAPPINGS = ("PythonException", "SparkException", "Py4JJavaError", "Py4JException", "StreamingQueryException")


def _java() -> str:
    """The Java that Spark takes, as it calls itself."""
    home = environ.get("JAVA_HOME")
    command = str(Path(home) / "bin" / "java") if home else "java"
    said = subprocess.run([command, "-version"], capture_output=True, text=True, check=False).stderr
    return next(iter(said.splitlines()), command)
