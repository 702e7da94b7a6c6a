"""Everything that Windrow raises on purpose.

WindrowError            what is wrong, the detail, and a hint: what exists or what to write instead
├── CqlError            something in a CQL text; knows where, and marks it
│   ├── CqlSyntaxError  the text cannot be read
│   ├── CqlNameError    a name that nothing has, or that several things have
│   ├── CqlTypeError    types that do not fit together
│   └── CqlMeaningError a form that can be read but is not allowed, and why
├── AggregateError      a function of a user's aggregate has raised; kept, not raised, while a query runs
├── CatalogError        the catalog's folder cannot be read or written
├── CheckpointError     a checkpoint cannot be read, written or used
└── PlanError           a plan that breaks a rule of plans (a rewrite gone wrong)
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

from windrow.masking import masked

__all__ = [
    "AggregateError",
    "CatalogError",
    "CheckpointError",
    "CqlError",
    "CqlMeaningError",
    "CqlNameError",
    "CqlSyntaxError",
    "CqlTypeError",
    "PlanError",
    "Span",
    "WindrowError",
    "all_names",
    "close_names",
    "did_you_mean",
    "nearest",
]

_MOST_LISTED = 16  # names that a reader takes in at a glance


class WindrowError(Exception):
    """The root: catch this to catch everything that Windrow raises on purpose."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        self.message = masked(message)
        self.hint = None if hint is None else masked(hint)
        super().__init__(self.message)

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}\n  hint: {self.hint}"


@dataclass(frozen=True)
class Span:
    """A stretch of a text, as offsets: [start, end)."""

    start: int
    end: int


class CqlError(WindrowError):
    """Something is wrong at `span` of `text`; whoever holds the text adds it (`locate`)."""

    def __init__(self, message: str, span: Span | None = None, hint: str | None = None) -> None:
        super().__init__(message, hint)
        self.span = span
        self.text: str | None = None
        self.file: str | None = None  # that the text is from

    def locate(self, text: str) -> CqlError:
        """Remember the text that the span points into; the first caller wins."""
        if self.text is None:
            self.text = text
            if self.span is None:
                self.span = Span(0, 0)
        return self

    @property
    def line(self) -> int:
        return 1 + self._before().count("\n")

    @property
    def column(self) -> int:
        return len(self._before()) - (self._before().rfind("\n") + 1) + 1

    @property
    def marked(self) -> str:
        """The text that the error is about."""
        return "" if self.text is None or self.span is None else self.text[self.span.start : self.span.end]

    def _before(self) -> str:
        return "" if self.text is None or self.span is None else self.text[: self.span.start]

    def __str__(self) -> str:
        if self.text is None or self.span is None:
            return super().__str__()
        source = masked(self.text.split("\n")[self.line - 1].rstrip("\r"))
        width = max(1, min(self.span.end, len(self._before()) + len(source)) - self.span.start)
        width = max(1, min(width, len(source) - self.column + 1))
        indent = "".join(sign if sign == "\t" else " " for sign in source[: self.column - 1])
        hint = "" if self.hint is None else f"\n  hint: {self.hint}"
        place = f"{'' if self.file is None else f'{self.file}, '}line {self.line}, column {self.column}"
        return f"{place}: {self.message}\n  {source}\n  {indent}{'^' * width}{hint}"


class CqlSyntaxError(CqlError):
    """The text cannot be read."""


class CqlNameError(CqlError):
    """A name that nothing has, or that several things have."""


class CqlTypeError(CqlError):
    """Types that do not fit together."""


class CqlMeaningError(CqlError):
    """A form that can be read but is not allowed."""


class AggregateError(WindrowError):
    """A function of a user's aggregate has raised."""


class CatalogError(WindrowError):
    """The catalog's folder cannot be read or written."""


class CheckpointError(WindrowError):
    """A checkpoint cannot be read, written or used."""


class PlanError(WindrowError):
    """A plan that breaks a rule of plans."""


def close_names(name: str, known: Iterable[str]) -> list[str]:
    """At most three known names that a misspelt one may stand for."""
    by_folded = {known_name.lower(): known_name for known_name in sorted(set(known), key=str.lower)}
    return [by_folded[match] for match in difflib.get_close_matches(name.lower(), list(by_folded), n=3, cutoff=0.6)]


def did_you_mean(close: Iterable[str]) -> str:
    return f"did you mean {' or '.join(close)}?"


def all_names(known: Iterable[str], what: str) -> str:
    """A hint that lists what there is."""
    return f"{what} here: {', '.join(sorted(set(known), key=str.lower))}"


def nearest(name: str, known: Iterable[str], what: str) -> str:
    """A hint for an unknown name: the names close to it, else all unless they are too many."""
    names = set(known)
    if not names:
        return f"there are no {what} yet"
    close = close_names(name, names)
    if close:
        return did_you_mean(close)
    if len(names) <= _MOST_LISTED:
        return all_names(names, what)
    return f"none of the {len(names)} {what} has a name like it"
