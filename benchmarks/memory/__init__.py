"""Accuracy of the memory model on real runs, and its drawings."""
