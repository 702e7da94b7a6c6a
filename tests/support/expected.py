"""Expected texts that are kept in files, and how they are written anew: set WINDROW_REWRITE=1 and run the tests.

Look at the difference before committing it: a golden text says that something did not change, not that it is right.
"""

import os
from pathlib import Path

ROOT = Path(__file__).parents[2]
REWRITE = os.environ.get("WINDROW_REWRITE") == "1"
HOW = "if the change is meant: WINDROW_REWRITE=1 make test, then read the difference"


def assert_file_holds(path: Path, actual: str) -> None:
    if REWRITE:
        path.write_text(actual, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == actual, HOW
