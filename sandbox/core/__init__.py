"""What every part stands on: errors, paths, locks, ports, processes, a client."""
