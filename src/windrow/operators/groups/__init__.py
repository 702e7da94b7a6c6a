"""Grouping, slices of groups, LIMIT."""
