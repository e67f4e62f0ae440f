"""Who sends a request: API keys, tickets, an app's own authentication, and the limits of owners."""
