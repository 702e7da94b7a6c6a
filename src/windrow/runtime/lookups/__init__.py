"""Answers on demand: a question is put to a synopsis that is maintained for it."""
