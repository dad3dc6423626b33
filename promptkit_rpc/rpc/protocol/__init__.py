"""Everything that goes over the wire, written once: types by topic, and one table of methods."""
