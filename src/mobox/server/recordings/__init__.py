"""Recordings that somebody looks at: parsed and formatted in memory, and never stored."""
