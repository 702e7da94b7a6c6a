"""Rows as they are compared: values that count as equal become equal."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa


def normal_row(row: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(normal(value) for value in row)


def normal(value: Any) -> Any:
    """Values that count as equal become equal: doubles to nine digits, times as UTC, numbers of all types alike."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, datetime):
        return value.replace(tzinfo=timezone.utc) if value.tzinfo is None else value.astimezone(timezone.utc)
    if isinstance(value, pa.MonthDayNano):
        return timedelta(days=value.days, microseconds=value.nanoseconds // 1000)
    if isinstance(value, float):
        return "NaN" if value != value else float(f"{value:.9g}") + 0.0
    if isinstance(value, int | Decimal):
        return (
            float(f"{float(value):.9g}") if isinstance(value, Decimal) and value != value.to_integral() else int(value)
        )
    if isinstance(value, list):
        return tuple(normal(item) for item in value)
    return tuple(normal(item) for item in value.values()) if isinstance(value, dict) else value
