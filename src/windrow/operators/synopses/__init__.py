"""Operators that maintain synopses and answer from them."""
