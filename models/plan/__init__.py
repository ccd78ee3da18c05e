"""The plan of a stack: its types, prices, sizes, operators and secrets."""
