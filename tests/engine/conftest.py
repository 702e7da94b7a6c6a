"""Hypothesis profiles: `default` for every run, `soak` for long ones (HYPOTHESIS_PROFILE=soak)."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

_QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("default", max_examples=40, deadline=None, suppress_health_check=_QUIET)
settings.register_profile("soak", max_examples=5000, deadline=None, suppress_health_check=_QUIET)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
