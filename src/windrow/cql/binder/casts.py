"""Casts: which types can be read as which others."""

from __future__ import annotations

from windrow.types import BINARY, BOOLEAN, DATE, NULL, STRING, TIMESTAMP, Type, is_numeric


def can_cast(source: Type, target: Type) -> bool:
    if source == NULL or target == STRING:
        return True
    if source == STRING:
        return target != BINARY
    if is_numeric(source):
        return is_numeric(target) or target == BOOLEAN
    if source == BOOLEAN:
        return is_numeric(target)
    return {source, target} == {DATE, TIMESTAMP}


def cast_hint(source: Type, target: Type) -> str:
    if source == TIMESTAMP and is_numeric(target):
        return "write UNIX_MICROS(time) for its microseconds since 1970"
    if is_numeric(source) and target == TIMESTAMP:
        return "write TIMESTAMP_MICROS(number) for microseconds since 1970"
    return "numbers, texts and BOOLEAN can be cast to each other, and DATE to TIMESTAMP and back"
