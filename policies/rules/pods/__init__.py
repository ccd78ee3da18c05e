"""Pods: service quality, probes, isolation, images, names, secrets."""
