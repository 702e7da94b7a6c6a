"""Hypothesis profiles: `default` for every run, `soak` for long ones, `quick` while working (HYPOTHESIS_PROFILE)."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, Phase, settings

_QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("default", max_examples=25, deadline=None, suppress_health_check=_QUIET)
settings.register_profile("soak", max_examples=5000, deadline=None, suppress_health_check=_QUIET)
_NO_SHRINKING = (Phase.explicit, Phase.reuse, Phase.generate)
settings.register_profile("quick", max_examples=15, deadline=None, suppress_health_check=_QUIET, phases=_NO_SHRINKING)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
