"""What is known of streams beside their rows: silence, who waits for whom, late rows that become many, and warnings."""
