"""The embedded control plane and its simulated nodes."""
