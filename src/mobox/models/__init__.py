"""Models for agents without keys: the gateway to providers, and the simulator in their place."""

from mobox.models.clients import Connection, client, connection

__all__ = ["Connection", "client", "connection"]
