"""Which block without an id of its own is open after which event.

Status lines, todos and the simplified lines of agents name no blocks. A reader still sees them as
blocks, Processing, Thinking and Text, of which one is open at a time.

Rule 1: every such opening and closing is a row of BLOCK_OF.
Rule 2: blocks that a framework names are its own affair; opening one closes ours.
Rule 3: the same events give the same blocks and the same ids, in the lifecycle that writes the log
        and in whoever reads it: so nobody has to store what is Processing.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final, NamedTuple

from mobox.events import (
    EventType,
    Status,
    StepStart,
    StreamEvent,
    SubagentEnd,
    SubagentStart,
    TodoCreate,
    TodoDone,
    TodoItem,
    TodoUpdate,
)

__all__ = ["BETWEEN_THOUGHTS", "BLOCK_OF", "Block", "Blocks", "OpenBlock", "Turn", "line_of"]

BETWEEN_THOUGHTS = "\n\n"
"""A thought that is told whole is a paragraph of the Thinking block."""


class Block(StrEnum):
    """The kinds of block a reader of the chat sees; the value starts their ids."""

    PROCESSING = "processing"
    THINKING = "thinking"
    TEXT = "text"


BLOCK_OF: Final[dict[EventType, Block | None]] = {
    EventType.STATUS: Block.PROCESSING,
    EventType.TODO_CREATE: Block.PROCESSING,
    EventType.TODO_UPDATE: Block.PROCESSING,
    EventType.TODO_DONE: Block.PROCESSING,
    EventType.THINKING: Block.THINKING,
    EventType.THINKING_DELTA: Block.THINKING,
    EventType.SUBAGENT_START: Block.THINKING,
    EventType.SUBAGENT_END: Block.THINKING,
    EventType.TEXT: Block.TEXT,
    EventType.TEXT_DELTA: Block.TEXT,
    EventType.TOOL_USE_START: None,
    EventType.STEP_START: None,
    EventType.FILE: None,
    EventType.CUSTOM: None,
    EventType.INPUT_REQUEST: None,
    EventType.DONE: None,
}
"""The block open after the event; `None` for no block. Unlisted events leave it alone."""

_ENDS = {EventType.TEXT_END: Block.TEXT, EventType.THINKING_END: Block.THINKING}
_DELTAS = {EventType.TEXT_DELTA, EventType.THINKING_DELTA}
_NAMEABLE = {EventType.TEXT, EventType.THINKING} | _DELTAS
_OUR_ID = re.compile(r"(?:processing|thinking|text)_(\d+)")


class OpenBlock(NamedTuple):
    """A block that we opened, because the framework names none."""

    block: Block
    id: str
    scope: tuple[str, ...] = ()


class Turn(NamedTuple):
    """What an event closes, then what it opens, before it is told itself."""

    closed: OpenBlock | None = None
    opened: OpenBlock | None = None


_NO_TURN = Turn()


class Blocks:
    """The block without a name that is open in one run."""

    def __init__(self) -> None:
        self.open: OpenBlock | None = None
        self._count = dict.fromkeys(Block, 0)

    def turn_to(self, event: StreamEvent) -> Turn:
        """Move to the block that `event` needs."""
        if event.type in _ENDS:
            return self._end(event)
        if event.type not in BLOCK_OF or _leaves_alone(event):
            return _NO_TURN
        return self._move(self._wanted(event))

    def _wanted(self, event: StreamEvent) -> OpenBlock | None:
        block = BLOCK_OF[event.type]
        if block is None or (event.type in _NAMEABLE and _has_foreign_name(event)):
            return None
        # A Processing block belongs to the run, whichever agent the line comes from.
        scope = event.scope if event.type in _NAMEABLE else ()
        if event.type in _NAMEABLE and event.id is not None:
            return OpenBlock(block, event.id, scope)
        if self.open is not None and self.open[::2] == (block, scope):
            return self.open
        return OpenBlock(block, f"{block}_{self._count[block] + 1}", scope)

    def _move(self, wanted: OpenBlock | None) -> Turn:
        if wanted == self.open:
            return _NO_TURN
        closed, self.open = self.open, wanted
        if wanted is not None:
            self._count[wanted.block] = max(_number(wanted.id), self._count[wanted.block])
        return Turn(closed, wanted)

    def _end(self, event: StreamEvent) -> Turn:
        if self.open is None or self.open.block is not _ENDS[event.type]:
            return _NO_TURN
        return self._move(None) if event.id in (None, self.open.id) else _NO_TURN


def _leaves_alone(event: StreamEvent) -> bool:
    if isinstance(event, StepStart):
        return event.kind != "turn" or bool(event.scope)
    return event.type in _DELTAS and _has_foreign_name(event)


def _has_foreign_name(event: StreamEvent) -> bool:
    return event.id is not None and _OUR_ID.fullmatch(event.id) is None


def _number(our_id: str) -> int:
    match = _OUR_ID.fullmatch(our_id)
    assert match is not None, our_id
    return int(match[1])


def line_of(event: StreamEvent) -> str:
    """What an event without text of its own reads like in its block."""
    match event:
        case Status():
            return event.message
        case TodoCreate(items=items):
            return f"Planned {len(items)} steps: {'; '.join(item.content for item in items)}"
        case TodoUpdate(items=items) | TodoDone(items=items, item=None):
            return f"{_progress(items)}{_current(items)}"
        case TodoDone(items=items):
            return f"{_progress(items)}: finished {event.item}"
        case SubagentStart():
            return f"{event.agent} started{_after_colon(event.task)}"
        case SubagentEnd():
            return f"{event.agent or 'agent'} finished{_after_colon(event.summary)}"
    return ""


def _progress(items: tuple[TodoItem, ...]) -> str:
    done = sum(item.status == "completed" for item in items)
    return f"{done} of {len(items)} steps done"


def _current(items: tuple[TodoItem, ...]) -> str:
    now = [item.active_form or item.content for item in items if item.status == "in_progress"]
    return _after_colon("; ".join(now))


def _after_colon(text: str | None) -> str:
    return f": {text}" if text else ""
