"""A session applies every kind of statement."""

from __future__ import annotations

from typing import get_args

from windrow.cql import Statement
from windrow.session import APPLIED


def test_every_kind_of_statement_is_applied() -> None:
    assert set(APPLIED) == set(get_args(Statement))
