"""With which streams nodes move: those below them, or those of their reader (`plan/analysis/pace` says which and why).

So an operator that several queries share goes on however slow the other streams of one of them are.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from windrow.plan.analysis.pace import moves_with_reader
from windrow.plan.analysis.relations import streams_of
from windrow.plan.nodes import Node


class Paces:
    """Whoever lowers a part of a plan says so, and what is lowered meanwhile is read by that part."""

    def __init__(self) -> None:
        self._readers: list[frozenset[str]] = []

    def of(self, plan: Node) -> frozenset[str]:
        """The streams that a plan moves with, read by what is being lowered."""
        return self._readers[-1] if self._readers and moves_with_reader(plan) else streams_of(plan)

    @contextmanager
    def read_by(self, streams: frozenset[str]) -> Iterator[None]:
        self._readers.append(streams)
        try:
            yield
        finally:
            self._readers.pop()
