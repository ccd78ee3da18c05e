"""Engines: flags, metrics, memory, parallelism, families."""
