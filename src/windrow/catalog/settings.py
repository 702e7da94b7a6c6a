"""Settings: what SET may change, with the values each takes."""

from __future__ import annotations

from dataclasses import dataclass

from windrow.units import parse_size

UNLIMITED = "unlimited"


@dataclass(frozen=True)
class Setting:
    """One of `choices`, of which the first is the default; or with `is_size` also a number of bytes."""

    name: str
    choices: tuple[str, ...]
    meaning: str
    is_size: bool = False

    @property
    def default(self) -> str:
        return self.choices[0]

    @property
    def values(self) -> tuple[str, ...]:
        """What can be written, as messages say it."""
        return (*self.choices, "a size such as '64 MB'") if self.is_size else self.choices

    def accepts(self, value: str) -> bool:
        return value in self.choices or (self.is_size and _is_size(value))


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
    )
}
