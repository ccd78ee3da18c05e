"""From settings and catalogue to a plan, proven before anything exists."""
