"""The optimizer: a visible tuple of rules, and the cost model that chooses where a rule may be good or bad."""

from windrow.optimizer.choose import Considered
from windrow.optimizer.cost import Cost, cost_of
from windrow.optimizer.optimize import ALTERNATIVES, FINISHING, REQUIRED, RULES, Optimized, optimize

__all__ = [
    "ALTERNATIVES",
    "FINISHING",
    "REQUIRED",
    "RULES",
    "Considered",
    "Cost",
    "Optimized",
    "cost_of",
    "optimize",
]
