"""Recipes of model families, and which one builds which type."""
