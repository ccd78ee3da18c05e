"""Calls, values, rules and errors that every part of the stand-in shares."""
