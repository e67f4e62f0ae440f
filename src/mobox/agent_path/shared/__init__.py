"""Modules that an agent can import without installing anything."""
