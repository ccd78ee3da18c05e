"""A stack's AWS side: started, filled with what is given, checked."""
