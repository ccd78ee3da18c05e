"""The real catalogue, and copies of it to break."""
