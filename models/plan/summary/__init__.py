"""The plan in the form that policies and clients read."""
