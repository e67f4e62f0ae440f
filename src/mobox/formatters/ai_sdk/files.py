"""Where files are in a body that `useChat` posts."""

from __future__ import annotations

from collections.abc import Iterator

from mobox.events import JSON


def file_places(body: JSON) -> Iterator[str]:
    """The addresses of files in all messages; a body of another shape has none."""
    fields = body if isinstance(body, dict) else {}
    history = fields.get("messages")
    messages = [*(history if isinstance(history, list) else ()), fields.get("message")]
    for message in messages:
        parts = message.get("parts") if isinstance(message, dict) else None
        for part in parts if isinstance(parts, list) else ():
            if isinstance(part, dict) and part.get("type") == "file":
                url = part.get("url")
                if isinstance(url, str):
                    yield url
