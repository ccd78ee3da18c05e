"""Plans to test with: resolved from the real catalog."""
