"""What is on disk names no module: every class that can be written has a name of its own, and keeps what it is."""

from __future__ import annotations

import importlib
import pkgutil
import types
import typing
from collections.abc import Iterator
from dataclasses import is_dataclass
from pathlib import Path

import pytest

import windrow
from support.lookup_queries import create, feed, pieces
from support.shard_runs import ShardsInProcess, files_naming_modules
from windrow.errors import CheckpointError
from windrow.plan.nodes import Node
from windrow.runtime.shards.answers import Answers
from windrow.runtime.shards.batch_spec import BatchSpec
from windrow.runtime.shards.running_plan import RunningPlan
from windrow.runtime.shards.statement_log import LOGGED
from windrow.runtime.shards.storage.checkpoint import Commit
from windrow.runtime.shards.storage.codec import decoded, encoded
from windrow.runtime.shards.storage.manifests import ManifestChanges, StateManifest
from windrow.runtime.shards.storage.stable_names import classes, names
from windrow.runtime.tables import TableStore
from windrow.state.snapshot import Piece
from windrow.types import BIGINT, DOUBLE, Type

WRITTEN = (Commit, BatchSpec, RunningPlan, StateManifest, ManifestChanges, Piece, TableStore, *LOGGED)
BESIDE = (
    "user_aggregate.UserAggregate",  # has a file of its own, as the next
    "user_aggregate.UserFunction",
    "user_aggregate.Failures",
    "dictionary.Dictionary",
    "refreshed_synopsis.ChangesByQuery",  # goes from operator to operator, and is not stored
)


def every_name() -> dict[str, object]:
    """What modules of ours call anything: hints may use names that are imported for type checkers alone."""
    found = pkgutil.walk_packages(windrow.__path__, "windrow.")
    modules = [found.name for found in found if ".spark" not in found.name and "__main__" not in found.name]
    return {name: value for module in modules for name, value in vars(importlib.import_module(module)).items()}


def mentioned(hint: object) -> Iterator[type]:
    """The classes of ours in a type hint, and all that are derived from them."""
    if isinstance(hint, type) and not isinstance(hint, types.GenericAlias):
        if hint.__module__.startswith("windrow."):
            yield hint
            for kind in hint.__subclasses__():
                yield from mentioned(kind)
        return
    for part in typing.get_args(hint):
        yield from mentioned(part)


def written() -> set[type]:
    """All classes that can be reached from what is written, by the types of fields."""
    everything = every_name()
    found: set[type] = set()
    waiting = list(WRITTEN)
    while waiting:
        kind = waiting.pop()
        if kind in found or f"{kind.__module__.rpartition('.')[2]}.{kind.__name__}" in BESIDE:
            continue
        found.add(kind)
        if is_dataclass(kind) or hasattr(kind, "_fields"):
            hints = typing.get_type_hints(kind, {**everything, **vars(importlib.import_module(kind.__module__))})
            waiting.extend(part for hint in hints.values() for part in mentioned(hint))
    return found


def test_every_class_that_can_be_written_has_a_name() -> None:
    reached = written()
    assert set(mentioned(Node)) <= reached and set(mentioned(Type)) <= reached
    assert not {f"{kind.__module__}.{kind.__name__}" for kind in reached if kind not in names()}


def test_names_are_those_that_checkpoints_have() -> None:
    """When this fails, what checkpoints say has changed: raise FORMAT, and write the names down again."""
    listed = (Path(__file__).parent / "stable_names.txt").read_text().split()
    assert listed == sorted(classes())


def test_an_engine_with_everything_names_no_module(tmp_path: Path) -> None:
    engine = ShardsInProcess(2, checkpoint=str(tmp_path))
    create(engine)
    engine.sql("CREATE STREAM r (ts TIMESTAMP, k INT, v BIGINT) TIMESTAMP BY ts")
    engine.sql("CREATE TABLE names (k INT, name STRING, PRIMARY KEY (k))")
    engine.sql("INSERT INTO names VALUES (1, 'one'), (2, 'two')")
    engine.query("SELECT k, SQUARES(v) AS s FROM r [RANGE 5 SECONDS] GROUP BY k")
    engine.query("SELECT r.v, names.name FROM r [RANGE 5 SECONDS], names WHERE r.k = names.k")
    for number, piece in enumerate(pieces()):
        engine.push("r", [{"ts": number * 1_000_000 + place, "k": place, "v": place} for place in range(3)])
        feed(engine, piece)
    assert not files_naming_modules(tmp_path)
    assert ShardsInProcess(2, checkpoint=str(tmp_path)).watermark == engine.watermark


def test_a_name_that_is_not_known_is_an_error_of_the_checkpoint() -> None:
    with pytest.raises(CheckpointError, match=r"has a type\.Kind, which this version"):
        decoded(encoded(DOUBLE).replace(b"type.Type", b"type.Kind"))


def test_a_class_without_a_name_is_not_written() -> None:
    with pytest.raises(AssertionError, match="has no stable name"):
        encoded(Answers)
    assert decoded(encoded({"sum": [BIGINT, DOUBLE]})) == {"sum": [BIGINT, DOUBLE]}
