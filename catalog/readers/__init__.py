"""Readers of single files, which the loader puts together."""
