"""Aggregates and scalar functions of the user's own: Python functions with a name and types."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from windrow.errors import AggregateError, WindrowError
from windrow.plan.aggregate_class import AggregateClass
from windrow.types import Type

MAX_FAILURES = 100


class Failures:
    """What was raised in functions of the user's own: all are counted, the newest are kept."""

    def __init__(self) -> None:
        self.count = 0
        self.newest: deque[AggregateError] = deque(maxlen=MAX_FAILURES)

    def report(self, error: AggregateError) -> None:
        self.count += 1
        self.newest.append(error)

    def add(self, others: Failures) -> None:
        self.count += others.count
        self.newest.extend(others.newest)

    def taken(self) -> Failures:
        """What there is, which is then no longer here."""
        found = Failures()
        found.add(self)
        self.count = 0
        self.newest.clear()
        return found


@dataclass(frozen=True, eq=False)
class UserAggregate:
    """`functions` has `initial`, `add`, `merge`, `finish` and, when a part can be taken away again, `subtract`.

    With `vectorized` they work on arrays of states, element by element. An aggregate is equal to itself only: another
    registration under the same name is another aggregate.
    """

    name: str
    arguments: tuple[Type, ...]
    result: Type
    functions: Any = field(repr=False)
    kind: AggregateClass = AggregateClass.ALGEBRAIC
    duplicate_sensitive: bool = True
    vectorized: bool = False
    failures: Failures = field(default_factory=Failures, repr=False)

    def __post_init__(self) -> None:
        needed = ["initial", "add", "finish"]
        if self.vectorized or self.kind is not AggregateClass.HOLISTIC:
            needed.append("merge")
        missing = [name for name in needed if not self.has(name)]
        if not self.arguments:
            raise WindrowError(f"{self.name} has no arguments", "give the types of one or more")
        if missing:
            hint = "initial(), add(state, *values), merge(state, other) and finish(state) are needed"
            if missing == ["merge"] and not self.vectorized:
                hint = "merge(state, other) puts two states together; without it the aggregate is holistic"
            raise WindrowError(f"{self.name} has no function {' and '.join(missing)}", hint)
        if self.is_subtractable and not self.duplicate_sensitive:
            hint = "leave subtract out, or declare that repeats matter"
            raise WindrowError(f"{self.name} cannot take away one of several equal rows that count once", hint)

    @property
    def declared(self) -> tuple[object, ...]:
        """All but the functions."""
        return self.name, self.arguments, self.result, self.kind, self.duplicate_sensitive, self.vectorized

    def has(self, function: str) -> bool:
        return callable(getattr(self.functions, function, None))

    @property
    def is_subtractable(self) -> bool:
        return self.has("subtract") and self.has("merge")

    @property
    def way(self) -> str:
        """How the value is kept when rows leave."""
        if self.is_subtractable:
            return "rows that leave are subtracted"
        return "merge tree over the values" if self.has("merge") else "computed again from the values"

    @property
    def description(self) -> str:
        """As EXPLAIN has it."""
        subtractable = ", subtractable" if self.is_subtractable else ""
        repeats = "" if self.duplicate_sensitive else ", repeats count once"
        return f"{self.name} is {self.kind.value}{subtractable}{repeats}: {self.way}"


@dataclass(frozen=True, eq=False)
class UserFunction:
    """`function` takes one value for each argument; with `vectorized` it takes arrays of Arrow, and gives one.

    It is pure: equal arguments give equal results. It is equal to itself only, as an aggregate of the user's own is.
    """

    name: str
    arguments: tuple[Type, ...]
    result: Type
    function: Any = field(repr=False)
    vectorized: bool = False
    failures: Failures = field(default_factory=Failures, repr=False)

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise WindrowError(f"{self.name} is not a function", "hand over something that can be called")
        if not self.arguments:
            raise WindrowError(f"{self.name} has no arguments", "give the types of one or more")

    @property
    def declared(self) -> tuple[object, ...]:
        """All but the function."""
        return self.name, self.arguments, self.result, self.vectorized


Own = UserAggregate | UserFunction
