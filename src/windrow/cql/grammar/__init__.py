"""The grammar of CQL: words, values, expressions, windows, queries, changes, statements, one class each.

sqlglot reads with one parser object that methods override, so the classes are a chain: each inherits the one before it,
reads with what is below and knows nothing of what is above (but that a query can stand in an expression).
"""
