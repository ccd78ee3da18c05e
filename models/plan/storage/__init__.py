"""A region's storage, resolved and proven."""
