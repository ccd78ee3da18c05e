"""The stand-in for AWS: a Pulumi provider for the package `aws` whose state is a moto server.

For tests and offline trials only. It runs where `SANDBOX=1` is set and nowhere else, and talks to
nothing but the loopback address (docs/stand-in.md).
"""
