"""The engine on shards: what is decided, routed, stepped and committed in a micro-batch, without Spark."""
