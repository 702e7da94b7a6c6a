"""JSON: values by a path, lengths, keys, and values written as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any

from windrow.physical.expressions.arithmetic import Kernel
from windrow.physical.expressions.functions.plain_values import of_typed, of_values
from windrow.types import BINARY, DATE, TIMESTAMP, ArrayType, MapType, StructType, Type
from windrow.units import format_timestamp

_MISSING = object()
_STEP = re.compile(r"""\.([^.\[\]]+)|\['([^']*)'\]|\[(\d+|\*)\]""")


@lru_cache(10_000)
def _read(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refused)
    except (ValueError, RecursionError):
        return _MISSING


def _refused(name: str) -> Any:
    raise ValueError(name)


@lru_cache(1000)
def _steps(path: str) -> tuple[str | int, ...] | None:
    """`$.a.b[0]`, `$['a']`, or just a name; -1 stands for every element."""
    if not path.startswith("$"):
        return (int(path),) if path.isdigit() else (path,)
    steps: list[str | int] = []
    at = 1
    while at < len(path):
        match = _STEP.match(path, at)
        if match is None:
            return None
        name, quoted, place = match.groups()
        steps.append((-1 if place == "*" else int(place)) if place is not None else (name or quoted))
        at = match.end()
    return tuple(steps)


def _found(value: Any, steps: Sequence[str | int]) -> Any:
    for place, step in enumerate(steps):
        if step == -1 and isinstance(value, list):
            found = [_found(item, steps[place + 1 :]) for item in value]
            found = [item for item in found if item is not _MISSING]
            return _MISSING if not found else found[0] if len(found) == 1 else found
        if isinstance(step, str):
            value = value.get(step, _MISSING) if isinstance(value, dict) else _MISSING
        else:
            value = value[step] if isinstance(value, list) and 0 <= step < len(value) else _MISSING
        if value is _MISSING:
            return _MISSING
    return value


def _written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _at_path(text: str, path: str | int) -> Any:
    steps = _steps(str(path))
    value = _read(text)
    return _MISSING if steps is None or value is _MISSING else _found(value, steps)


def _text_at(text: str, path: str) -> str | None:
    """A text without its quotes, anything else as JSON."""
    value = _at_path(text, path)
    if value is _MISSING or value is None:
        return None
    return value if isinstance(value, str) else _written(value)


def _json_at(text: str, path: str) -> str | None:
    value = _at_path(text, path)
    return None if value is _MISSING else _written(value)


def _length(text: str) -> int | None:
    value = _read(text)
    return len(value) if isinstance(value, list) else None


def _keys(text: str) -> list[str] | None:
    value = _read(text)
    return list(value) if isinstance(value, dict) else None


def _as_json(types: Sequence[Type], of: Type, value: Any) -> str:
    return _written(_jsonable(value, types[0]))


def _jsonable(value: Any, of: Type) -> Any:
    """Fields that are null are left out, as Spark SQL does."""
    if value is None:
        return None
    if isinstance(of, MapType):
        return {str(key): _jsonable(item, of.value) for key, item in value}
    if isinstance(of, ArrayType):
        return [_jsonable(item, of.element) for item in value]
    if isinstance(of, StructType):
        return {name: _jsonable(value[name], part) for name, part in of.fields if value[name] is not None}
    if of == BINARY:
        return value.hex()
    if of in (TIMESTAMP, DATE):
        return format_timestamp(value) if isinstance(value, int) and of == TIMESTAMP else str(value)
    return float(value) if isinstance(value, Decimal) else value


KERNELS: dict[str, Kernel] = {
    "GET_JSON_OBJECT": of_values(_text_at),
    "JSON_QUERY": of_values(_json_at),
    "JSON_ARRAY_LENGTH": of_values(_length),
    "JSON_OBJECT_KEYS": of_values(_keys),
    "TO_JSON": of_typed(_as_json),
}
