"""The plan of the default model: a call of a todo tool, whatever its fields are called."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from mobox.models.simulator.request import Offered
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

    def call(self, active: int) -> Tool:
        """The call that sets all items: those before `active` are completed."""
        items = [self._filled(place, active) for place in range(len(self.lines))]
        given = value_for(self.tool.schema, self.about)
        rest = given if isinstance(given, dict) else {}
        return Tool(self.tool.name, {**rest, self.field: items})

    def _filled(self, place: int, active: int) -> dict[str, Any]:
        line = self.lines[place]
        state = "completed" if place < active else "in_progress" if place == active else "pending"
        texts = dict.fromkeys(("content", "step", "title", "task", "text", "description"), line)
        texts |= {"activeForm": f"{line}…", "active_form": f"{line}…", "id": str(place + 1)}
        about = About(line, line, texts=texts)
        schema = {"type": "object", "properties": self.item, "required": list(self._wanted())}
        filled: dict[str, Any] = value_for(schema, about)
        return {**filled, "status": _status(self.item["status"], state)}

    def _wanted(self) -> Iterator[str]:
        return (name for name in self.item if name != "status")


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
