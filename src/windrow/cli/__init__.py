"""The command `windrow`."""

from windrow.cli.app import main

__all__ = ["main"]
