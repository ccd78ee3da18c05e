"""Namespaces, and nodes of an existing cluster."""
