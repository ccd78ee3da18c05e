"""A budget's question as people write it, and what a measured run corrects."""
