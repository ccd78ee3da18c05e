"""The real catalog, and copies of it to break."""
