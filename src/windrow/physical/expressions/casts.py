"""Casts between types. What has no value in the new type is null: a bad row never stops a query."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.batch.arrays import Array
from windrow.batch.arrow import arrow_type, column_from_arrow, column_to_arrow
from windrow.batch.column import Column, dtype_of, nulls
from windrow.batch.dictionary import Dictionary
from windrow.physical.expressions.vectors import as_floats, from_unscaled, limits_of, unscaled, vector
from windrow.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGERS,
    NULL,
    STRING,
    TIMESTAMP,
    DecimalType,
    Type,
    as_decimal,
    is_numeric,
)
from windrow.units import parse_timestamp

_DAY = 86_400_000_000
_PATTERNS = {
    "integer": r"^\s*[+-]?\d{1,18}\s*$",
    "number": r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$",
    "decimal": r"^\s*[+-]?(\d+\.?\d*|\.\d+)\s*$",
    "boolean": r"^\s*(?i:true|false|t|f|yes|no|y|n|1|0)\s*$",
    "date": r"^\s*\d{4}-\d{2}-\d{2}",
}


def cast(source: Column, of: Type, dictionary: Dictionary) -> Column:
    """The column as another type."""
    if source.type == of:
        return source
    if source.type == NULL:
        return nulls(of, len(source), dictionary)
    if of == STRING:
        return _to_string(source, dictionary)
    if source.type == STRING:
        return _from_string(source, of, dictionary)
    if source.type == BOOLEAN or of == BOOLEAN:
        return _boolean(source, of, dictionary)
    if is_numeric(of):
        return _number(source, of)
    if of == TIMESTAMP:
        return vector(of, source.values.astype(np.int64) * _DAY, source.valid)
    assert of == DATE, of
    return vector(of, source.values // _DAY, source.valid)


def _boolean(source: Column, of: Type, dictionary: Dictionary) -> Column:
    if of == BOOLEAN:
        return vector(of, as_floats(source) != 0, source.valid)
    as_int = vector(INTEGERS[2], source.values.astype(np.int32), source.valid)
    return as_int if of == INTEGERS[2] else cast(as_int, of, dictionary)


def _number(source: Column, of: Type) -> Column:
    if of in (DOUBLE, FLOAT):
        with np.errstate(over="ignore"):
            return vector(of, as_floats(source).astype(dtype_of(of)), source.valid)
    if isinstance(of, DecimalType):
        return _to_decimal(source, of)
    return _to_integer(source, of)


def _to_integer(source: Column, of: Type) -> Column:
    """Truncates towards zero; what is too large is null."""
    least, most = limits_of(of)
    if isinstance(source.type, DecimalType):
        values = unscaled(source)
        values = np.where(values < 0, -(-values // 10**source.type.scale), values // 10**source.type.scale)
        inside = (values >= least) & (values <= most)
    else:
        values = source.values
        if values.dtype.kind == "f":
            values = np.trunc(values)
            inside = (values >= float(least)) & (values < -float(least))
        else:
            inside = (values >= least) & (values <= most)
    inside = np.asarray(inside, np.bool_)
    valid = inside if source.valid is None else inside & source.valid
    return vector(of, np.where(valid, values, 0).astype(dtype_of(of)), None if valid.all() else valid)


def _to_decimal(source: Column, of: DecimalType) -> Column:
    if source.values.dtype.kind == "f":
        values = source.values.astype(np.float64)
        finite = np.isfinite(values) & (np.abs(values) < 10.0 ** (of.precision - of.scale))
        texts = [f"{value:.{of.scale}f}".replace(".", "") for value in np.where(finite, values, 0.0).tolist()]
        scaled = np.array([int(text) for text in texts], dtype=object)
        valid = finite if source.valid is None else finite & source.valid
        return from_unscaled(scaled, valid, of)
    own = as_decimal(source.type)
    assert own is not None, source.type
    return from_unscaled(rescaled(unscaled(source), own.scale, of.scale), source.valid, of)


def rescaled(values: Array, scale: int, wanted: int) -> Array:
    """Scaled integers of another scale, rounded half away from zero."""
    if wanted >= scale:
        if wanted == scale:
            return values
        widened: Array = values.astype(object) * 10 ** (wanted - scale)
        return widened
    unit = 10 ** (scale - wanted)
    wide = values.astype(object)
    half = np.where(wide < 0, -(unit // 2), unit // 2)
    total = wide + half
    rounded: Array = np.where(total < 0, -(-total // unit), total // unit)
    return rounded


def _to_string(source: Column, dictionary: Dictionary) -> Column:
    if source.type == TIMESTAMP:
        return _timestamp_text(source, dictionary)
    values = column_to_arrow(source)
    if source.type in (DOUBLE, FLOAT):
        texts = [None if value is None else _double_text(value) for value in values.to_pylist()]
        return column_from_arrow(pa.array(texts, pa.string()), dictionary, STRING)
    return column_from_arrow(values.cast(pa.string()), dictionary, STRING)


def _double_text(value: float) -> str:
    """As Spark SQL prints doubles: 1.0, 1.0E10, NaN, Infinity."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        text = repr(float(value))
        return text if "e" not in text else f"{value:f}"
    mantissa, _, exponent = f"{value!r}".partition("e")
    if not exponent:
        mantissa, _, exponent = f"{value:.17e}".partition("e")
        mantissa = repr(float(value) / 10.0 ** int(exponent))
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}E{int(exponent)}"


