"""Choosing how a model is served: format, split, arguments, caches."""
