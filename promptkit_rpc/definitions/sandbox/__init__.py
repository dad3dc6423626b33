"""Where templates run: what they may touch, and how much they may do."""
