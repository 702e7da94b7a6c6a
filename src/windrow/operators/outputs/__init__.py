"""What becomes of results: output streams, results that stay, negative tuples."""
