"""The entrance of a region, and the routes behind it."""
