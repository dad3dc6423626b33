"""Between core values and their written counterparts on the wire."""
