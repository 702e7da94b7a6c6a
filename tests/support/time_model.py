"""How far time comes in a run, by the rules: a row is late by its own stream, everything else follows its streams."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from support.rows_in_view import Row

NEVER = -math.inf


@dataclass
class TimeModel:
    """`queries` are the streams that each query reads, `idle_after` how long streams may be silent, on the clock."""

    streams: Sequence[str]
    queries: Mapping[str, frozenset[str]]
    tables: Mapping[str, frozenset[str]]  # the queries that read a table
    idle_after: Mapping[str, int]
    clock: int
    accepted: dict[str, list[Row]] = field(default_factory=dict)
    late: int = 0

    def __post_init__(self) -> None:
        self.accepted = {name: [] for name in self.streams}
        self.final: dict[str, float] = dict.fromkeys(self.streams, NEVER)
        self.effects: dict[str, float] = dict.fromkeys(self.tables, NEVER)
        self._ended: set[str] = set()
        self._last = dict.fromkeys(self.streams, self.clock)

    def effect_of_change(self, table: str) -> float:
        """When a change of a table takes effect that comes with the next step and names no time."""
        streams = frozenset[str]().union(*(self.queries[query] for query in self.tables[table]))
        moving = [self.final[name] for name in streams if self.final[name] != math.inf]
        self.effects[table] = max(self.effects[table], *moving, NEVER)
        return self.effects[table]

    def restart(self) -> None:
        """Nobody has been silent for long, as far as the new process knows; it asks with its first step."""
        self._last = {}

    def step(self, rows: Mapping[str, Sequence[Row]], ends: Sequence[str]) -> None:
        self._ended |= set(ends)
        for name in self.streams:
            self._last.setdefault(name, self.clock)
            if rows.get(name):
                self._last[name] = self.clock
            on_time = [row for row in rows.get(name, ()) if row["ts"] >= self.final[name]]
            self.accepted[name] += on_time
            self.late += len(rows.get(name, ())) - len(on_time)
        idle = {n for n, length in self.idle_after.items() if self.clock - self._last[n] >= length} - self._ended
        marks = {name: math.inf if name in self._ended else self._newest(name) for name in self.streams}
        for name in self.streams:
            self.final[name] = max(self.final[name], marks[name], self._passed(name, idle) if name in idle else NEVER)
        for table in self.tables:
            self.effect_of_change(table)

    def _newest(self, name: str) -> float:
        return max((row["ts"] for row in self.accepted[name]), default=NEVER)

    def _passed(self, name: str, idle: set[str]) -> float:
        """As far as the furthest of its queries is on its other streams; one that has ended goes to its last row."""
        found = NEVER
        for read in self.queries.values():
            others = read - idle
            if name in read and others:
                ended = min(self._newest(n) + (n in self._ended) for n in others)
                found = max(found, ended)
        return found

    def watermark(self, query: str) -> float:
        return min(self.final[name] for name in self.queries[query])
