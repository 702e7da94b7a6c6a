"""CQL cut up by its tokens: windows and words for output out of the text, so that what is left is plain Spark SQL.

Nothing of Windrow's grammar, binder or printer is used, so that a query that these read wrongly is not compared with
its own misreading. A windowed stream or sub-query becomes a relation called view0, view1, ... in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from functools import cache
from itertools import count

from windrow.plan.expressions import Literal
from windrow.plan.windows import (
    Between,
    Latest,
    Now,
    Range,
    RangeAgo,
    RowCount,
    Rows,
    RowsAgo,
    Since,
    Unbounded,
    Window,
)
from windrow.types import BOOLEAN

_TOKEN = re.compile(
    r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`"
    r"|\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+|\w+|<=>|::|<>|<=|>=|!=|\|\||=>|\S",
    re.DOTALL,
)
_UNITS = {"us": 1, "microsecond": 1, "ms": 1_000, "millisecond": 1_000, "s": 1_000_000, "sec": 1_000_000,
          "second": 1_000_000, "min": 60_000_000, "minute": 60_000_000, "h": 3_600_000_000, "hour": 3_600_000_000,
          "day": 86_400_000_000}  # fmt: skip
_KINDS = ("ISTREAM", "DSTREAM", "RSTREAM")
_WINDOW_WORDS = ("RANGE", "WINDOW", "ROWS", "PARTITION", "NOW", "SINCE", "FROM")
_SEEN = Literal(True, BOOLEAN)  # in the place of a predicate, which stays text


class Gap(Exception):
    """The text oracle cannot answer this query; says why."""


@dataclass(frozen=True)
class WindowText:
    """A window, with the condition of [PARTITION BY ... WHERE condition] as SQL."""

    window: Window
    where: str | None = None


@dataclass(frozen=True)
class View:
    """What a window shows of a stream, or of the results of a query; `suffix` is a shorter window upon it."""

    source: str | Block
    window: WindowText | None
    suffix: WindowText | None = None


@dataclass(frozen=True)
class Block:
    """A query as SQL over views; `stays` when its results stay (INTERNAL, WSTREAM)."""

    sql: str
    views: dict[str, View] = field(default_factory=dict)
    kind: str | None = None
    restore: bool = False
    stays: bool = False

    @property
    def slide(self) -> int | None:
        """Of the windows that decide when this query refreshes; SLIDE n ROWS does not."""
        windows = [view.window.window for view in self.views.values() if view.window is not None]
        return next((window.slide for window in windows if isinstance(window.slide, int)), None)

    @property
    def is_internal(self) -> bool:
        return any(view.window is not None and view.window.window.internal for view in self.views.values())

    def without_slides(self) -> Block:
        return replace(self, views={name: _without_slide(view) for name, view in self.views.items()})


def _without_slide(view: View) -> View:
    if view.window is None or not isinstance(view.window.window.slide, int):
        return view
    return replace(view, window=replace(view.window, window=replace(view.window.window, slide=None)))


def tokens_of(text: str) -> list[str]:
    return [token for token in _TOKEN.findall(text) if not token.startswith(("--", "/*"))]


@cache
def read(text: str) -> Block:
    """A whole query."""
    return _block(tokens_of(text), count())


def spark_text(tokens: Sequence[str]) -> str:
    """Tokens as Spark reads them: it has backslashes in strings where CQL doubles quotes, and names in backticks."""
    return " ".join(_as_spark(token) for token in tokens)


def _as_spark(token: str) -> str:
    if token.startswith("'"):
        return "'" + token[1:-1].replace("''", "'").replace("\\", "\\\\").replace("'", "\\'") + "'"
    return f"`{token[1:-1]}`" if token.startswith('"') else token


def _block(tokens: list[str], numbers: Iterator[int]) -> Block:
    kind, restore, tokens = _output(tokens)
    if "WSTREAM" in map(str.upper, _listed(tokens)):
        return _window_on_output(tokens, numbers)
    views: dict[str, View] = {}
    words = list(_cut(tokens, views, numbers))
    internal = [view.window is not None and view.window.window.internal for view in views.values()]
    if any(internal) and not all(internal):
        raise Gap("INTERNAL beside other windows")
    return Block(spark_text(words), views, kind, restore, stays=any(internal))


def _output(tokens: list[str]) -> tuple[str | None, bool, list[str]]:
    """Whether a stream comes out, with RESTORE, and the query without the words for it."""
    if len(tokens) < 2 or tokens[1].upper() not in _KINDS:
        return None, False, tokens
    restore = tokens[2].upper() == "RESTORE"
    rest = tokens[3:] if restore else tokens[2:]
    if rest[0] == "(" and rest[(end := closing(rest, 0)) + 1].upper() == "FROM":
        rest = [*rest[1:end], *rest[end + 1 :]]
    return tokens[1].upper(), restore, [tokens[0], *rest]


def _listed(tokens: list[str]) -> list[str]:
    """The select list of the first SELECT."""
    depth, listed = 0, []
    for token in tokens[1:]:
        depth += {"(": 1, ")": -1}.get(token, 0)
        if depth == 0 and token.upper() == "FROM":
            break
        listed.append(token)
    return listed if tokens[0].upper() == "SELECT" else []


def _window_on_output(tokens: list[str], numbers: Iterator[int]) -> Block:
    """SELECT WSTREAM(x)[w] FROM ..., SELECT WSTREAM [w] x FROM ... and SELECT SUM(WSTREAM(x)[w]) FROM ...."""
    place = [token.upper() for token in tokens].index("WSTREAM")
    listed, rest = _listed(tokens), tokens[1 + len(_listed(tokens)) :]
    if tokens[place + 1] == "[":
        end = closing(tokens, place + 1)
        window, outer, inner = tokens[place + 2 : end], ["*"], tokens[end + 1 : 1 + len(listed)]
    else:
        shut = closing(tokens, place + 1)
        end = closing(tokens, shut + 1)
        window, inner = tokens[shut + 2 : end], tokens[place + 2 : shut]
        outer = [*tokens[1:place], "c0", *tokens[end + 1 : 1 + len(listed)]]
        inner, outer = (inner, ["*"]) if outer == ["c0"] else ([*inner, "AS", "c0"], outer)
    below = replace(_block(["SELECT", *inner, *rest], numbers), stays=True)
    name = f"view{next(numbers)}"
    return Block(f"SELECT {spark_text(outer)} FROM {name}", {name: View(below, _window(window))})


def _cut(tokens: list[str], views: dict[str, View], numbers: Iterator[int]) -> Iterator[str]:
    """The tokens with a relation in the place of each windowed stream and each stream of results."""
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if token == "(" and tokens[at + 1].upper() in ("SELECT", "WITH"):
            end = closing(tokens, at)
            below = _block(tokens[at + 1 : end], numbers)
            after = closing(tokens, end + 1) if _is_window(tokens, end + 1) else end
            window = _window(tokens[end + 2 : after]) if after > end else None
            is_condition = at > 0 and tokens[at - 1].upper() in ("EXISTS", "IN")
            yield _inlined(below, views) if is_condition else _sub_query(below, window, views, numbers)
            at = after + 1
        elif _is_window(tokens, at + 1):
            end = closing(tokens, at + 1)
            name = f"view{next(numbers)}"
            views[name] = View(token.strip('"`'), _window(tokens[at + 2 : end]))
            yield name
            at = end + 1
        else:
            yield token
            at += 1


def _inlined(below: Block, views: dict[str, View]) -> str:
    views.update(below.views)
    return f"({below.sql})"


def _sub_query(below: Block, window: WindowText | None, views: dict[str, View], numbers: Iterator[int]) -> str:
    """A sub-query in place, or the view of its stream of results."""
    is_relation = below.kind in (None, "RSTREAM") and not below.restore and not below.stays
    if is_relation and window is None:
        return _inlined(below, views)
    if is_relation and below.kind is None and (shorter := _suffix(below, window)) is not None:
        return _inlined(replace(below, views=shorter), views)
    name = f"view{next(numbers)}"
    views[name] = View(below, window)
    return name


def _suffix(below: Block, window: WindowText | None) -> dict[str, View] | None:
    """The last part of the only window of a sub-query: both show what is seen; None for results that stay."""
    bounded = [
        name
        for name, view in below.views.items()
        if view.window is not None and not isinstance(view.window.window.extent, Unbounded)
    ]
    if not bounded:
        return None
    if len(below.views) > 1:
        raise Gap("a shorter window on a join")
    return {name: replace(view, suffix=window) for name, view in below.views.items()}


def _is_window(tokens: list[str], at: int) -> bool:
    return at + 1 < len(tokens) and tokens[at] == "[" and tokens[at + 1].upper() in _WINDOW_WORDS


def closing(tokens: list[str], at: int) -> int:
    """Where the bracket that opens here is closed."""
    depth = 0
    for place in range(at, len(tokens)):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(tokens[place], 0)
        if depth == 0:
            return place
    raise AssertionError(" ".join(tokens))


def _window(tokens: list[str]) -> WindowText:
    words = [token.upper() for token in tokens]
    internal = words[-1] == "INTERNAL"
    if internal:
        tokens, words = tokens[:-1], words[:-1]
    slide: int | RowCount | None = None
    if "SLIDE" in words:
        at = words.index("SLIDE")
        slide = _slide(words[at + 1 :])
        tokens, words = tokens[:at], words[:at]
    if words[0] == "PARTITION" and "WHERE" in words:
        at = words.index("WHERE")
        latest = Latest(_columns(tokens[2:at]), _SEEN)
        return WindowText(Window(latest, slide, internal), spark_text(tokens[at + 1 :]))
    return WindowText(Window(_extent(tokens, words), slide, internal))


def _extent(tokens: list[str], words: list[str]) -> object:
    if words[0] == "PARTITION":
        at = words.index("ROWS")
        return Rows(int(words[at + 1]), _columns(tokens[2:at]))
    if words[0] == "NOW":
        return Now()
    if words[0] == "SINCE":
        return Since(moment(tokens[1]))
    if words[0] == "FROM":
        return Between(moment(tokens[1]), moment(tokens[3]))
    if words[1] == "FROM":
        at = words.index("TO")
        since, until = words[2:at], words[at + 1 : -1]
        return RowsAgo(int(since[0]), int(until[0])) if words[0] == "ROWS" else RangeAgo(_time(since), _time(until))
    if words[0] == "ROWS":
        return Rows(int(words[1]))
    return Unbounded() if words[1] == "UNBOUNDED" else Range(_time(words[1:]))


def _slide(words: list[str]) -> int | RowCount:
    is_rows = len(words) == 1 or words[1] in ("ROW", "ROWS")
    return RowCount(int(words[0])) if is_rows else _time(words)


def _columns(tokens: list[str]) -> tuple[str, ...]:
    return tuple(column.split(".")[-1].strip() for column in " ".join(tokens).split(","))


def _time(words: list[str]) -> int:
    pairs = zip(words[::2], words[1::2], strict=True)
    units = [unit.lower() for unit in words[1::2]]
    lengths = [_UNITS[unit] if unit in _UNITS else _UNITS[unit.removesuffix("s")] for unit in units]
    return sum(round(float(number) * length) for (number, _), length in zip(pairs, lengths, strict=True))


def moment(literal: str) -> int:
    at = datetime.fromisoformat(literal.strip("'")).replace(tzinfo=timezone.utc)
    return round((at - datetime(1970, 1, 1, tzinfo=timezone.utc)).total_seconds() * 1_000_000)
