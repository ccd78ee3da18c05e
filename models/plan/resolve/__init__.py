"""From settings and catalog to a plan, proven before anything exists."""
