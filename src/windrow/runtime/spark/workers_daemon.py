"""The process that Spark's Python workers are forked from, in a Spark of Windrow's own: it has loaded what they need.

PySpark's own loads next to nothing before it forks, and has each worker read PySpark from the archive that Spark ships
to executors, which keeps no compiled modules. Here the installed package is loaded once, for all of them; where none
is installed, as under `spark-submit`, the archive is all there is.
"""

from __future__ import annotations

import gc
import re
import sys
from importlib.util import find_spec

_given = list(sys.path)
sys.path[:] = [place for place in _given if not re.search(r"/(pyspark|py4j-[\w.-]+)\.zip$", place)]
if find_spec("pyspark") is None or find_spec("py4j") is None:
    sys.path[:] = _given

import pyspark.daemon  # noqa: E402
import pyspark.worker  # noqa: E402

import windrow.runtime.spark.relay  # noqa: E402, F401

if __name__ == "__main__":
    gc.freeze()  # what is loaded stays: a worker collects after every task, and would look at all of it each time
    pyspark.daemon.manager()
