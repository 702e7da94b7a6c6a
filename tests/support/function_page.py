"""The page of the guide that lists functions, made from the tables of the code."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.plan.aggregates import AGGREGATE_ALIASES, AGGREGATES
from windrow.plan.functions import ALIASES, FUNCTIONS, REWRITES, scalar_names
from windrow.plan.functions.aggregate_rewrites import AGGREGATE_REWRITES
from windrow.plan.functions.nested import NESTED
from windrow.plan.functions.numbers import NUMBERS
from windrow.plan.functions.operators import OPERATORS
from windrow.plan.functions.spark_names import ABSENT, FAMILIES
from windrow.plan.functions.texts import TEXTS
from windrow.plan.functions.times import TIMES

_HEAD = """# Functions

This page is made from the tables of functions (`tests/support/function_page.py`), and a test compares the two. Functions mean what they mean in Spark SQL without ANSI mode's errors: what has no value is null. Each is compared with Spark SQL itself over generated values.

Names may be written in any case. What an answer depends on is the rows alone: there is no clock and no chance in these functions. Times are of UTC; `FROM_UTC_TIMESTAMP(time, zone)`, or `time AT TIME ZONE zone`, gives what the clock of a zone shows.
"""  # noqa: E501
_GROUPS = (
    ("Everywhere in SQL", OPERATORS),
    ("Numbers", NUMBERS),
    ("Texts and JSON", TEXTS),
    ("Dates and times", TIMES),
    ("Arrays, maps and structs", NESTED),
)


def page() -> str:
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield _HEAD
    known = set(scalar_names())
    for title, functions in _GROUPS:
        yield from (f"## {title}", "", "| written | other spellings |", "| --- | --- |")
        for function in sorted(functions, key=lambda one: one.name):
            if function.name in known and function.name not in REWRITES:
                others = sorted(alias for alias, name in ALIASES.items() if name == function.name)
                yield f"| {_code(function.usage)} | {', '.join(others)} |"
        yield ""
    yield from ("## Names for other expressions", "", "| written |", "| --- |")
    yield from (f"| {_code(rewrite.usage)} |" for rewrite in sorted(REWRITES.values(), key=lambda one: one.name))
    yield from ("", "## Aggregates", "", "What they mean is in [the language](language.md#aggregates).", "")
    yield from ("| written | other spellings |", "| --- | --- |")
    entries = [*AGGREGATES.values(), *AGGREGATE_REWRITES.values()]
    for entry in sorted(entries, key=lambda one: one.name):
        others = sorted(alias for alias, name in AGGREGATE_ALIASES.items() if name == entry.name)
        yield f"| {_code(entry.usage)} | {', '.join(others)} |"
    yield from ("", "## Of Spark SQL, but not here", "", "| function | why |", "| --- | --- |")
    absent = {**ABSENT, **{f"{prefix}...": reason for prefix, reason in FAMILIES.items()}}
    yield from (f"| {name} | {absent[name]} |" for name in sorted(absent))


def _code(usage: str) -> str:
    return "`" + usage.replace("|", "\\|") + "`"


def is_here(name: str) -> bool:
    """Whether a function of Spark SQL is called by its name here."""
    tables = (FUNCTIONS, REWRITES, ALIASES, AGGREGATES, AGGREGATE_ALIASES, AGGREGATE_REWRITES)
    return any(name.upper() in table for table in tables)
