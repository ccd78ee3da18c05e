"""Real runs as requests, drawings, places in documents."""
