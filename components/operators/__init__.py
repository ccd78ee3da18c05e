"""Operators of a region: installed, or looked at."""
