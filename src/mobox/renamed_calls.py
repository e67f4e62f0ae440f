"""Renames calls in texts: for an id which the agent reused, the log has another name.

Ids of calls do not repeat in a log. A placeholder in a text names the latest call of its id, so
it gets the name that this call has in the log.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from mobox.events import Events, StreamEvent, Text, TextDelta, TextEnd
from mobox.placeholders import Placeholders

__all__ = ["RenamedCalls"]


class RenamedCalls:
    """Renames calls in the open texts of one run."""

    def __init__(self, latest: Mapping[str | None, str]) -> None:
        self._latest = latest
        self._texts: dict[str | None, Placeholders] = {}

    def follow(self, events: Iterable[StreamEvent]) -> Events:
        """`events` for the log, with the latest names of calls in their texts."""
        log: Events = []
        for event in events:
            match event:
                case Text(content=words):
                    log.append(replace(event, content=self._text(event.id).feed(words)))
                case TextDelta(delta=words):
                    text = self._text(event.id).feed(words)
                    log += [replace(event, delta=text)] if text or not words else []
                case TextEnd():
                    rest = self._text(event.id).flush()
                    more = TextDelta(id=event.id, scope=event.scope, delta=rest)
                    log += [more, event] if rest else [event]
                    del self._texts[event.id]
                case _:
                    log.append(event)
        return log

    def _text(self, name: str | None) -> Placeholders:
        return self._texts.setdefault(name, Placeholders(self._latest.get))
