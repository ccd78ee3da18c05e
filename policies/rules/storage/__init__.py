"""Volumes, Longhorn, MinIO."""
