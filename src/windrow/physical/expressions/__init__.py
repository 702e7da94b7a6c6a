"""Expressions compiled to vectorised functions with SQL's null logic, Spark SQL's meaning."""

from windrow.physical.expressions.compile import KERNELS, ExpressionCompiler

__all__ = ["KERNELS", "ExpressionCompiler"]
