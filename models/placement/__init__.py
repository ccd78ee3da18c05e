"""Placing many models on given GPUs, and moving from what runs to that."""
