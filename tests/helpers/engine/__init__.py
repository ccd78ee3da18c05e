"""Stacks under the real engine."""
