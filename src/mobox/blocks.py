"""Which block without an id of its own is open after which event.

Status lines, todos and the simplified lines of agents name no blocks. A reader still sees them as
blocks, Processing, Thinking and Text, of which one is open at a time.

Rule 1: every such opening and closing is a row of BLOCK_OF.
Rule 2: blocks that a framework names are its own affair; opening one closes ours.
Rule 3: the same log gives the same blocks and the same ids to the lifecycle that writes it and to
        whoever reads it: so nobody has to store what is Processing. For that, every entry of the
        log is turned to, also the ends.
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
    Text,
    TextEnd,
    ThinkingEnd,
)
from mobox.lines import line_of

__all__ = [
    "BETWEEN_THOUGHTS",
    "BLOCK_OF",
    "LINES",
    "NOTES",
    "Block",
    "Blocks",
    "Line",
    "Move",
    "OpenBlock",
    "end_of",
]

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

LINES: Final = {kind for kind, block in BLOCK_OF.items() if block is not None} - _CONTENT_IN.keys()
"""What has no text of its own: each is a line of the block that it opens."""

NOTES: Final = frozenset({EventType.SUBAGENT_START, EventType.SUBAGENT_END})
"""Those of LINES that stand among the thoughts."""

_NUMBER = re.compile(r"[1-9][0-9]{0,8}")  # longer ones are no count of ours


_OUR_NAMES: Final = tuple(f"{block}_" for block in Block)


class OpenBlock(NamedTuple):
    """A block that we opened, because the framework names none."""

    block: Block
    id: str
    scope: tuple[str, ...] = ()


class Move(NamedTuple):
    """What an event closes, then what it opens, before it is told itself."""

    closed: OpenBlock | None = None
    opened: OpenBlock | None = None


_NO_MOVE = Move()


class Line(NamedTuple):
    """What an event adds to a block; `between` goes in front unless it is the first."""

    block_id: str
    text: str
    between: str


class Blocks:
    """The block without a name that is open in one run."""

    def __init__(self) -> None:
        self.open: OpenBlock | None = None
        self._count = dict.fromkeys(Block, 0)

    def turn_to(self, event: StreamEvent) -> Move:
        """Move to the block that `event` needs."""
        kind = event.type
        if kind not in BLOCK_OF:
            return _NO_MOVE
        # What the rest would come to as well, and most events are these.
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
        """The line that an event of LINES is in the block it turned to; `None` for a pulse."""
        if _is_pulse(event):
            return None
        assert self.open is not None  # BLOCK_OF has a row for whatever is told as a line
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
        """Whether a step ends the open block: that of its own agent or of one below it.

        As with a status line, Processing goes on across a step; only the root's turn ends it too.
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
        if event.type in LINES:
            # Processing, and the notes on subagents, belong to the run, whoever the line is from.
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
        """A framework may call a block as we call ours; ours are then counted on from there."""
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
    """What ends the block that TEXT or THINKING opened."""
    if isinstance(opening, Text):
        return TextEnd(id=opening.id, scope=opening.scope, interrupted=interrupted)
    return ThinkingEnd(id=opening.id, scope=opening.scope)


def _is_pulse(event: StreamEvent) -> bool:
    """Whether it is no line: it comes too often to be kept, or it is not the agent's."""
    return isinstance(event, Status) and event.kind in ("progress", "preparation")


def _is_anothers(event: StreamEvent) -> bool:
    """Whether it is said in a block with a name that cannot be one of ours."""
    name = event.id
    return name is not None and event.type in _CONTENT_IN and not name.startswith(_OUR_NAMES)


def _is_foreign(name: str | None, block: Block) -> bool:
    return name is not None and not (
        name.startswith(f"{block}_") and _NUMBER.fullmatch(name, len(block) + 1)
    )


def _number(our_id: str) -> int:
    return int(our_id.rpartition("_")[2])
