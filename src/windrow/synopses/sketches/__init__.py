"""Synopses of groups that keep no positions."""
