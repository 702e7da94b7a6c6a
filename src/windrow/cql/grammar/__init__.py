"""The grammar of CQL, one file a part, each inheriting the one below as sqlglot parsers do."""
