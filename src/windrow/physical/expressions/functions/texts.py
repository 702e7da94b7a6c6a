"""Functions of texts: parts, padding, encodings, likeness."""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from typing import Any
from urllib.parse import quote_plus, unquote_plus, urlsplit

from windrow.physical.expressions.arithmetic import Kernel
from windrow.physical.expressions.functions.plain_values import of_nullable, of_typed, of_values
from windrow.types import Type

_LONGEST = 10_000_000  # of a text that a function makes longer; more gives null


def _joined(separator: str | None, *parts: Any) -> str | None:
    """Nulls are left out; arrays stand for their elements."""
    if separator is None:
        return None
    texts = (text for part in parts for text in (part if isinstance(part, list) else [part]) if text is not None)
    return separator.join(texts)


def _before_delimiter(text: str, delimiter: str, count: int) -> str:
    """Everything before the count-th delimiter, from the end when negative."""
    if not delimiter or count == 0:
        return ""
    parts = text.split(delimiter) if count > 0 else text.rsplit(delimiter)
    return delimiter.join(parts[:count] if count > 0 else parts[count:])


def _located(search: str, text: str, start: int = 1) -> int:
    return text.find(search, start - 1) + 1 if start > 0 else 0


def _padded(text: str, length: int, pad: str, left: bool) -> str | None:
    if length <= len(text):
        return text[: max(length, 0)]
    if length > _LONGEST:
        return None
    filling = (pad * ((length - len(text)) // len(pad) + 1))[: length - len(text)] if pad else ""
    return filling + text if left else text + filling


def _translated(text: str, source: str, target: str) -> str:
    table: dict[int, str | None] = {}
    for place, letter in enumerate(source):
        table.setdefault(ord(letter), target[place] if place < len(target) else None)
    return text.translate(table)


def _overlaid(text: str, replacement: str, start: int, length: int = -1) -> str:
    """As Spark SQL: the text before, the replacement, the text behind what it replaces."""
    taken = len(replacement) if length < 0 else length
    before = text[: max(start - 1, 0)] if start > 0 else text[:-1] if start == 0 else text[: len(text) + start - 1]
    return before + replacement + text[max(start + taken - 1, 0) :]


def _capitalised(text: str) -> str:
    return re.sub(r"[^ ]+", lambda word: word[0][0].upper() + word[0][1:].lower(), text.lower())


def _character(code: int) -> str:
    return "" if code < 0 else chr(code % 256)


def _chosen(place: int | None, *texts: str | None) -> str | None:
    return texts[place - 1] if place is not None and 1 <= place <= len(texts) else None


def _found_in(text: str, listed: str) -> int:
    return 0 if "," in text else next((at for at, item in enumerate(listed.split(","), 1) if item == text), 0)


_FORMAT = re.compile(r"%(?:(\d+)\$)?([-#+ 0,(]*)(\d+)?(\.\d+)?([a-zA-Z%])")


def _printed(pattern: str | None, *values: Any) -> str | None:
    """As printf: %s %d %f %e %g %x %o %c %b and their flags; what cannot be printed gives null."""
    if pattern is None:
        return None
    taken = iter(values)
    try:
        return _FORMAT.sub(lambda match: _printed_one(match, taken, values), pattern)
    except (StopIteration, ValueError, TypeError, IndexError):
        return None


def _printed_one(match: re.Match[str], taken: Any, values: Sequence[Any]) -> str:
    place, flags, width, digits, kind = match.groups()
    if kind in "%n":
        return "%" if kind == "%" else "\n"
    value = values[int(place) - 1] if place else next(taken)
    grouped = "," if "," in flags else ""
    plain = flags.replace(",", "").replace("(", "")
    if value is None:
        shown = "null"[: int(digits[1:]) if digits and kind not in "dx" else None]
        return f"{shown:{'<' if '-' in flags else '>'}{width or ''}}"
    if kind in "sSbB":
        text = str(value) if not isinstance(value, bool) else str(value).lower()
        text = text[: int(digits[1:])] if digits else text
        return f"{text.upper() if kind.isupper() else text:{'<' if '-' in flags else '>'}{width or ''}}"
    if kind == "d" and grouped:
        return f"{value:{'+' if '+' in flags else ''}{'0' if '0' in flags else ''}{width or ''},d}"
    if isinstance(value, float) and not math.isfinite(value):
        shown = "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
        return f"{shown:{'<' if '-' in flags else '>'}{width or ''}}"
    if kind == "f":
        places = int((digits or ".6")[1:])
        exact = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
        value, digits = exact.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP), f".{places}"
        if "-" not in flags:
            signs = f"{'+' if '+' in flags else ' ' if ' ' in flags else ''}{'0' if '0' in flags else ''}"
            return f"{value:{signs}{width or ''}{grouped}{digits}f}"
        return f"{value:{grouped}{digits}f}".ljust(int(width or 0))
    if kind in "xX" and value < 0:
        value &= 2**64 - 1
    return str(f"%{plain}{width or ''}{digits or ''}{kind}" % value)


def _number_with_commas(types: Sequence[Type], of: Type, number: Any, digits: int) -> str | None:
    if digits < 0:
        return None
    if isinstance(number, float) and number != number:
        return "NaN"
    if isinstance(number, float) and number in (float("inf"), float("-inf")):
        return "∞" if number > 0 else "-∞"
    exact = Decimal(number)
    return f"{exact.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_EVEN):,}"


def _distance(one: str, other: str, most: int | None = None) -> int:
    row = list(range(len(other) + 1))
    for place, letter in enumerate(one, 1):
        before, row[0] = row[0], place
        for at, beside in enumerate(other, 1):
            before, row[at] = row[at], min(row[at] + 1, row[at - 1] + 1, before + (letter != beside))
    return row[-1] if most is None or row[-1] <= most else -1


_SOUNDS = dict(zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "01230127022455012623017202", strict=True))


