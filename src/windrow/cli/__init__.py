"""The command `windrow`."""

from windrow.cli.interrupts import INTERRUPTS

__all__ = ["main"]


def main() -> None:
    """What there is to load is loaded when an interrupt does no harm any more."""
    INTERRUPTS.listen()
    from windrow.cli.app import main as command

    command()
