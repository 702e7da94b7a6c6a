"""Aggregates of the user's own, with their functions: the one thing that is written, sent and read back as code."""

from __future__ import annotations

import pickle
from typing import Any

import cloudpickle

from windrow.errors import CheckpointError
from windrow.plan.user_aggregate import Own, UserAggregate, UserFunction
from windrow.runtime.shards.storage.codec import decoded, encoded
from windrow.runtime.shards.storage.files.folder import Folder


class UnreadAggregates(dict[str, Any]):
    """For who reads statements and computes nothing: all names are there, and no functions."""

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> None:
        return None


def aggregate_to_bytes(own: Own) -> bytes:
    called = own.functions if isinstance(own, UserAggregate) else own.function
    return encoded((own.declared, cloudpickle.dumps(called)))


def aggregate_from_bytes(content: bytes) -> Own:
    """An aggregate has its class among what is declared, a scalar function has not."""
    (name, arguments, result, *declared), functions = decoded(content)
    called = pickle.loads(functions)
    if len(declared) == 1:
        return UserFunction(name, arguments, result, called, *declared)
    return UserAggregate(name, arguments, result, called, *declared)


def read_aggregate(folder: Folder, name: str) -> Own:
    """What a file holds, unless somebody else could have put it there: it would be run."""
    if folder.is_open_to_others(name):
        raise CheckpointError(
            f"{name} of the checkpoint has functions that would be run, and others can write to it",
            f"make sure that it is yours, then write: chmod 600 {folder.place}/{name}",
        )
    return aggregate_from_bytes(folder.read(name))
