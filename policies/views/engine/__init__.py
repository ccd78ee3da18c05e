"""Containers that run vLLM: command line, release, cards, replica."""
