"""Chats over HTTP, by runs that outlive connections. docs/server.md tells the routes."""

from __future__ import annotations

from mobox.server.app import create_app, open_services
from mobox.server.services import Services
from mobox.server.settings import Settings, read_settings

__all__ = ["Services", "Settings", "create_app", "open_services", "read_settings"]
