"""Recordings that somebody looks at: parsed and formatted in memory, and stored only on request."""