def _soundex(text: str) -> str:
    """7 marks H and W, behind which an equal sound still counts once."""
    if not text or text[0].upper() not in _SOUNDS:
        return text
    letters = [letter.upper() for letter in text]
    result, last = letters[0], _SOUNDS[letters[0]]
    for letter in letters[1:]:
        sound = _SOUNDS.get(letter, "0")
        if sound == "7":
            continue
        if sound != "0" and sound != last:
            result += sound
            if len(result) == 4:
                break
        last = sound
    return result.ljust(4, "0")


def _passes_luhn(text: str) -> bool:
    if not text or not re.fullmatch("[0-9]+", text):
        return False
    doubled = [int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(text))]
    return sum(number - 9 if number > 9 else number for number in doubled) % 10 == 0


def _masked(
    text: str | None,
    upper: str | None = "X",
    lower: str | None = "x",
    digit: str | None = "n",
    other: str | None = None,
) -> str | None:
    """A null leaves letters of its kind as they are."""
    if text is None:
        return None

    def mask(letter: str) -> str:
        if letter.isupper():
            by = upper
        elif letter.islower():
            by = lower
        else:
            by = digit if letter.isdigit() else other
        return letter if by is None else by

    return "".join(map(mask, text))


def _bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else value


def _from_base64(text: str) -> bytes | None:
    try:
        letters = re.sub(r"[^A-Za-z0-9+/]", "", text)
        return base64.b64decode(letters + "=" * (-len(letters) % 4))
    except binascii.Error:
        return None


_CHARSETS = {"UTF-8", "UTF-16", "UTF-16BE", "UTF-16LE", "UTF-32", "US-ASCII", "ISO-8859-1"}


def _encoded(text: str, charset: str) -> bytes | None:
    if charset.upper() not in _CHARSETS:
        return None
    if charset.upper() == "UTF-16":
        return b"\xfe\xff" + text.encode("utf-16-be") if text else b""
    if charset.upper() == "UTF-32":
        return text.encode("utf-32-be")
    return text.encode(charset, "replace")


def _decoded(content: bytes, charset: str) -> str | None:
    if charset.upper() not in _CHARSETS:
        return None
    return content.decode("utf-32-be" if charset.upper() == "UTF-32" else charset, "replace")


