"""Running the command, and logs for it to read."""
