"""Settings: what SET may change, with the values each takes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from windrow.units import parse_size

UNLIMITED = "unlimited"


@dataclass(frozen=True)
class Setting:
    """One of `choices`, of which the first is the default; or also a number of bytes, or of rows."""

    name: str
    choices: tuple[str, ...]
    meaning: str
    is_size: bool = False
    is_count: bool = False

    @property
    def default(self) -> str:
        return self.choices[0]

    @property
    def values(self) -> tuple[str, ...]:
        """What can be written, as messages say it."""
        if self.is_count:
            return (*self.choices, "a number of rows")
        return (*self.choices, "a size such as '64 MB'") if self.is_size else self.choices

    def amount(self, value: str) -> float:
        """Bytes, or rows."""
        if value == UNLIMITED:
            return math.inf
        return int(value) if self.is_count else parse_size(value)

    def accepts(self, value: str) -> bool:
        is_count = self.is_count and value.isdecimal() and int(value) > 0
        return value in self.choices or is_count or (self.is_size and _is_size(value))


def _is_size(value: str) -> bool:
    try:
        return parse_size(value) > 0
    except ValueError:
        return False


SETTINGS: dict[str, Setting] = {
    setting.name: setting
    for setting in (
        Setting("explain", ("tree", "json", "picture"), "the form that EXPLAIN gives when none is written"),
        Setting("strategy", ("upa", "direct", "nt"), "how expired tuples are found; all give the same answers"),
        Setting("optimizer", ("on", "off"), "off plans a query as it is written"),
        Setting("sink_backlog", ("256 mb", UNLIMITED), "what is kept for a sink that takes nothing", True),
        Setting("synopsis_memory", (UNLIMITED,), "what the summary of queries that are looked up may take", True),
        Setting(
            "waiting_limit",
            ("10000000", UNLIMITED),
            "rows that are held back for silent streams before no more are read",
            is_count=True,
        ),
    )
}
