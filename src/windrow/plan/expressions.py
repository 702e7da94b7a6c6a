"""Scalar expressions and aggregate calls: immutable, typed, referring to columns by their one name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal

from windrow.plan.user_aggregate import UserAggregate, UserFunction
from windrow.types import Type

Value = bool | int | float | Decimal | str | bytes | None


@dataclass(frozen=True)
class ColumnReference:
    """A column of the input, by its name there (`s.price` from a relation, `price` from a select list)."""

    name: str
    type: Type


@dataclass(frozen=True)
class Literal:
    """A constant; times and intervals are whole microseconds, dates whole days."""

    value: Value
    type: Type


@dataclass(frozen=True)
class Call:
    """A function or operator of `plan.functions` over its arguments; AND and OR take any number."""

    function: str
    arguments: tuple[Expression, ...]
    type: Type
    user: UserFunction | None = None  # the function of the user's own that is called


@dataclass(frozen=True)
class Cast:
    argument: Expression
    type: Type


@dataclass(frozen=True)
class Case:
    """The value of the first branch whose condition is true, else `otherwise`."""

    branches: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression
    type: Type


Expression = ColumnReference | Literal | Call | Cast | Case


@dataclass(frozen=True)
class AggregateCall:
    """An aggregate over the rows of a group; no arguments means all rows (COUNT(*))."""

    function: str
    arguments: tuple[Expression, ...]
    type: Type
    distinct: bool = False
    user: UserAggregate | None = None  # the aggregate of the user's own that is called


@dataclass(frozen=True)
class Named:
    """An expression and the name of the column it makes."""

    name: str
    expression: Expression


@dataclass(frozen=True)
class NamedAggregate:
    name: str
    call: AggregateCall


@dataclass(frozen=True)
class SortKey:
    expression: Expression
    descending: bool = False
    nulls_first: bool = True


def children(expression: Expression) -> tuple[Expression, ...]:
    if isinstance(expression, Call):
        return expression.arguments
    if isinstance(expression, Cast):
        return (expression.argument,)
    if isinstance(expression, Case):
        return (*(part for branch in expression.branches for part in branch), expression.otherwise)
    return ()


def walk(expression: Expression) -> Iterator[Expression]:
    """The expression and everything in it, outermost first."""
    waiting = [expression]
    while waiting:
        current = waiting.pop()
        yield current
        waiting.extend(reversed(children(current)))


def columns_of(expression: Expression) -> frozenset[str]:
    return frozenset(part.name for part in walk(expression) if isinstance(part, ColumnReference))


def transform(expression: Expression, change: Callable[[Expression], Expression | None]) -> Expression:
    """A copy in which every part for which `change` gives something is replaced by that, outermost first."""
    changed = change(expression)
    if changed is not None:
        return changed
    if isinstance(expression, Call):
        return replace(expression, arguments=tuple(transform(part, change) for part in expression.arguments))
    if isinstance(expression, Cast):
        return replace(expression, argument=transform(expression.argument, change))
    if isinstance(expression, Case):
        branches = tuple((transform(when, change), transform(then, change)) for when, then in expression.branches)
        return replace(expression, branches=branches, otherwise=transform(expression.otherwise, change))
    return expression


def rename_columns(expression: Expression, names: dict[str, str]) -> Expression:
    """The same expression over columns with other names."""

    def renamed(part: Expression) -> Expression | None:
        return (
            ColumnReference(names.get(part.name, part.name), part.type) if isinstance(part, ColumnReference) else None
        )

    return transform(expression, renamed)