def _url_decoded(text: str) -> str | None:
    if re.search("%(?![0-9A-Fa-f]{2})", text):
        return None
    try:
        return unquote_plus(text, errors="strict")
    except UnicodeDecodeError:
        return None


def _url_part(url: str, part: str, key: str | None = None) -> str | None:
    try:
        parts = urlsplit(url)
        found = {
            "PROTOCOL": parts.scheme,
            "HOST": parts.netloc.rpartition("@")[2].partition(":")[0],
            "PATH": parts.path,
            "QUERY": parts.query,
            "REF": parts.fragment,
            "AUTHORITY": parts.netloc,
            "USERINFO": parts.netloc.rpartition("@")[0],
            "FILE": parts.path + (f"?{parts.query}" if parts.query else ""),
        }.get(part)
    except ValueError:
        return None
    if part == "QUERY" and key is not None:
        pairs = (pair.partition("=") for pair in (parts.query or "").split("&"))
        return next((value for name, _, value in pairs if name == key), None)
    if part in ("PATH", "FILE"):
        return found if parts.scheme or found else None
    return (found or None) if key is None else None


def _likeness(one: str, other: str) -> float:
    """Jaro's likeness, more for a common beginning of up to four letters."""
    if one == other:
        return 1.0
    reach = max(len(one), len(other)) // 2 - 1
    matched = [False] * len(other)
    ours = []
    for place, letter in enumerate(one):
        for at in range(max(0, place - reach), min(len(other), place + reach + 1)):
            if not matched[at] and other[at] == letter:
                matched[at] = True
                ours.append(letter)
                break
    if not ours:
        return 0.0
    theirs = [letter for letter, known in zip(other, matched, strict=True) if known]
    swapped = sum(a != b for a, b in zip(ours, theirs, strict=True)) / 2
    jaro = (len(ours) / len(one) + len(ours) / len(other) + (len(ours) - swapped) / len(ours)) / 3
    prefix = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return jaro + min(prefix, 4) * 0.1 * (1 - jaro)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


KERNELS: dict[str, Kernel] = {
    "CONCAT_WS": of_nullable(_joined),
    "STRING_SPLIT": of_values(lambda text, delimiter: text.split(delimiter) if delimiter else list(text)),
    "SUBSTRING_INDEX": of_values(_before_delimiter),
    "LOCATE": of_values(_located),
    "LPAD": of_values(lambda text, length, pad=" ": _padded(text, length, pad, True)),
    "RPAD": of_values(lambda text, length, pad=" ": _padded(text, length, pad, False)),
    "REPEAT": of_values(lambda text, count: text * max(count, 0) if len(text) * count <= _LONGEST else None),
    "REVERSE": of_values(lambda value: value[::-1]),
    "TRANSLATE": of_values(_translated),
    "OVERLAY": of_values(_overlaid),
    "INITCAP": of_values(_capitalised),
    "BTRIM": of_values(lambda text, letters=" ": text.strip(letters) if letters else text),
    "ASCII": of_values(lambda text: ord(text[0]) if text else 0),
    "CHR": of_values(_character),
    "ELT": of_nullable(_chosen),
    "FIND_IN_SET": of_values(_found_in),
    "FORMAT_STRING": of_nullable(_printed),
    "FORMAT_NUMBER": of_typed(_number_with_commas),
    "LEVENSHTEIN": of_values(_distance),
    "SOUNDEX": of_values(_soundex),
    "LUHN_CHECK": of_values(_passes_luhn),
    "MASK": of_nullable(_masked),
    "QUOTE": of_values(_quoted),
    "OCTET_LENGTH": of_values(lambda value: len(_bytes(value))),
    "BASE64": of_values(lambda value: base64.b64encode(_bytes(value)).decode()),
    "UNBASE64": of_values(_from_base64),
    "ENCODE": of_values(_encoded),
    "DECODE": of_values(_decoded),
    "URL_ENCODE": of_values(lambda text: quote_plus(text, safe="*").replace("~", "%7E")),
    "URL_DECODE": of_values(_url_decoded),
    "PARSE_URL": of_values(_url_part),
    "JARO_WINKLER_SIMILARITY": of_values(_likeness),
}
