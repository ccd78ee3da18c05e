"""Engines of models, and what scales them."""
