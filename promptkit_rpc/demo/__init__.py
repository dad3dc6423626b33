"""A session with the real server, told step by step in a terminal."""
