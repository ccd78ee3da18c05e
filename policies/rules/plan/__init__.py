"""Proofs about a whole stack, made again from the plan's inputs."""
