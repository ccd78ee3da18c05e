"""The pinned engine as its own oracle: writes `catalog/goldens/` (docs/goldens.md)."""
