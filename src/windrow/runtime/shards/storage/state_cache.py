"""The states that a worker has in memory from batch to batch, so that it need not read them from the checkpoint.

Invariant: a state is handed out only under the token of the very version that is asked for, and leaves the memory when
it is. What batch n - 1 left and batch n did not take went on in another worker, and is dropped; beyond `MOST_BYTES`
the least recently used go first, whatever their size.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, NamedTuple, Protocol, TypeVar

MOST_BYTES = 1 << 30  # as written; decoded state takes about as much

Key = tuple[str, int, int]  # checkpoint, stage, shard


class Sized(Protocol):
    @property
    def size(self) -> int: ...


State = TypeVar("State", bound=Sized)


class _Entry(NamedTuple, Generic[State]):
    batch: int
    token: str
    state: State


class StateCache(Generic[State]):
    def __init__(self) -> None:
        self._entries: OrderedDict[Key, _Entry[State]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def size(self) -> int:
        return sum(entry.state.size for entry in self._entries.values())

    def take(self, key: Key, token: str) -> State | None:
        """Out of the memory; None when it is not this very state that is there."""
        entry = self._entries.pop(key, None)
        return entry.state if entry is not None and entry.token == token else None

    def put(self, key: Key, batch: int, token: str, state: State) -> None:
        stale = [other for other, entry in self._entries.items() if other[0] == key[0] and entry.batch < batch - 1]
        for other in stale:
            del self._entries[other]
        self._entries[key] = _Entry(batch, token, state)
        while self._entries and self.size > MOST_BYTES:
            self._entries.popitem(last=False)

    def clear(self) -> None:
        self._entries.clear()
