"""Windows: a lifetime for every row."""
