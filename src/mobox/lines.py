"""Text for events without text of their own: status lines, plans, notes on subagents."""

from __future__ import annotations

from mobox.events import (
    Outcome,
    Status,
    StreamEvent,
    SubagentEnd,
    SubagentStart,
    TodoCreate,
    TodoDone,
    TodoItem,
    TodoUpdate,
)

__all__ = ["line_of"]

_HOW_IT_ENDED: dict[Outcome, str] = {
    "ok": "finished",
    "error": "failed",
    "denied": "was denied",
    "interrupted": "was interrupted",
    "unknown": "ended",
}


def line_of(event: StreamEvent) -> str:
    """The line of text for such an event in its block."""
    match event:
        case Status():
            return event.message
        case TodoCreate(items=items):
            plan = "; ".join(item.content for item in items)
            return f"Planned {_steps(items)}{_after_colon(plan)}"
        case TodoUpdate(items=items) | TodoDone(items=items, item=None):
            return f"{_progress(items)}{_current(items)}"
        case TodoDone(items=items):
            return f"{_progress(items)}: finished {event.item}"
        case SubagentStart():
            return f"{event.agent} started{_after_colon(event.task)}"
        case SubagentEnd():
            ended = _HOW_IT_ENDED[event.status]
            return f"{event.agent or 'agent'} {ended}{_after_colon(event.summary)}"
        case _:
            return ""


def _steps(items: tuple[TodoItem, ...]) -> str:
    return "1 step" if len(items) == 1 else f"{len(items)} steps"


def _progress(items: tuple[TodoItem, ...]) -> str:
    done = sum(item.status == "completed" for item in items)
    return f"{done} of {_steps(items)} done"


def _current(items: tuple[TodoItem, ...]) -> str:
    now = [item.active_form or item.content for item in items if item.status == "in_progress"]
    return _after_colon("; ".join(now))


def _after_colon(text: str | None) -> str:
    return f": {text}" if text else ""
