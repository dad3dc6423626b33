"""Prompts, profiles and backends as a person writes them: read, checked, rendered."""
