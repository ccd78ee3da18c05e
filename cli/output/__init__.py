"""What a command answers: cases, JSON and tables, drawings."""
