"""Pure functions from plans to typed manifests. No Output, no I/O, nothing decided twice."""
