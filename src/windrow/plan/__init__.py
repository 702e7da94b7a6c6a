"""Logical plans: immutable nodes, analyses over them, and how they are shown."""
