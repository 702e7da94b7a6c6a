"""The states that a process has in memory from batch to batch, so that it need not read them from the checkpoint.

Invariant: a state leaves the memory when it is handed out, with the token of its version. One that went on elsewhere is
of use when the shard comes back soon, for then only what is new has to be read; after `WAITS` batches it is dropped.
"""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

WAITS = 8  # batches

Key = tuple[str, int, int]  # checkpoint, stage, shard
State = TypeVar("State")


class CachedState(NamedTuple, Generic[State]):
    batch: int
    token: str
    state: State


class StateCache(Generic[State]):
    def __init__(self) -> None:
        self._entries: dict[Key, CachedState[State]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def take(self, key: Key) -> CachedState[State] | None:
        """Out of the memory: what is there of a shard."""
        return self._entries.pop(key, None)

    def put(self, key: Key, batch: int, token: str, state: State) -> None:
        stale = [other for other, entry in self._entries.items() if other[0] == key[0] and entry.batch < batch - WAITS]
        for other in stale:
            del self._entries[other]
        self._entries[key] = CachedState(batch, token, state)

    def forget(self, checkpoint: str) -> None:
        for key in [key for key in self._entries if key[0] == checkpoint]:
            del self._entries[key]

    def clear(self) -> None:
        self._entries.clear()
