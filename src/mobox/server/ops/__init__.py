"""The processes of a server: one, several that share a port, and workers."""
