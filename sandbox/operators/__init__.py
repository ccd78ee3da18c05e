"""What plays or runs the operators of a cluster."""
