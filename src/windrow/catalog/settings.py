"""Settings: what SET may change, with the values each takes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Setting:
    name: str
    choices: tuple[str, ...]
    meaning: str

    @property
    def default(self) -> str:
        return self.choices[0]


SETTINGS: dict[str, Setting] = {
    setting.name: setting
    for setting in (
        Setting("explain", ("tree", "json", "picture"), "the form that EXPLAIN gives when none is written"),
        Setting("strategy", ("upa", "direct", "nt"), "how expired tuples are found; all give the same answers"),
        Setting("optimizer", ("on", "off"), "off plans a query as it is written"),
    )
}
