"""What runs on workers: rows are routed to shards, shards step through a segment and emit."""
