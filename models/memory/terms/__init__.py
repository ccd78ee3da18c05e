"""The terms of a budget in bytes: weights, cache pages, peaks."""
