"""What a change would replace or lose, from a preview's JSON."""
