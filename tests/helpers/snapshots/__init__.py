"""Snapshots of whole stacks: recorded, written, renewed."""
