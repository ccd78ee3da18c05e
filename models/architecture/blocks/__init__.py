"""What models are built of: attention, feed-forward, mixers, towers."""
