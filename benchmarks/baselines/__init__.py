"""Synopses to compare with, which no query runs on: what the literature has, in the form of the library's own."""
