"""Aggregates of the user's own functions."""
