"""The server: chats over HTTP, by runs that outlive connections. docs/server.md has the routes.

A request passes `guard.Guard` and Starlette's router. `routes.Endpoint` authenticates its client
(`auth`) and calls its handler, which is in the module of its protocol or subject: `ai_sdk`,
`ag_ui`, `chats`, `runs`, `health`. Handlers and sockets (`socketio`) change chats by `actions` and
send logs as an `eventstream`. `app` puts the parts together; `ops` runs them in processes.
"""

from __future__ import annotations

from mobox.settings import Settings, read_settings

# What needs Starlette stays in `mobox.server.app`: commands read settings where it may be missing.
__all__ = ["Settings", "read_settings"]
