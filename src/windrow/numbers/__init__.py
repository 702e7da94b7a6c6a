"""Numbers in order and in exact sums: what aggregates are computed with."""
