"""Aggregates of one's own for generated queries, each kept in another way; the oracle has them in plain SQL."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from windrow.plan.aggregate_class import AggregateClass
from windrow.plan.user_aggregate import UserAggregate
from windrow.types import DOUBLE


class Squares:
    """The sum of squares, exactly; a part can be taken away again."""

    def initial(self) -> tuple[int, Fraction]:
        return 0, Fraction(0)

    def add(self, state: tuple[int, Fraction], x: float) -> tuple[int, Fraction]:
        return state[0] + 1, state[1] + Fraction(x) ** 2

    def merge(self, state: tuple[int, Fraction], other: tuple[int, Fraction]) -> tuple[int, Fraction]:
        return state[0] + other[0], state[1] + other[1]

    def subtract(self, state: tuple[int, Fraction], part: tuple[int, Fraction]) -> tuple[int, Fraction]:
        return state[0] - part[0], state[1] - part[1]

    def finish(self, state: tuple[int, Fraction]) -> float | None:
        return float(state[1]) if state[0] else None


class MergedSquares:
    """The same, where nothing can be taken away."""

    initial, add, merge, finish = Squares.initial, Squares.add, Squares.merge, Squares.finish


class Longest:
    """The longest text; in a module that workers of Spark can import."""

    def initial(self) -> str:
        return ""

    def add(self, state: str, text: str) -> str:
        return max(state, text, key=len)

    def merge(self, state: str, other: str) -> str:
        return max(state, other, key=len)

    def finish(self, state: str) -> str:
        return state


class Span:
    """The largest value less the smallest, on arrays."""

    def initial(self, length: int) -> tuple[Any, Any]:
        return np.full(length, np.inf), np.full(length, -np.inf)

    def add(self, states: tuple[Any, Any], x: Any) -> tuple[Any, Any]:
        return np.minimum(states[0], x), np.maximum(states[1], x)

    def merge(self, states: tuple[Any, Any], others: tuple[Any, Any]) -> tuple[Any, Any]:
        return np.minimum(states[0], others[0]), np.maximum(states[1], others[1])

    def finish(self, states: tuple[Any, Any]) -> Any:
        low, high = states
        return np.where(low <= high, high - np.where(low <= high, low, 0.0), None)


class Rows:
    """The sum of squares from the rows themselves: there is no merge."""

    def initial(self) -> list[float]:
        return []

    def add(self, state: list[float], x: float) -> list[float]:
        return [*state, x]

    def finish(self, state: list[float]) -> float | None:
        return float(sum((Fraction(x) ** 2 for x in state), Fraction(0))) if state else None


OWN = (
    UserAggregate("SQUARES", (DOUBLE,), DOUBLE, Squares()),
    UserAggregate("MERGED_SQUARES", (DOUBLE,), DOUBLE, MergedSquares()),
    UserAggregate("SPAN", (DOUBLE,), DOUBLE, Span(), AggregateClass.ALGEBRAIC, False, True),
    UserAggregate("ROW_SQUARES", (DOUBLE,), DOUBLE, Rows(), AggregateClass.HOLISTIC),
)
