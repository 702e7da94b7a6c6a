"""What tests share: oracles, generators, runs."""
