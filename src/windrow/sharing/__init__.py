"""From optimized plans to the plans that run: what queries share, and where rows are exchanged."""
