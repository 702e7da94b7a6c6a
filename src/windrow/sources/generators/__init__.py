"""Streams that Windrow makes itself: `FROM generator('traffic', rate => 500, seed => 1)`.

A generated stream is a function: rows [first, last) depend on the generator's name and options and on nothing else, so
that a source may be split, replayed and read in pieces of any size.
"""

from windrow.sources.generators.generator import GENERATORS, Generator, Kind, generator
from windrow.sources.generators.options import Option, Value

__all__ = ["GENERATORS", "Generator", "Kind", "Option", "Value", "generator"]
