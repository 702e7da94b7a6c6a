"""Joins, EXISTS, IN and NOT, with windows and with tables."""
