"""Catalog entries as JSON values and back."""

from __future__ import annotations

import re
from dataclasses import fields
from decimal import Decimal
from typing import Any

from windrow.catalog.entries import KINDS, ColumnDefinition, Connector, Entry, Punctuation
from windrow.types import SIMPLE_TYPES, Type, array, decimal, struct

Json = dict[str, Any]
_DECIMAL = re.compile(r"DECIMAL\((\d+), (\d+)\)")
_FIELD = re.compile(r'(?:, )?(?:"((?:[^"]|"")*)"|(\w+)): ')
_WORD = re.compile(r"[A-Z]+")
_NOT_STORED = "plan"


def encode(entry: Entry) -> Json:
    stored = (field.name for field in fields(entry) if field.name != _NOT_STORED)
    return {"kind": entry.kind, **{name: _value(getattr(entry, name)) for name in stored}}


def decode(stored: Json) -> Entry:
    """An entry from what `encode` made; KeyError or ValueError when it is something else."""
    of = KINDS[stored["kind"]]
    values = {name: value for name, value in stored.items() if name != "kind"}
    if "columns" in values:
        values["columns"] = tuple(
            ColumnDefinition(column["name"], decode_type(column["type"]), column["nullable"], column.get("computed"))
            for column in values["columns"]
        )
    for name in ("connector", "sink", "late_sink", "rejected_sink"):
        if values.get(name) is not None:
            values[name] = _connector(values[name])
    if "punctuations" in values:
        values["punctuations"] = tuple(
            Punctuation(stored_one["where"], tuple(stored_one["by"])) for stored_one in values["punctuations"]
        )
    for name in ("ties", "primary_key", "uses"):
        if name in values:
            values[name] = tuple(values[name])
    return of(**values)


def _value(value: object) -> object:
    if isinstance(value, Type):
        return str(value)
    if isinstance(value, Decimal):
        return {"decimal": str(value)}
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, tuple):
        return [_value(item) for item in value]
    if isinstance(value, ColumnDefinition | Connector | Punctuation):
        return {field.name: _value(getattr(value, field.name)) for field in fields(value)}
    return value


def _connector(stored: Json) -> Connector:
    arguments = tuple(_constant(value) for value in stored["arguments"])
    options = tuple((name, _constant(value)) for name, value in stored["options"])
    return Connector(stored["name"], arguments, options)


def _constant(stored: Any) -> Any:
    if isinstance(stored, dict):
        return Decimal(stored["decimal"]) if "decimal" in stored else bytes.fromhex(stored["bytes"])
    return stored


def decode_type(text: str) -> Type:
    of, rest = _type_at_start(text)
    if rest:
        raise ValueError(f"{text} is not a type")
    return of


def _type_at_start(text: str) -> tuple[Type, str]:
    """The type that a text begins with, and what is left of it."""
    if text.startswith("ARRAY<"):
        element, rest = _type_at_start(text.removeprefix("ARRAY<"))
        return array(element), rest.removeprefix(">")
    if text.startswith("STRUCT<"):
        fields: list[tuple[str, Type]] = []
        rest = text.removeprefix("STRUCT<")
        while not rest.startswith(">"):
            name = _FIELD.match(rest)
            if name is None:
                raise ValueError(f"{text} is not a type")
            of, rest = _type_at_start(rest[name.end() :])
            fields.append((name[2] if name[1] is None else name[1].replace('""', '"'), of))
        return struct(*fields), rest[1:]
    digits = _DECIMAL.match(text)
    if digits:
        return decimal(int(digits[1]), int(digits[2])), text[digits.end() :]
    name = _WORD.match(text)
    return SIMPLE_TYPES[name[0] if name else text], text[name.end() if name else 0 :]
