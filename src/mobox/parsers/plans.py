"""Finds what changed between two states of a plan, for frameworks that only send the list."""

from __future__ import annotations

from msgspec.structs import replace

from mobox.events import StreamEvent, TodoCreate, TodoDone, TodoItem, TodoUpdate

__all__ = ["change", "item_of"]

Items = tuple[TodoItem, ...]


def item_of(content: str, status: str | None, active_form: str | None = None) -> TodoItem:
    """An item of a plan; an unknown status counts as pending."""
    item = TodoItem(content=content, active_form=active_form)
    return replace(item, status=status) if status in ("in_progress", "completed") else item


def change(before: Items, after: Items) -> list[StreamEvent]:
    """The event for the change from one list to the next; none if nothing changed."""
    if before == after:
        return []
    if not before:
        return [TodoCreate(items=after)]
    finished = _newly_finished(before, after)
    if len(finished) == 1:
        index = finished[0]
        return [TodoDone(items=after, item=after[index].content, index=index)]
    return [TodoUpdate(items=after)]


def _newly_finished(before: Items, after: Items) -> list[int]:
    done = {item.content for item in before if item.status == "completed"}
    return [
        index
        for index, item in enumerate(after)
        if item.status == "completed" and item.content not in done
    ]
