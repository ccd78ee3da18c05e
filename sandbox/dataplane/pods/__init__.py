"""Stub engines bound to the life of simulated engine pods: what KWOK does not play of a kubelet."""
