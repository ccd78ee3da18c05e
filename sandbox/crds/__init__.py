"""Custom resource definitions: which a sandbox loads, and where they come from."""
