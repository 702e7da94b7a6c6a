"""Three-valued logic, and what depends on it: AND, OR, NOT, IS NULL, CASE, COALESCE, IF, NULLIF."""

from __future__ import annotations

import numpy as np

from windrow.batch.arrays import Bools
from windrow.batch.column import Column
from windrow.batch.dictionary import Dictionary
from windrow.physical.expressions.casts import cast
from windrow.physical.expressions.comparison import as_common_type, comparable
from windrow.physical.expressions.vectors import booleans, vector
from windrow.types import Type


def is_true(source: Column) -> Bools:
    """Where a condition is true; null is not."""
    values = source.values.astype(np.bool_)
    return values if source.valid is None else values & source.valid


def _is_false(source: Column) -> Bools:
    values = ~source.values.astype(np.bool_)
    return values if source.valid is None else values & source.valid


def conjunction(arguments: list[Column], of: Type, dictionary: Dictionary) -> Column:
    """False if any is false, else null if any is null."""
    true, false = is_true(arguments[0]), _is_false(arguments[0])
    for argument in arguments[1:]:
        true, false = true & is_true(argument), false | _is_false(argument)
    known = true | false
    return booleans(true, None if known.all() else known)


def disjunction(arguments: list[Column], of: Type, dictionary: Dictionary) -> Column:
    true, false = is_true(arguments[0]), _is_false(arguments[0])
    for argument in arguments[1:]:
        true, false = true | is_true(argument), false & _is_false(argument)
    known = true | false
    return booleans(true, None if known.all() else known)


def negation(arguments: list[Column], of: Type, dictionary: Dictionary) -> Column:
    (source,) = arguments
    return booleans(~source.values.astype(np.bool_), source.valid)


def is_null(arguments: list[Column], of: Type, dictionary: Dictionary) -> Column:
    return booleans(~arguments[0].valid_mask(), None)


def chosen(condition: Bools, one: Column, other: Column, of: Type) -> Column:
    """Row by row one or the other, both of the wanted type."""
    values = np.where(condition, one.values, other.values)
    if values.dtype.names is None and one.values.dtype.names is not None:
        values = values.astype(one.values.dtype)
    valid = None
    if one.valid is not None or other.valid is not None:
        valid = np.where(condition, one.valid_mask(), other.valid_mask())
    return vector(of, values, valid, one if one.dictionary is not None else other)


def case(
    conditions: list[Column], results: list[Column], otherwise: Column, of: Type, dictionary: Dictionary
) -> Column:
    answer = cast(otherwise, of, dictionary)
    for condition, result in zip(reversed(conditions), reversed(results), strict=True):
        answer = chosen(is_true(condition), cast(result, of, dictionary), answer, of)
    return answer


def if_else(arguments: list[Column], of: Type, dictionary: Dictionary) -> Column:
    condition, one, other = arguments
    return case([condition], [one], other, of, dictionary)


def coalesce(arguments: list[Column], of: Type, dictionary: Dictionary) -> Column:
    answer = cast(arguments[-1], of, dictionary)
    for argument in reversed(arguments[:-1]):
        source = cast(argument, of, dictionary)
        answer = chosen(source.valid_mask(), source, answer, of)
    return answer


def null_if(arguments: list[Column], of: Type, dictionary: Dictionary) -> Column:
    source = arguments[0]
    left, right = as_common_type(arguments, dictionary)
    equal = np.asarray(comparable(left) == comparable(right), np.bool_) & left.valid_mask() & right.valid_mask()
    valid = source.valid_mask() & ~equal
    values = np.broadcast_to(source.values, valid.shape)
    return vector(of, values, None if valid.all() else valid, source)
