"""Names as they are written in CQL: quoted when they would be read as something else."""

from __future__ import annotations

import re

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")

RESERVED = frozenset(
    """ALL AND ANY ARRAY AS ASC BETWEEN BY CASE CAST CREATE CROSS DELETE DESC DESCRIBE DISTINCT DROP DSTREAM ELSE END
    ESCAPE EXCEPT EXISTS EXPLAIN FALSE FROM FULL GROUP HAVING IN INNER INSERT INTERSECT INTERVAL INTO IS ISTREAM JOIN
    LEFT LIKE LIMIT NATURAL NOT NULL OFFSET ON OR ORDER OUTER RIGHT RSTREAM SELECT SET SHOW STRUCT TABLE THEN TRUE UNION
    UPDATE USING VALUES WHEN WHERE WINDOW WITH WSTREAM""".split()
)


def identifier(name: str) -> str:
    if _PLAIN.match(name) and name.upper() not in RESERVED:
        return name
    return '"' + name.replace('"', '""') + '"'


def column_name(name: str) -> str:
    """`s.price` with each part quoted where needed."""
    return ".".join(identifier(part) for part in name.split("."))
