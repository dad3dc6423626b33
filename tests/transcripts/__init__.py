"""Recorded sessions in `schema/transcripts/`: how they are made, replayed and played to clients."""
