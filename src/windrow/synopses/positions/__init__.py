"""Synopses of elements in positions, from which any window of a group is looked up."""
