"""Exact numbers, kept by group: counts, sums of doubles and of integers, averages, and values in order."""
