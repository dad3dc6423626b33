"""What the command line does besides serving, one file a command."""
