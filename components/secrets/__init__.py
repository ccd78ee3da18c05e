"""Secrets and certificates of a region."""
