"""Runtimes: where plans run. `local` runs them in this process."""
