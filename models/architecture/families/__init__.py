"""Every model family: one record each, in a few files by kind, and what collects them."""
