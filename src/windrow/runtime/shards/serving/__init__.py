"""Shard servers: processes that outlive Spark's tasks, with the state of shards and all compiled code.

A task hands rows to the server of its shard over a Unix socket and takes away what comes out. What tasks import
(`frames`, `client`, `channel`, `coordinator`) is small: none of it loads operators, NumPy or compiled code.
"""
