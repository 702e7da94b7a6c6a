"""What the queries of a CQL file ask, in the words of the comment above each of them."""

from __future__ import annotations

import re

_COMMENTED = re.compile(r"((?:^[ \t]*--.*\n)+)\s*CREATE\s+QUERY\s+\"?(\w+)", re.MULTILINE | re.IGNORECASE)


def questions(text: str) -> dict[str, str]:
    """By the lower-case name of the query."""
    return {name.lower(): _sentence(comment) for comment, name in _COMMENTED.findall(text)}


def _sentence(comment: str) -> str:
    return " ".join(line.strip().removeprefix("--").strip() for line in comment.strip().splitlines())
