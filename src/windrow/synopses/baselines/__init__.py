"""Synopses to compare with."""
