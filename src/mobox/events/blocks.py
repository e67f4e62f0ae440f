"""Blocks without an id of their own: which one is open after which event.

Status lines, todos and the simplified lines of agents name no blocks. Clients still show them as
blocks, Processing, Thinking and Text, of which one is open at a time.

Rule 1: every such opening and closing is a row of BLOCK_OF.
Rule 2: blocks with a framework's id are not managed here; opening one closes ours.
Rule 3: the lifecycle that writes a log and every reader of it derive the same blocks and ids, so
        Processing blocks need not be stored. Each of them must pass every entry to `turn_to`,
        including the ends.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final, NamedTuple

from mobox.events import (
    EventType,
    Outcome,
    Status,
    StepStart,
    StreamEvent,
    SubagentEnd,
    SubagentStart,
    Text,
    TextEnd,
    ThinkingEnd,
    TodoCreate,
    TodoDone,
    TodoItem,
    TodoUpdate,
)

BETWEEN_THOUGHTS = "\n\n"
"""Separates whole thoughts: each is a paragraph of the Thinking block."""


class Block(StrEnum):
    """The kinds of block that a client shows; the value is the prefix of their ids."""

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
    EventType.THINKING_END: None,
    EventType.SUBAGENT_START: Block.THINKING,
    EventType.SUBAGENT_END: Block.THINKING,
    EventType.TEXT: Block.TEXT,
    EventType.TEXT_DELTA: Block.TEXT,
    EventType.TEXT_END: None,
    EventType.TOOL_USE_START: None,
    EventType.STEP_START: None,
    EventType.FILE: None,
    EventType.CUSTOM: None,
    EventType.INPUT_REQUEST: None,
    EventType.DONE: None,
}
"""The block open after the event; `None` for no block. Unlisted events leave it alone."""

_OPENINGS = {EventType.TEXT: Block.TEXT, EventType.THINKING: Block.THINKING}
_DELTAS = {EventType.TEXT_DELTA: Block.TEXT, EventType.THINKING_DELTA: Block.THINKING}
_ENDS = {EventType.TEXT_END: Block.TEXT, EventType.THINKING_END: Block.THINKING}
_CONTENT_IN = _OPENINGS | _DELTAS

LINE_EVENTS: Final = {
    kind for kind, block in BLOCK_OF.items() if block is not None
} - _CONTENT_IN.keys()
"""Events without text of their own: each adds one line to the block that it opens."""

NOTES: Final = frozenset({EventType.SUBAGENT_START, EventType.SUBAGENT_END})
"""Those of LINES that are part of the Thinking block."""

_NUMBER: Final = re.compile(r"[1-9][0-9]{0,8}")  # longer numbers are not generated here
_OUR_NAMES: Final = tuple(f"{block}_" for block in Block)


class OpenBlock(NamedTuple):
    """A block with a generated id, because the framework gave none."""

    block: Block
    id: str
    scope: tuple[str, ...] = ()


class Move(NamedTuple):
    """The block that an event closes, then the one that it opens, before the event itself."""

    closed: OpenBlock | None = None
    opened: OpenBlock | None = None


_NO_MOVE = Move()


class Line(NamedTuple):
    """A line that an event adds to a block; `between` precedes every line but the first."""

    block_id: str
    text: str
    between: str


class Blocks:
    """Tracks the open block without a framework id of one run."""

    def __init__(self) -> None:
        self.open: OpenBlock | None = None
        self._count = dict.fromkeys(Block, 0)

    def turn_to(self, event: StreamEvent) -> Move:
        """Move to the block that `event` needs."""
        kind = event.type
        if kind not in BLOCK_OF:
            return _NO_MOVE
        # Shortcuts for the most frequent events; the code below would return the same.
        if self.open is None and (BLOCK_OF[kind] is None or _is_anothers(event)):
            return _NO_MOVE
        if kind in _DELTAS and self._is_open(_DELTAS[kind], event.id or ""):
            return _NO_MOVE
        self._keep_clear_of(event)
        return _NO_MOVE if self._leaves_alone(event) else self._move(self._wanted(event))

    def name_for(self, event: StreamEvent) -> str:
        """The id of the block that a TEXT, THINKING or delta without one belongs to."""
        return self._unnamed(_CONTENT_IN[event.type], event.scope).id

    def line(self, event: StreamEvent) -> Line | None:
        """The line that an event of LINES adds to the open block; `None` for a progress pulse."""
        if _is_pulse(event):
            return None
        assert self.open is not None  # BLOCK_OF has a row for every event of LINES
        between = BETWEEN_THOUGHTS if self.open.block is Block.THINKING else "\n"
        return Line(self.open.id, line_of(event), between)

    def _leaves_alone(self, event: StreamEvent) -> bool:
        if isinstance(event, StepStart):
            return not self._is_ended_by(event)
        if event.type in _DELTAS:
            return _is_foreign(event.id, _DELTAS[event.type])
        if event.type in _ENDS:
            return not self._is_open(_ENDS[event.type], event.id)
        return _is_pulse(event)

    def _is_ended_by(self, step: StepStart) -> bool:
        """Whether a step ends the open block: one of its own agent or of a subagent of it.

        Processing continues across steps; only a turn of the root agent ends it.
        """
        if step.kind == "turn" and not step.scope:
            return True
        if self.open is None or self.open.block is Block.PROCESSING:
            return False
        return self.open.scope[: len(step.scope)] == step.scope

    def _is_open(self, block: Block, name: str | None) -> bool:
        return self.open is not None and self.open.block is block and name in (None, self.open.id)

    def _wanted(self, event: StreamEvent) -> OpenBlock | None:
        block = BLOCK_OF[event.type]
        if block is None:
            return None
        if event.type in LINE_EVENTS:
            # Processing, and the notes on subagents, belong to the run, in whatever scope they are.
            return self._unnamed(block, ())
        if event.id is None:
            return self._unnamed(block, event.scope)
        if _is_foreign(event.id, block):
            return None
        return (
            self.open if self._is_open(block, event.id) else OpenBlock(block, event.id, event.scope)
        )

    def _unnamed(self, block: Block, scope: tuple[str, ...]) -> OpenBlock:
        if self.open is not None and self.open.block is block and self.open.scope == scope:
            return self.open
        return OpenBlock(block, f"{block}_{self._count[block] + 1}", scope)

    def _keep_clear_of(self, event: StreamEvent) -> None:
        """A framework's id may look like a generated one; continue counting after it."""
        if event.id is None or not event.id.startswith(_OUR_NAMES) or event.type not in _CONTENT_IN:
            return
        block = next((block for block in Block if not _is_foreign(event.id, block)), None)
        if block is not None:
            self._count[block] = max(_number(event.id), self._count[block])

    def _move(self, wanted: OpenBlock | None) -> Move:
        if wanted == self.open:
            return _NO_MOVE
        closed, self.open = self.open, wanted
        if wanted is not None:
            self._count[wanted.block] = max(_number(wanted.id), self._count[wanted.block])
        return Move(closed, wanted)


def end_of(opening: StreamEvent, interrupted: bool = False) -> StreamEvent:
    """The event that ends the block which TEXT or THINKING opened."""
    if isinstance(opening, Text):
        return TextEnd(id=opening.id, scope=opening.scope, interrupted=interrupted)
    return ThinkingEnd(id=opening.id, scope=opening.scope)


def _is_pulse(event: StreamEvent) -> bool:
    """Whether it adds no line: it is too frequent to keep, or the server's own."""
    return isinstance(event, Status) and event.kind in ("progress", "preparation")


def _is_anothers(event: StreamEvent) -> bool:
    """Whether it belongs to a block whose id cannot be a generated one."""
    name = event.id
    return name is not None and event.type in _CONTENT_IN and not name.startswith(_OUR_NAMES)


def _is_foreign(name: str | None, block: Block) -> bool:
    return name is not None and not (
        name.startswith(f"{block}_") and _NUMBER.fullmatch(name, len(block) + 1)
    )


def _number(our_id: str) -> int:
    return int(our_id.rpartition("_")[2])


# The text of events that have none of their own: status lines, plans, notes on subagents

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
