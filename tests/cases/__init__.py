"""Inputs that broke programs like this one, each tried on the running daemon."""
