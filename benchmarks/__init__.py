"""Measurements: one module a benchmark, run by `python -m benchmarks NAME [--quick] [--json]`.

A benchmark is a module here with a one-sentence docstring and `run(quick: bool) -> Report`. Everything it
compares is measured in the same run and reported as a ratio. A figure goes to `benchmarks/out/NAME.png`.
"""
