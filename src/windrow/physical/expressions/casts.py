"""Casts between types. What has no value in the new type is null: a bad row never stops a query."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal, localcontext

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.batch.arrays import Array
from windrow.batch.arrow import arrow_type, column_from_arrow, column_to_arrow
from windrow.batch.column import Column, dtype_of, nulls
from windrow.batch.dictionary import Dictionary
from windrow.batch.wide import TRUNCATED, narrowed, rescaled, wide_of
from windrow.physical.expressions.vectors import among, as_floats, decimals, limits_of, rescaled_to, shortest, vector
from windrow.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGERS,
    INTERVAL,
    NULL,
    STRING,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    StructType,
    Type,
    as_decimal,
    decimal,
    is_nested,
    is_numeric,
)
from windrow.units import parse_duration, parse_timestamp

_DAY = 86_400_000_000
_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"


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
    values = source.values
    if isinstance(source.type, DecimalType):
        wide, fits = rescaled(values, source.type.scale, 2**64, TRUNCATED)
        values, narrow = narrowed(wide)
        inside = fits & narrow & (values >= least) & (values <= most)
    elif values.dtype.kind == "f":
        values = np.trunc(values)
        inside = (values >= float(least)) & (values < -float(least))
    else:
        inside = (values >= least) & (values <= most)
    return vector(of, np.where(inside, values, 0).astype(dtype_of(of)), among(source.valid, inside))


def _to_decimal(source: Column, of: DecimalType) -> Column:
    if source.values.dtype.kind == "f":
        return _float_to_decimal(source, of)
    own = as_decimal(source.type)
    assert own is not None, source.type
    return rescaled_to(source, own.scale - of.scale, of)


def _float_to_decimal(source: Column, of: DecimalType) -> Column:
    """By the shortest decimal text of each different number, rounded half away from zero; a text has no kernel."""
    values = shortest(source)
    finite = np.isfinite(values) & (np.abs(values) < 10.0 ** (of.precision - of.scale + 1))
    different, places = np.unique(np.where(finite, values, 0.0), return_inverse=True)
    scaled = [_scaled(Decimal(repr(value)), of.scale) for value in different.tolist()]
    fits = np.array([abs(value) < 10**of.precision for value in scaled], np.bool_)
    wide = wide_of([value if fit else 0 for value, fit in zip(scaled, fits, strict=True)])
    return decimals(wide[places], among(source.valid, finite & fits[places]), of)


def _scaled(value: Decimal, scale: int) -> int:
    with localcontext() as context:
        context.prec = 400
        return int(value.scaleb(scale).quantize(Decimal(1), ROUND_HALF_UP))


def _to_string(source: Column, dictionary: Dictionary) -> Column:
    if source.type == TIMESTAMP:
        return _timestamp_text(source, dictionary)
    if source.type in (DOUBLE, FLOAT):
        return _texts(source, shortest(source).view(np.int64), _text_of_bits, dictionary)
    if source.type == INTERVAL:
        return _texts(source, source.values, _interval_text, dictionary)
    if isinstance(source.type, DecimalType):
        return column_from_arrow(_decimal_texts(source, source.type), dictionary, STRING)
    if is_nested(source.type):
        return column_from_arrow(_nested_texts(column_to_arrow(source), source.type, dictionary), dictionary, STRING)
    return column_from_arrow(column_to_arrow(source).cast(pa.string()), dictionary, STRING)


def _nested_texts(values: pa.Array, of: Type, dictionary: Dictionary) -> pa.Array:
    """As Spark SQL prints them: [1, 2, null] and {x, 1}."""
    if isinstance(of, ArrayType):
        parts = _part_texts(values.flatten(), of.element, dictionary)
        counts = np.asarray(pc.fill_null(pc.list_value_length(values), 0))
        lists = pa.ListArray.from_arrays(pa.array(np.concatenate([[0], np.cumsum(counts)]), pa.int32()), parts)
        return pc.binary_join_element_wise(
            "[", pc.if_else(values.is_valid(), pc.binary_join(lists, ", "), None), "]", ""
        )
    assert isinstance(of, StructType), of
    fields = [
        _part_texts(field, part, dictionary) for field, (_, part) in zip(values.flatten(), of.fields, strict=True)
    ]
    inside = pc.if_else(values.is_valid(), pc.binary_join_element_wise(*fields, ", "), None)
    return pc.binary_join_element_wise("{", inside, "}", "")


def _part_texts(values: pa.Array, of: Type, dictionary: Dictionary) -> pa.Array:
    text = column_to_arrow(cast(column_from_arrow(values, dictionary, of), STRING, dictionary))
    return pc.fill_null(text, "null")


def _texts(source: Column, values: Array, write: Callable[[int], str], dictionary: Dictionary) -> Column:
    """Texts written once for each different value."""
    different, places = np.unique(values, return_inverse=True)
    written = pa.array([write(value) for value in different.tolist()], pa.string())
    texts = written.take(pa.array(places, mask=None if source.valid is None else ~source.valid))
    return column_from_arrow(texts, dictionary, STRING)


def _text_of_bits(bits: int) -> str:
    return _double_text(float(np.int64(bits).view(np.float64)))


def _decimal_texts(source: Column, of: DecimalType) -> pa.Array:
    """All digits after the point, without an exponent."""
    whole = column_to_arrow(Column(decimal(of.precision, 0), source.values, source.valid)).cast(pa.string())
    if of.scale == 0:
        return whole
    digits = pc.utf8_lpad(pc.utf8_ltrim(whole, "-"), of.scale + 1, "0")
    sign = pc.if_else(pc.starts_with(whole, "-"), "-", "")
    before, after = pc.utf8_slice_codeunits(digits, 0, -of.scale), pc.utf8_slice_codeunits(digits, -of.scale)
    return pc.binary_join_element_wise(sign, pc.binary_join_element_wise(before, after, "."), "")


def _interval_text(microseconds: int) -> str:
    """As Spark SQL prints intervals of days and seconds."""
    days, rest = divmod(abs(microseconds), _DAY)
    seconds, fraction = divmod(rest, 1_000_000)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    clock += f".{fraction:06}".rstrip("0") if fraction else ""
    return f"INTERVAL '{'-' if microseconds < 0 else ''}{days} {clock}' DAY TO SECOND"


def _double_text(value: float) -> str:
    """As Spark SQL prints doubles: 1.0, 1.0E10, NaN, Infinity."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    text = repr(value)
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return text
    exact = Decimal(text).normalize()
    digits = "".join(map(str, exact.as_tuple().digits))
    return f"{'-' if value < 0 else ''}{digits[0]}.{digits[1:] or '0'}E{exact.adjusted()}"


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
    """Read once for each different text; by Arrow what it reads as Spark SQL does, in Python what has no kernel."""
    texts = pc.utf8_trim_whitespace(column_to_arrow(source)).dictionary_encode()
    values = _reader(of)(texts.dictionary, of)
    return column_from_arrow(values.take(texts.indices), dictionary, of)


