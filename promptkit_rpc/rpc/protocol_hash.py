"""The schema that this version speaks, named by a hash. Generated; a test compares."""

SCHEMA_HASH = "0000000000000000"
