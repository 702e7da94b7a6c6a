"""What tests of the command line share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.command import Command, command


@pytest.fixture
def windrow(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Command]:
    """The command, run in this process: `windrow("explain", "file.cql")`."""
    with command(capsys, monkeypatch) as run:
        yield run
