"""Longhorn, MinIO, the model store."""
