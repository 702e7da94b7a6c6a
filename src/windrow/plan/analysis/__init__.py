"""Analyses: properties of plans, derived bottom-up and only read by rules."""
