"""Compliant programs, and ways to break one field of them."""
