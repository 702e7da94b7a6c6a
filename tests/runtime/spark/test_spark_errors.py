"""What Spark says, in Windrow's words; the texts are shortened from real ones."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from windrow.errors import CheckpointError, WindrowError
from windrow.runtime.spark.spark_errors import not_started, translated

STAGE = "[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: Job aborted due to stage failure: "
TRACE = """An exception was raised by the Python Proxy. Return Message: Traceback (most recent call last):
  File "/site-packages/pyspark/sql/utils.py", line 132, in call
    raise e
"""


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (
            f"{STAGE}Task 0 in stage 3.0 failed 4 times: org.apache.spark.SparkException: "
            "Python worker exited unexpectedly (crashed)\n\tat java.base/java.lang.Thread.run",
            "a worker of Spark was lost, and so were those that took its place",
            "start again with the same checkpoint",
        ),
        (
            f"{STAGE}ExecutorLostFailure (executor 1 exited caused by one of the running tasks)",
            "a worker of Spark was lost, and so were those that took its place",
            "more shards",
        ),
        (
            "org.apache.spark.SparkException: Python worker failed to connect back.",
            "a Python process did not start within Spark's 10 seconds: the machine is too busy",
            "start again",
        ),
        (f"{STAGE}java.lang.OutOfMemoryError: Java heap space", "Spark's Java machine ran out of memory", "memory"),
        (f"{STAGE}{TRACE}MemoryError: Unable to allocate 4 GiB", "a worker ran out of memory", "shorter windows"),
        (f"{STAGE}java.net.ConnectException: Connection refused", "the connection was refused", "start it, then"),
        (
            f'{STAGE}{TRACE}  File "/home/ann/job.py", line 7, in price\n    return 1 / 0\n'
            "ZeroDivisionError: division by zero\n\tat org.apache.spark",
            "a function failed (price, /home/ann/job.py line 7): ZeroDivisionError: division by zero",
            "mend it, then start again",
        ),
        (
            f"{STAGE}{TRACE}windrow.errors.CheckpointError: commits/3 of the checkpoint is damaged\n"
            "  hint: restore the checkpoint from a copy\n\tat org.apache.spark",
            "commits/3 of the checkpoint is damaged",
            "restore the checkpoint from a copy",
        ),
        (
            f'{STAGE}{TRACE}  File "/opt/app/src/windrow/runtime/shards/publishing.py", line 9, in write\n'
            '  File "pyarrow/error.pxi", line 92, in pyarrow.lib.check_status\n'
            "OSError: [Errno 28] Error writing bytes to file. Detail: [errno 28] No space left on device",
            "there is no room left on a disk that is written to",
            "make room, then start again",
        ),
        (
            f'{STAGE}{TRACE}  File "pyarrow/error.pxi", line 92, in pyarrow.lib.check_status\n'
            "FileNotFoundError: [Errno 2] Failed to open local file '/out/a'. Detail: [errno 2] No such file or "
            "directory",
            "/out/a is not there any more",
            "put it back, then start again",
        ),
        (
            f'{STAGE}{TRACE}  File "pyarrow/error.pxi", line 92, in pyarrow.lib.check_status\n'
            "PermissionError: [Errno 13] Failed to open local file '/out/a'. Detail: [errno 13] Permission denied",
            "/out/a cannot be read or written",
            "change who may do so, then start again",
        ),
        (
            f'{STAGE}{TRACE}  File "/home/ann/job.py", line 7, in price\n    open("rates")\n'
            "FileNotFoundError: [Errno 2] No such file or directory: 'rates'",
            "a function failed (price, /home/ann/job.py line 7): FileNotFoundError",
            "mend it, then start again",
        ),
        (f"{STAGE}{TRACE}AssertionError\n", "a task failed: AssertionError", "start again"),
        (f"{STAGE}{TRACE}KeyError: 'k'\n\tat org.apache.spark", "a task failed: KeyError: 'k'", "start again"),
        (
            "[STREAM_FAILED] Query windrow-run [id = 1, runId = 2] terminated with exception: "
            "[UNABLE_TO_INFER_SCHEMA] there is none. SQLSTATE: 42KD9 SQLSTATE: XXKST",
            "Spark stopped: there is none.",
            "nothing is lost",
        ),
        ("Path does not exist", "Spark stopped: Path does not exist", "nothing is lost"),
    ],
)
def test_errors_are_told_in_words(text: str, message: str, hint: str) -> None:
    error = translated(RuntimeError(text))
    assert message in error.message
    assert error.hint is not None and hint in error.hint
    assert "\n" not in error.message and "STREAM_FAILED" not in error.message


def test_the_kind_of_an_error_of_ours_is_kept() -> None:
    assert type(translated(RuntimeError(f"{TRACE}windrow.errors.CheckpointError: it is damaged\n"))) is CheckpointError
    assert type(translated(RuntimeError(f"{TRACE}windrow.errors.WindrowError: no\n"))) is WindrowError


def test_errors_of_this_process_say_where_they_were() -> None:
    try:
        dict[str, int]()["k"]
    except KeyError as error:
        assert "(test_errors_of_this_process_say_where_they_were, " in translated(error).message
    ours = CheckpointError("it is damaged")
    assert translated(ours) is ours


def test_what_keeps_spark_from_starting_is_shown_when_it_is_nothing_known() -> None:
    assert not_started("Error: Could not create the Java Virtual Machine.\n").message.endswith("Virtual Machine.")
