"""Spark's errors in Windrow's words: what went wrong, where, and what to do."""

from __future__ import annotations

import re

from windrow.errors import WindrowError


def translated(error: BaseException) -> WindrowError:
    """The Windrow error that is behind an error of Spark, or the first line of what Spark says."""
    text = str(error)
    ours = re.search(r"windrow\.errors\.(\w+): (.*?)(?:\n  hint: (.*?))?\n", text + "\n")
    if ours is not None:
        return WindrowError(ours.group(2), ours.group(3))
    if "JAVA_GATEWAY_EXITED" in text:
        return WindrowError(
            "Spark could not be started: there is no Java 17 or later", "run `make setup`, or install one"
        )
    for line in text.splitlines():
        inside = re.match(r"\s*(?:[\w.]+\.)?(\w+(?:Error|Exception)): (.*)", line)
        if inside is not None and "Traceback" not in line and inside.group(1) != "PythonException":
            return WindrowError(f"Spark stopped: {inside.group(1)}: {inside.group(2)}", _HINT)
    return WindrowError(f"Spark stopped: {text.splitlines()[0] if text else type(error).__name__}", _HINT)


_HINT = "start again with the same checkpoint: nothing is lost; windrow.runtime.spark logs have the details"
