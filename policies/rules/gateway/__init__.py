"""Gateways, routes, and the policies on them."""
