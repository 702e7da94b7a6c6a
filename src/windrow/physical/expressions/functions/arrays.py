"""Functions of arrays and maps; elements are compared as values of their type, and a null is equal to a null."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from windrow.physical.expressions.arithmetic import Kernel
from windrow.physical.expressions.functions.plain_values import of_nullable, of_typed, of_values
from windrow.types import ArrayType, MapType, StructType, Type

_MOST = 1_000_000  # elements that a function makes; more gives null


def _key(value: Any) -> Any:
    """What can be hashed and is equal where values are: -0.0 is 0.0, NaN is NaN."""
    if isinstance(value, float):
        return "NaN" if value != value else value + 0.0
    if isinstance(value, list | tuple):
        return tuple(map(_key, value))
    return tuple((name, _key(part)) for name, part in value.items()) if isinstance(value, dict) else value


def _order(value: Any) -> Any:
    """In the order of Spark SQL: nulls first, NaN last, arrays and structs by their parts."""
    if value is None:
        return (0,)
    if isinstance(value, float):
        return (1, value != value, 0.0 if value != value else value)
    if isinstance(value, list):
        return (1, *map(_order, value))
    return (1, *map(_order, value.values())) if isinstance(value, dict) else (1, value)


def _kept(values: list[Any], others: list[Any], wanted: bool) -> list[Any]:
    known = {_key(value) for value in others}
    return _first_of(value for value in values if (_key(value) in known) is wanted)


def _first_of(values: Iterable[Any]) -> list[Any]:
    """Each value once, where it first stands."""
    seen: dict[Any, Any] = {}
    for value in values:
        seen.setdefault(_key(value), value)
    return list(seen.values())


def _contains(values: list[Any], value: Any) -> bool | None:
    """Null when it is not there and something is unknown."""
    if _key(value) in {_key(known) for known in values if known is not None}:
        return True
    return None if None in values else False


def _overlap(one: list[Any], other: list[Any]) -> bool | None:
    ours, theirs = ({_key(value) for value in side if value is not None} for side in (one, other))
    if ours & theirs:
        return True
    return None if one and other and (None in one or None in other) else False


def _inserted(values: list[Any], place: int, value: Any) -> list[Any] | None:
    """Counted from 1, or from the end; the gap is filled with nulls."""
    if place == 0 or abs(place) > _MOST:
        return None
    if place > 0:
        filled = values + [None] * max(0, place - 1 - len(values))
        return [*filled[: place - 1], value, *filled[place - 1 :]]
    at = len(values) + place + 1
    return [value, *[None] * -at, *values] if at < 0 else [*values[:at], value, *values[at:]]


def _texts(values: list[Any], delimiter: str, instead: str | None = None) -> str:
    shown = (instead if value is None else value for value in values)
    return delimiter.join(value for value in shown if value is not None)


def _sliced(values: list[Any], start: int, length: int) -> list[Any] | None:
    if start == 0 or length < 0:
        return None
    at = start - 1 if start > 0 else len(values) + start
    return values[at : at + length] if 0 <= at < len(values) else []


def _sorted(values: list[Any], ascending: bool = True) -> list[Any]:
    return sorted(values, key=_order, reverse=not ascending)


def _nulls_last(values: list[Any]) -> list[Any]:
    return [*_sorted([value for value in values if value is not None]), *(value for value in values if value is None)]


def _extreme(choose: Callable[..., Any]) -> Callable[[list[Any]], Any]:
    def compute(values: list[Any]) -> Any:
        present = [value for value in values if value is not None]
        return choose(present, key=_order) if present else None

    return compute


def _element_at(types: Sequence[Type], of: Type, source: list[Any], place: Any) -> Any:
    """Counted from 1, or from the end; of a map the value of a key."""
    if isinstance(types[0], MapType):
        return next((value for key, value in reversed(source) if _key(key) == _key(place)), None)
    at = place - 1 if place > 0 else len(source) + place
    return source[at] if place != 0 and 0 <= at < len(source) else None


def _flattened(values: list[Any]) -> list[Any] | None:
    return None if None in values else [item for value in values for item in value]


def _sequence(start: Any, stop: Any, step: Any = None) -> list[Any] | None:
    step = (1 if stop >= start else -1) if step is None else step
    if step == 0 or (stop - start) * step < 0:
        return None
    count = (stop - start) // step + 1
    return [start + place * step for place in range(count)] if count <= _MOST else None


def _zipped(types: Sequence[Type], of: Type, *arrays: list[Any]) -> list[Any]:
    assert isinstance(of, ArrayType) and isinstance(of.element, StructType), of
    names = [name for name, _ in of.element.fields]
    longest = max(map(len, arrays), default=0)
    return [
        {name: array[place] if place < len(array) else None for name, array in zip(names, arrays, strict=True)}
        for place in range(longest)
    ]


def _pairs(pairs: Iterable[tuple[Any, Any]]) -> list[tuple[Any, Any]] | None:
    """The entries of a map; a null key has no map, and of equal keys the last counts."""
    found: dict[Any, tuple[Any, Any]] = {}
    for key, value in pairs:
        if key is None:
            return None
        found[_key(key)] = (found.get(_key(key), (key,))[0], value)
    return list(found.values())


def _map(*parts: Any) -> list[tuple[Any, Any]] | None:
    return _pairs(zip(parts[::2], parts[1::2], strict=True))


def _split_map(text: str, between: str = ",", inside: str = ":") -> list[tuple[str, str | None]] | None:
    found = (part.partition(inside) for part in text.split(between))
    return _pairs((key, value if sign else None) for key, sign, value in found)


KERNELS: dict[str, Kernel] = {
    "ARRAY": of_nullable(lambda *values: list(values)),
    "ARRAY_APPEND": of_nullable(lambda values, value: None if values is None else [*values, value]),
    "ARRAY_PREPEND": of_nullable(lambda values, value: None if values is None else [value, *values]),
    "ARRAY_COMPACT": of_values(lambda values: [value for value in values if value is not None]),
    "ARRAY_CONTAINS": of_values(_contains),
    "ARRAY_DISTINCT": of_values(_first_of),
    "ARRAY_EXCEPT": of_values(lambda one, other: _kept(one, other, False)),
    "ARRAY_INTERSECT": of_values(lambda one, other: _kept(one, other, True)),
    "ARRAY_UNION": of_values(lambda one, other: _first_of([*one, *other])),
    "ARRAYS_OVERLAP": of_values(_overlap),
    "ARRAYS_ZIP": of_typed(_zipped),
    "ARRAY_INSERT": of_nullable(
        lambda values, place, value: None if values is None or place is None else _inserted(values, place, value)
    ),
    "ARRAY_JOIN": of_values(_texts),
    "ARRAY_MAX": of_values(_extreme(max)),
    "ARRAY_MIN": of_values(_extreme(min)),
    "ARRAY_POSITION": of_values(
        lambda values, value: next((at for at, known in enumerate(values, 1) if _key(known) == _key(value)), 0)
    ),
    "ARRAY_REMOVE": of_values(lambda values, value: [known for known in values if _key(known) != _key(value)]),
    "ARRAY_REPEAT": of_nullable(
        lambda value, count: None if count is None or count > _MOST else [value] * max(count, 0)
    ),
    "ARRAY_SORT": of_values(_nulls_last),
    "SORT_ARRAY": of_values(_sorted),
    "SLICE": of_values(_sliced),
    "FLATTEN": of_values(_flattened),
    "SEQUENCE": of_values(_sequence),
    "CARDINALITY": of_values(len),
    "ELEMENT_AT": of_typed(_element_at),
    "MAP": of_nullable(_map),
    "MAP_KEYS": of_values(lambda entries: [key for key, _ in entries]),
    "MAP_VALUES": of_values(lambda entries: [value for _, value in entries]),
    "MAP_ENTRIES": of_values(lambda entries: [{"key": key, "value": value} for key, value in entries]),
    "MAP_CONTAINS_KEY": of_values(lambda entries, key: any(_key(known) == _key(key) for known, _ in entries)),
    "MAP_FROM_ARRAYS": of_values(
        lambda keys, values: _pairs(zip(keys, values, strict=True)) if len(keys) == len(values) else None
    ),
    "MAP_FROM_ENTRIES": of_values(
        lambda entries: None if None in entries else _pairs(tuple(entry.values()) for entry in entries)
    ),
    "MAP_CONCAT": of_values(lambda *maps: _pairs(entry for entries in maps for entry in entries)),
    "STR_TO_MAP": of_values(_split_map),
}
