"""Operators and their charts, releases and custom resources."""
