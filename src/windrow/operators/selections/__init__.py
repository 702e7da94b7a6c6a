"""Selections that an index of predicates is asked for."""
