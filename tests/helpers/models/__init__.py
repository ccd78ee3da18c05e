"""Data and judges for tests of the pure models."""
