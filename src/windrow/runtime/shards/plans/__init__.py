"""The versions of the running plan, and what is decided when one brings something new."""
