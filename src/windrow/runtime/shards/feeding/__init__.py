"""Feeding sinks and subscribers from the log, after the commit."""
