"""Hypothesis profiles (HYPOTHESIS_PROFILE): `default` tries the same cases in every run, `soak` ever new ones."""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

# Workers of Spark import the tests from where this process has them; the Java machine hands on what it began with.
_TESTS = Path(__file__).parent
_SPARK = _TESTS / "runtime" / "spark"
os.environ["PYTHONPATH"] = os.pathsep.join(
    filter(None, [str(_TESTS.parent / "src"), str(_TESTS), os.environ.get("PYTHONPATH", "")])
)
os.environ["WINDROW_MAKE_CLASS_DATA"] = "0"  # processes of tests leave none behind that makes it

_QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
_NO_SHRINKING = (Phase.explicit, Phase.reuse, Phase.generate)

settings.register_profile("default", max_examples=25, deadline=None, derandomize=True, suppress_health_check=_QUIET)
settings.register_profile("soak", max_examples=5000, deadline=None, suppress_health_check=_QUIET)
settings.register_profile("quick", max_examples=15, deadline=None, suppress_health_check=_QUIET, phases=_NO_SHRINKING)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture(autouse=True, scope="session")
def _power_that_does_not_fail() -> Iterator[None]:
    """Syncing takes most of the time of small batches on a busy disk; that it is asked for is tested where it is."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "fsync", lambda descriptor: None)
        yield


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files on Spark first: the longest ones must not be what the rest of a run waits for."""
    items.sort(key=lambda item: _SPARK not in item.path.parents)


def pytest_unconfigure() -> None:
    """pytest's closing line is the last: DuckDB's bindings would still tell what is alive when the interpreter ends."""
    atexit.register(lambda: os.dup2(os.open(os.devnull, os.O_WRONLY), 2))