def _timestamp_text(source: Column, dictionary: Dictionary) -> Column:
    seconds = pa.array(source.values).cast(pa.timestamp("us"))
    texts = pc.strftime(seconds, "%Y-%m-%d %H:%M:%S")
    texts = _trimmed_fraction(texts)
    if source.valid is not None:
        texts = pc.if_else(pa.array(source.valid), texts, None)
    return column_from_arrow(texts, dictionary, STRING)


def _trimmed_fraction(texts: pa.Array) -> pa.Array:
    """Seconds without a fraction of zeros."""
    return pc.replace_substring_regex(pc.replace_substring_regex(texts, r"(\.\d*?)0+$", r"\1"), r"\.$", "")


def _from_string(source: Column, of: Type, dictionary: Dictionary) -> Column:
    texts = pc.utf8_trim_whitespace(column_to_arrow(source))
    pattern, read = _reader(of)
    fits = pc.fill_null(pc.match_substring_regex(texts, _PATTERNS[pattern]), False)
    values = read(pc.if_else(fits, texts, None), of)
    return column_from_arrow(values, dictionary, of)


def _reader(of: Type) -> tuple[str, Callable[[pa.Array, Type], pa.Array]]:
    if of in INTEGERS:
        return "integer", _read_integer
    if of in (DOUBLE, FLOAT):
        return "number", lambda texts, wanted: texts.cast(arrow_type(wanted))
    if isinstance(of, DecimalType):
        return "decimal", _read_decimal
    if of == BOOLEAN:
        return "boolean", lambda texts, _: pc.is_in(pc.utf8_lower(texts), pa.array(["true", "t", "yes", "y", "1"]))
    return "date", _read_time


def _read_integer(texts: pa.Array, of: Type) -> pa.Array:
    least, most = limits_of(of)
    wide = pc.replace_substring_regex(texts, r"^\+", "").cast(pa.int64())
    inside = pc.and_(pc.greater_equal(wide, least), pc.less_equal(wide, most))
    return pc.if_else(inside, wide, None).cast(arrow_type(of))


def _read_decimal(texts: pa.Array, of: Type) -> pa.Array:
    assert isinstance(of, DecimalType)
    unit, limit = Decimal(1).scaleb(-of.scale), Decimal(10) ** (of.precision - of.scale)
    values = [None if text is None else Decimal(text).quantize(unit, ROUND_HALF_UP) for text in texts.to_pylist()]
    return pa.array([value if value is not None and abs(value) < limit else None for value in values], arrow_type(of))


def _read_time(texts: pa.Array, of: Type) -> pa.Array:
    def read(text: str | None) -> int | None:
        try:
            return None if text is None else parse_timestamp(text)
        except (ValueError, OverflowError):
            return None

    unique = texts.dictionary_encode()
    moments = pa.array([read(text) for text in unique.dictionary.to_pylist()], pa.int64())
    values = moments.take(unique.indices)
    if of == TIMESTAMP:
        return values.view(pa.timestamp("us"))
    days = [None if v is None else v // _DAY for v in values.to_pylist()]
    return pa.array(days, pa.int32()).view(pa.date32())
