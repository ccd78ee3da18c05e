"""What a budget is asked for, and how a release turns memory into blocks."""
