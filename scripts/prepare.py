"""Runs the queries of the demo over a few rows on Spark: their loops are compiled then, and Java's class data is kept.

Part of `make setup`; what it does is done by the first run otherwise, while somebody waits for it.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import windrow

DEMO = Path(__file__).parent.parent / "examples" / "traffic.cql"
ROWS = 3_000  # of each stream


def main() -> None:
    text = re.sub(r"rows => \d+", f"rows => {ROWS}", DEMO.read_text(encoding="utf-8"))
    subprocess.run([sys.executable, "-m", "windrow.runtime.spark.class_data_record"], check=False)  # or without
    with windrow.connect(rows_a_batch=ROWS) as engine:
        engine.sql(text)
        engine.run()


if __name__ == "__main__":
    main()
