"""The server: chats over HTTP, by runs that outlive connections. docs/server.md has the routes."""

from __future__ import annotations

from mobox.settings import Settings, read_settings

# What needs Starlette stays in `mobox.server.app`: commands read settings where it may be missing.
__all__ = ["Settings", "read_settings"]
