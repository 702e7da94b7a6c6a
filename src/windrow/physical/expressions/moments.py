"""Functions of times: parts, truncation, conversion. Times are UTC."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.batch.column import Column
from windrow.batch.dictionary import Dictionary
from windrow.physical.expressions.arithmetic import Kernel
from windrow.physical.expressions.vectors import vector
from windrow.types import DATE, Type
from windrow.units import DAY, HOUR, MILLISECOND, MINUTE, SECOND

_FIXED = {"MICROSECOND": 1, "MILLISECOND": MILLISECOND, "SECOND": SECOND, "MINUTE": MINUTE, "HOUR": HOUR, "DAY": DAY}


def _microseconds(source: Column) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return source.values.astype(np.int64) * (DAY if source.type == DATE else 1)


def part(name: str, source: Column) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """A part of a time; seconds and below are whole numbers of their unit within the next one."""
    times = _microseconds(source)
    if name in ("HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND"):
        modulus = {"HOUR": DAY, "MINUTE": HOUR}.get(name, MINUTE)
        return times % modulus // _FIXED[name]
    moments = pa.array(times).view(pa.timestamp("us"))
    compute = {"YEAR": pc.year, "QUARTER": pc.quarter, "MONTH": pc.month, "WEEK": pc.iso_week, "DAY": pc.day}[name]
    return np.asarray(compute(moments), np.int64)


def extract(arguments: list[Column], of: Type, dictionary: Dictionary, unit: str) -> Column:
    source = arguments[-1]
    return vector(of, part(unit, source), source.valid)


def field(name: str) -> Kernel:
    """YEAR(time), HOUR(time) and the like."""

    def kernel(arguments: list[Column], of: Type, dictionary: Dictionary) -> Column:
        (source,) = arguments
        return vector(of, part(name, source), source.valid)

    return kernel


def day_of_week(arguments: list[Column], of: Type, dictionary: Dictionary) -> Column:
    """Sunday is 1, as in Spark SQL."""
    (source,) = arguments
    return vector(of, (_microseconds(source) // DAY + 4) % 7 + 1, source.valid)


def truncate(arguments: list[Column], of: Type, dictionary: Dictionary, unit: str) -> Column:
    source = arguments[-1]
    times = _microseconds(source)
    if unit in _FIXED:
        return vector(of, times // _FIXED[unit] * _FIXED[unit], source.valid)
    if unit == "WEEK":
        return vector(of, ((times // DAY + 3) // 7 * 7 - 3) * DAY, source.valid)
    moments = pa.array(times).view(pa.timestamp("us"))
    floored = pc.floor_temporal(moments, unit=unit.lower())
    return vector(of, np.asarray(floored.view(pa.int64())), source.valid)


def to_date(arguments: list[Column], of: Type, dictionary: Dictionary) -> Column:
    (source,) = arguments
    return source if source.type == DATE else vector(of, source.values // DAY, source.valid)


def as_microseconds(arguments: list[Column], of: Type, dictionary: Dictionary) -> Column:
    """UNIX_MICROS and TIMESTAMP_MICROS: the same number under another type."""
    (source,) = arguments
    return vector(of, _microseconds(source), source.valid)
