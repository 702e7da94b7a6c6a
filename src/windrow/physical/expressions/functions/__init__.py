"""The kernels of functions that are computed once for each different row of arguments, and of functions of numbers."""
