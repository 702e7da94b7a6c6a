"""Sources of an engine on shards: the driver decides what each micro-batch reads, and tasks read just that."""
