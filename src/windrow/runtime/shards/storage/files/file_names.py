"""What a name of the user's is called where it becomes part of a path: any text may be a name, few may be a file.

Invariant: different names give different results, on file systems that tell `A` from `a` and on those that do not.
"""

from __future__ import annotations

import hashlib
import re

_PLAIN = re.compile(r"[a-z0-9_]{1,60}")
_LONGEST_PREFIX = 30  # of a name that is not plain, for people who look into the folder


def file_name(name: str) -> str:
    """Plain words as they are; others as the plain letters they begin with, a hyphen and a digest."""
    if _PLAIN.fullmatch(name):
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return f"{readable(name)}-{digest}"


def readable(name: str) -> str:
    """The plain letters and digits of a name, as many as fit."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower())[:_LONGEST_PREFIX].strip("_")
