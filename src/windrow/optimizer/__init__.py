"""The optimizer: a visible tuple of rules, each turning a plan into an equivalent cheaper one."""

from windrow.optimizer.optimize import REQUIRED, RULES, optimize

__all__ = ["REQUIRED", "RULES", "optimize"]
