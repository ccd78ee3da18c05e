"""Kubernetes quantities, as rules read them (`models/quantities.py`)."""

from models.quantities import InvalidQuantityError, parse

__all__ = ["InvalidQuantityError", "parse"]
