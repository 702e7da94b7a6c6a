"""Benchmarks on Spark."""
