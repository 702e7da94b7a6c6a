"""Regular expressions and their kin: a pattern is compiled once; one that cannot be read gives null."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from windrow.physical.expressions.arithmetic import Kernel
from windrow.physical.expressions.functions.plain_values import of_values


@lru_cache(1000)
def _compiled(pattern: str) -> re.Pattern[str] | None:
    """Java's possessive and named groups are those of Python but for the name; classes are of ASCII, as in Java."""
    try:
        return re.compile(re.sub(r"\(\?<([A-Za-z])", r"(?P<\1", pattern), re.ASCII)
    except (re.error, OverflowError):
        return None


def _with_pattern(compute: Callable[..., Any]) -> Kernel:
    """A function of a text and a compiled pattern, and of what follows."""

    def computed(text: str, pattern: str, *rest: Any) -> Any:
        compiled = _compiled(pattern)
        return None if compiled is None else compute(text, compiled, *rest)

    return of_values(computed)


def _replaced(text: str, pattern: re.Pattern[str], replacement: str, start: int = 1) -> str | None:
    """Groups are called $1 in the replacement, as in Java; a backslash takes the next sign as it is."""
    if start < 1:
        return None

    def filled(match: re.Match[str]) -> str:
        pieces = re.findall(r"\\(.)|\$(\d)|\$\{(\w+)\}|(.)", replacement, re.DOTALL)
        found = (
            escaped or plain or match[int(number) if number else name] or "" for escaped, number, name, plain in pieces
        )
        return "".join(found)

    try:
        return text[: start - 1] + pattern.sub(filled, text[start - 1 :])
    except (IndexError, re.error):
        return None


def _extracted(text: str, pattern: re.Pattern[str], group: int = 1) -> str | None:
    """Empty when nothing matches; there is no group beyond those of the pattern."""
    if not 0 <= group <= pattern.groups:
        return None
    match = pattern.search(text)
    return "" if match is None else match[group] or ""


def _all_extracted(text: str, pattern: re.Pattern[str], group: int = 1) -> list[str] | None:
    if not 0 <= group <= pattern.groups:
        return None
    return [match[group] or "" for match in pattern.finditer(text)]


def _place(text: str, pattern: re.Pattern[str]) -> int:
    match = pattern.search(text)
    return 0 if match is None else match.start() + 1


def _first(text: str, pattern: re.Pattern[str]) -> str | None:
    match = pattern.search(text)
    return None if match is None else match[0]


def _split(text: str, pattern: re.Pattern[str], limit: int = -1) -> list[str]:
    """An empty match at the beginning splits nothing off; with a limit the last part is the rest."""
    parts: list[str] = []
    at = 0
    for match in pattern.finditer(text):
        if limit > 0 and len(parts) == limit - 1:
            break
        if match.end() == 0 or (match.start() == match.end() == len(text)):
            continue
        parts.append(text[at : match.start()])
        at = match.end()
    return [*parts, text[at:]]


@lru_cache(1000)
def _like_pattern(pattern: str) -> re.Pattern[str] | None:
    if not re.fullmatch(r"(?:[^\\]|\\[\\%_])*", pattern, re.DOTALL):
        return None
    pieces = re.findall(r"\\(.)|([%_])|([^\\])", pattern, re.DOTALL)
    return re.compile(
        "".join({"%": ".*", "_": "."}.get(sign) or re.escape(escaped or plain) for escaped, sign, plain in pieces),
        re.DOTALL,
    )


def _is_like(text: str, pattern: str) -> bool | None:
    compiled = _like_pattern(pattern.lower())
    return None if compiled is None else compiled.fullmatch(text.lower()) is not None


def _is_similar(text: str, pattern: str) -> bool | None:
    """SQL's SIMILAR TO: % and _ beside | * + ? {n} ( ) and [ ], over the whole text."""
    pieces = re.sub(r"[%_.^$]", lambda sign: {"%": ".*", "_": "."}.get(sign[0], rf"\{sign[0]}"), pattern)
    compiled = _compiled(f"(?s:{pieces})")
    return None if compiled is None else compiled.fullmatch(text) is not None


KERNELS: dict[str, Kernel] = {
    "ILIKE": of_values(_is_like),
    "SIMILAR_TO": of_values(_is_similar),
    "REGEXP_REPLACE": _with_pattern(_replaced),
    "REGEXP_EXTRACT": _with_pattern(_extracted),
    "REGEXP_EXTRACT_ALL": _with_pattern(_all_extracted),
    "REGEXP_COUNT": _with_pattern(lambda text, pattern: sum(1 for _ in pattern.finditer(text))),
    "REGEXP_INSTR": _with_pattern(_place),
    "REGEXP_SUBSTR": _with_pattern(_first),
    "SPLIT": _with_pattern(_split),
}
