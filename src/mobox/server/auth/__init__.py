"""Who sends a request: API keys, tickets, sessions and their limits."""