def _reader(of: Type) -> Callable[[pa.Array, Type], pa.Array]:
    if of in INTEGERS:
        return _read_integer
    if of in (DOUBLE, FLOAT):
        return _read_float
    if isinstance(of, DecimalType):
        return _read_decimal
    if of == BOOLEAN:
        return _read_boolean
    return _read_interval if of == INTERVAL else _read_time


def _that_fit(texts: pa.Array, pattern: str) -> pa.Array:
    return pc.if_else(pc.match_substring_regex(texts, pattern), texts, None)


def _read_integer(texts: pa.Array, of: Type) -> pa.Array:
    least, most = limits_of(of)
    large = pa.decimal256(76, 0)
    numbers = pc.utf8_ltrim(_that_fit(texts, r"^[+-]?[0-9]{1,40}$"), "+").cast(large)
    fits = pc.and_(pc.greater_equal(numbers, pa.scalar(least, large)), pc.less_equal(numbers, pa.scalar(most, large)))
    return pc.if_else(fits, numbers, None).cast(arrow_type(of))


def _read_float(texts: pa.Array, of: Type) -> pa.Array:
    fitting = _that_fit(texts, f"(?i)^(?:{_NUMBER}|[+-]?inf(?:inity)?|nan)$")
    return fitting.cast(pa.float64()).cast(arrow_type(of), safe=False)


def _read_boolean(texts: pa.Array, of: Type) -> pa.Array:
    lowered = _that_fit(pc.utf8_lower(texts), "^(?:true|false|t|f|yes|no|y|n|1|0)$")
    return pc.if_else(lowered.is_valid(), pc.is_in(lowered, pa.array(["true", "t", "yes", "y", "1"])), None)


def _read_decimal(texts: pa.Array, of: Type) -> pa.Array:
    assert isinstance(of, DecimalType)
    limit = 10**of.precision

    def read(text: str | None) -> Decimal | None:
        if text is None or Decimal(text).adjusted() > 60:
            return None
        scaled = _scaled(Decimal(text), of.scale) if Decimal(text).adjusted() > -100 else 0
        return Decimal((int(scaled < 0), tuple(map(int, str(abs(scaled)))), -of.scale)) if abs(scaled) < limit else None

    return pa.array([read(text) for text in _that_fit(texts, f"^{_NUMBER}$").to_pylist()], arrow_type(of))


def _read_interval(texts: pa.Array, of: Type) -> pa.Array:
    def read(text: str | None) -> int | None:
        try:
            return None if text is None else parse_duration(text)
        except ValueError:
            return None

    return pa.array([read(text) for text in texts.to_pylist()], pa.int64()).view(arrow_type(of))


def _read_time(texts: pa.Array, of: Type) -> pa.Array:
    def read(text: str | None) -> int | None:
        try:
            return None if text is None else parse_timestamp(text)
        except (ValueError, OverflowError):
            return None

    moments = [read(text) for text in _that_fit(texts, r"^[0-9]{4}-[0-9]{2}-[0-9]{2}").to_pylist()]
    if of == TIMESTAMP:
        return pa.array(moments, pa.int64()).view(pa.timestamp("us"))
    days = [None if moment is None else moment // _DAY for moment in moments]
    return pa.array(days, pa.int32()).view(pa.date32())
