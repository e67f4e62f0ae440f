"""Plans in emitted lines: items as text or objects, all of them or only the finished one."""

from __future__ import annotations

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from mobox.events import TodoItem
from mobox.parsers.emitted.forms import Data, Form

__all__ = ["FinishedLine", "Items", "PlanLine", "finish", "read_item", "read_items", "which"]

Items = tuple[TodoItem, ...]

_ITEM: Final = Form(
    TodoItem,
    {"content": ("content", "title", "text"), "active_form": ("active_form", "activeForm")},
)


class PlanLine(Struct, kw_only=True):
    """A line that carries the plan."""

    scope: tuple[str, ...] = ()
    items: list[str | Data] | None = None


class FinishedLine(PlanLine, kw_only=True):
    """A line that names the finished item."""

    item: str | Data | None = None
    index: int | None = None


def read_items(plan: PlanLine, before: Items) -> tuple[Items, Data]:
    """The whole list, and the original items where they have more fields."""
    if plan.items is None:
        return before, {}
    read = [read_item(item) for item in plan.items]
    kept: Data = {"items": plan.items} if any(rest for _, rest in read) else {}
    return tuple(item for item, _ in read), kept


def read_item(item: str | Data) -> tuple[TodoItem, Data]:
    """One item, and its other fields."""
    return (TodoItem(content=item), {}) if isinstance(item, str) else _ITEM.read(item)


def which(items: Items, item: str | None, index: int | None) -> int | None:
    """The index of the item. Its name takes precedence over its index, which may start at 1."""
    contents = [known.content for known in items]
    at_index = index if index is not None and 0 <= index < len(items) else None
    if item in contents and (at_index is None or contents[at_index] != item):
        return contents.index(item)
    return at_index


def finish(items: Items, item: str | None, position: int | None) -> Items:
    """The plan with that item done; an unknown item is added."""
    if position is not None:
        finished = replace(items[position], status="completed")
        return (*items[:position], finished, *items[position + 1 :])
    return items if item is None else (*items, TodoItem(content=item, status="completed"))
