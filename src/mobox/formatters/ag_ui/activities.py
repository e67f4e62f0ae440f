"""Activities: content that AG-UI has no event for and that must survive a reload.

Clients keep an activity among the messages, replace it by its id, and never send it back.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from mobox.events import JSON, File, TodoItem
from mobox.formatters.ag_ui.documents import event
from mobox.formatters.ag_ui.ids import WireIds
from mobox.formatters.fields import known
from mobox.formatters.links import address_of

__all__ = ["Activities", "Activity"]


class Activity(NamedTuple):
    """One activity, live and stored."""

    wire: str
    kind: str
    content: dict[str, JSON]
    owner: str | None = None

    def told(self) -> bytes:
        """The event that sends it; it replaces the activity of its id."""
        return event(
            "ACTIVITY_SNAPSHOT",
            messageId=self.wire,
            activityType=self.kind,
            content=self.content,
            subagentRunId=self.owner,
        )

    def message(self) -> dict[str, Any]:
        """The message that the client then has."""
        about = {
            "id": self.wire,
            "role": "activity",
            "activityType": self.kind,
            "content": self.content,
            "subagentRunId": self.owner,
        }
        return known(about)


class Activities:
    """The activities of one run; live and stored they are numbered alike."""

    def __init__(self, ids: WireIds) -> None:
        self._ids = ids
        self._found: list[JSON] = []
        self._files = 0

    def todos(self, items: Iterable[TodoItem], scope: tuple[str, ...]) -> Activity:
        """The plan of one agent as it is now."""
        lines = [
            known({"content": item.content, "status": item.status, "activeForm": item.active_form})
            for item in items
        ]
        wire = self._ids.activity("todos", scope)
        return Activity(wire, "mobox.todos", {"items": lines}, self._ids.owner(scope))

    def source(self, found: JSON) -> Activity:
        """All sources of the run that no text cites."""
        self._found.append(found)
        return Activity(
            self._ids.activity("sources"), "mobox.sources", {"sources": list(self._found)}
        )

    def file(self, event: File) -> Activity:
        """An image, a sound, an artifact."""
        self._files += 1
        wire, owner = self._ids.activity(f"file_{self._files}"), self._ids.owner(event.scope)
        return Activity(wire, "mobox.file", _file_content(event), owner)


def _file_content(event: File) -> dict[str, JSON]:
    about = {
        "mediaType": event.media_type,
        "url": address_of(event),
        "fileId": event.file_id,
        "name": event.name,
        "size": event.size,
    }
    return known(about)
