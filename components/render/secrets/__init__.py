"""Secrets and certificates."""
