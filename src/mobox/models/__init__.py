"""Models for agents that have no key of their own."""
