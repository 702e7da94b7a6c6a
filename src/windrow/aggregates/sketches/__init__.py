"""Approximate aggregates and lists of frequent items."""
