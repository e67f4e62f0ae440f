"""Where files are in a `RunAgentInput`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mobox.events import JSON

_MEDIA: Final = {"image", "audio", "video", "document", "binary"}


def file_places(body: JSON) -> Iterator[str]:
    """The addresses and contents of files in all user messages."""
    messages = body.get("messages") if isinstance(body, dict) else None
    for message in messages if isinstance(messages, list) else ():
        content = message.get("content") if isinstance(message, dict) else None
        for part in content if isinstance(content, list) else ():
            if isinstance(part, dict) and part.get("type") in _MEDIA:
                source = part.get("source")
                value = source.get("value") if isinstance(source, dict) else None
                found = (value, part.get("data"), part.get("url"))
                yield from (each for each in found if isinstance(each, str))
