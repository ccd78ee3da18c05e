"""Learnt constants of the memory model, fitted on real runs."""
