"""The embedded platform to run Triplane on: toolchain, control plane, simulated nodes, stand-ins.

Nothing of the Pulumi program imports this package; it is what `make up` and the tests stand on.
"""
