"""The work of each command; imported when it is asked for."""
