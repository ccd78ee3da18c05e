"""What each command takes: a field is an option, the class's docstring the command's help."""
