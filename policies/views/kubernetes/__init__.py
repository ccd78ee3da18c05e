"""Kubernetes objects: manifests, pods, images, releases, stacks."""
