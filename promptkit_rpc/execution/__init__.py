"""One run, from its request to its terminal event."""
