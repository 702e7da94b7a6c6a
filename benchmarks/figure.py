"""Figures: drawn without a screen, kept in benchmarks/out."""

from pathlib import Path
from typing import Any

OUT = Path(__file__).parent / "out"


def plotting() -> Any:
    """matplotlib's pyplot, which is slow to load and needed only at the end."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def drawn(figure: Any, name: str) -> None:
    """Write the figure of a benchmark."""
    figure.tight_layout()
    figure.savefig(OUT / f"{name}.png", dpi=90)
    plotting().close(figure)
