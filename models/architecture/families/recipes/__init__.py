"""What model families are built by: weights and caches from the fields of a configuration."""
