"""The daemon: framing, peer, session, wire types. Only this package knows the wire."""
