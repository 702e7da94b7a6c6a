"""The command `python -m benchmarks`."""

import sys

from benchmarks.runner import main

sys.exit(main(sys.argv[1:]))
