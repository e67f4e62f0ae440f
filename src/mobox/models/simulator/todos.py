"""The plan of the default model: a call of a todo tool, whatever its fields are called."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

import msgspec
from msgspec import Struct

from mobox.models.simulator.request import Message, Offered
from mobox.models.simulator.schema import About, value_for
from mobox.models.simulator.script import Tool

NAME: Final = re.compile(r"todo|plan", re.IGNORECASE)
STATUSES: Final[Mapping[str, tuple[str, ...]]] = {
    "pending": ("pending", "todo", "not_started", "open"),
    "in_progress": ("in_progress", "doing", "active", "started"),
    "completed": ("completed", "done", "complete", "finished"),
}


class TodoList(Struct, frozen=True):
    """A tool that takes the whole list: the field of the list, and those of an item."""

    tool: Offered
    lines: list[str]
    about: About
    field: str
    item: dict[str, Any]

    @classmethod
    def of(cls, tool: Offered, lines: list[str], about: About) -> TodoList | None:
        """The list of such a tool; `None` for another tool."""
        if not NAME.search(tool.name):
            return None
        for name, schema in (tool.schema.get("properties") or {}).items():
            item = _item_of(schema, tool.schema)
            if "status" in item:
                return cls(tool, lines, about, name, item)
        return None

    def call(self, done: int, active: int = 1) -> Tool:
        """The call that sets all items: the first are completed, the next are in progress."""
        places = range(len(self.lines))
        return self._tool([self._filled(place, done, done + active) for place in places])

    # What the conversation already has

    def written(self, messages: Iterable[Message]) -> list[dict[str, Any]] | None:
        """The list as it was written last; `None` if it was not."""
        calls = [call for message in messages for call in message.calls]
        given = [_decoded(call.input) for call in calls if call.name == self.tool.name]
        lists = [each.get(self.field) for each in given if isinstance(each, dict)]
        found = lists[-1] if lists else None
        return [item for item in found if isinstance(item, dict)] if found else None

    def is_like(self, items: list[dict[str, Any]]) -> bool:
        """Whether it is this list, whatever is done of it."""
        pairs = zip(self.lines, items, strict=False)
        return len(self.lines) == len(items) and all(line in i.values() for line, i in pairs)

    def is_done(self, items: list[dict[str, Any]]) -> bool:
        """Whether all is completed."""
        return all(item.get("status") == self._status("completed") for item in items)

    def completed(self, items: list[dict[str, Any]]) -> Tool:
        """The call that completes a list."""
        done = self._status("completed")
        return self._tool([{**item, "status": done} for item in items])

    def _status(self, state: str) -> str:
        return _status(self.item["status"], state)

    def _tool(self, items: list[dict[str, Any]]) -> Tool:
        given = value_for(self.tool.schema, self.about)
        rest = given if isinstance(given, dict) else {}
        return Tool(self.tool.name, {**rest, self.field: items})

    def _filled(self, place: int, done: int, started: int) -> dict[str, Any]:
        line = self.lines[place]
        state = "completed" if place < done else "in_progress" if place < started else "pending"
        texts = dict.fromkeys(("content", "step", "title", "task", "text", "description"), line)
        texts |= {"activeForm": f"{line}…", "active_form": f"{line}…", "id": str(place + 1)}
        about = About(line, line, texts=texts)
        schema = {"type": "object", "properties": self.item, "required": list(self._wanted())}
        filled: dict[str, Any] = value_for(schema, about)
        return {**filled, "status": self._status(state)}

    def _wanted(self) -> Iterator[str]:
        return (name for name in self.item if name != "status")


def _decoded(given: Any) -> Any:
    with suppress(msgspec.DecodeError):
        return msgspec.json.decode(given) if isinstance(given, str) else given
    return None


def _item_of(schema: Any, root: dict[str, Any]) -> dict[str, Any]:
    """The properties of an item of a list."""
    items = schema.get("items") if isinstance(schema, dict) else None
    if isinstance(items, dict) and "$ref" in items:
        name = str(items["$ref"]).rpartition("/")[2]
        items = (root.get("$defs") or root.get("definitions") or {}).get(name)
    return (items.get("properties") or {}) if isinstance(items, dict) else {}


def _status(schema: Any, state: str) -> str:
    known = (schema.get("enum") if isinstance(schema, dict) else None) or [state]
    for each in known:
        if str(each).lower().replace("-", "_").replace(" ", "_") in STATUSES[state]:
            return str(each)
    return str(known[0])
