"""`windrow.connect`: the way into an engine from Python."""

from __future__ import annotations

import signal
import threading
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Literal, overload

from windrow.errors import WindrowError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from windrow.plan.user_aggregate import UserAggregate
    from windrow.runtime.local import LocalEngine
    from windrow.runtime.spark import SparkEngine


@overload
def connect(
    *, local: Literal[True], folder: str | None = None, aggregates: Sequence[UserAggregate] = ()
) -> LocalEngine: ...


@overload
def connect(
    *,
    spark: Any = None,
    master: str | None = None,
    checkpoint: str | None = None,
    shards: int | None = None,
    rows_a_batch: int | None = None,
) -> SparkEngine: ...


def connect(
    *,
    local: bool = False,
    folder: str | None = None,
    aggregates: Sequence[UserAggregate] = (),
    spark: Any = None,
    master: str | None = None,
    checkpoint: str | None = None,
    shards: int | None = None,
    rows_a_batch: int | None = None,
) -> LocalEngine | SparkEngine:
    """An engine on Spark, or with `local` in this process without Spark.

    On Spark: a session of its own, on `master` when one is named, or the session `spark` that you have. Everything that
    has to outlive the process is in the folder `checkpoint`; without one it is gone afterwards. `shards` is how many
    parts the state is in, by default as many as there are cores. `rows_a_batch` is how many rows of a generator
    are read at a time.
    Local: with a `folder`, streams, tables, windows and queries are remembered there; `aggregates` are the user's own
    that remembered queries call.
    """
    if local:
        if (spark, master, checkpoint, shards, rows_a_batch) != (None,) * 5:
            hint = "leave local=True out to run on Spark, or the rest to run in this process"
            raise WindrowError("spark, master, checkpoint, shards and rows_a_batch are for engines on Spark", hint)
        return _connect_local(folder, aggregates)
    if folder is not None or aggregates:
        hint = "write checkpoint=..., which keeps both, on Spark"
        raise WindrowError("folder and aggregates are for engines in this process", hint)
    return _connect_spark(spark, master, checkpoint, shards, rows_a_batch)


def _connect_local(folder: str | None, aggregates: Sequence[UserAggregate]) -> LocalEngine:
    from windrow.runtime.local import LocalEngine  # loads compiled kernels, which `import windrow` need not

    return LocalEngine(folder, aggregates=aggregates)


def _connect_spark(
    spark: Any, master: str | None, checkpoint: str | None, shards: int | None, rows_a_batch: int | None
) -> SparkEngine:
    try:
        from windrow.runtime.spark.own_spark import coming_up
    except ModuleNotFoundError as error:
        if error.name != "pyspark":
            raise
        hint = "use Python 3.11 or later and `pip install pyspark`, or write windrow.connect(local=True)"
        raise WindrowError("PySpark is not installed", hint) from None
    with ExitStack() as meanwhile:
        if spark is None:
            meanwhile.enter_context(coming_up(master))
        with _interrupted_later():
            from windrow.runtime.spark import SparkEngine  # takes nearly as long as Java does

        return SparkEngine(spark, master, checkpoint, shards, rows_a_batch=rows_a_batch)


@contextmanager
def _interrupted_later() -> Iterator[None]:
    """Ctrl-C waits for the end of an import: what was loaded by half cannot be loaded again."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard: list[object] = []
    before = signal.signal(signal.SIGINT, lambda *_: heard.append(None))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if heard:
        raise KeyboardInterrupt
