"""Rows on their way in: they get their types, and those that cannot be taken are put into side outputs."""

from windrow.runtime.intake.intake import Intake, contradiction

__all__ = ["Intake", "contradiction"]
