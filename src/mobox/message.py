"""A message at rest: what is stored of a run, reloaded into a page, and shown to agents again.

Its parts say no more and no less than the events they are folded from (mobox.transcript); how a
frontend wants to see them is the business of that protocol's snapshot.
"""

from __future__ import annotations

from typing import TypeGuard

from msgspec import Struct
from msgspec.structs import replace

from mobox.events import (
    JSON,
    DoneReason,
    File,
    InputRequest,
    InputResponse,
    Outcome,
    Source,
    StepEnd,
    StepStart,
    SubagentEnd,
    SubagentStart,
    TodoItem,
)
from mobox.usage import Totals


def _tag(class_name: str) -> str:
    return class_name.removesuffix("Part").lower()


class Part(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag=_tag):
    """One thing of a message that a reader sees."""


class BlockPart(Part):
    """Text that comes in pieces; `ended` once there are no more."""

    id: str
    text: str = ""
    scope: tuple[str, ...] = ()
    ended: bool = False
    duration_ms: int | None = None


class TextPart(BlockPart):
    """What the agent answered."""

    kind: str = "answer"


class ThinkingPart(BlockPart):
    """What the agent thought, and how its subagents came and went."""

    source: str = "model"
    redacted: bool = False
    provider: dict[str, JSON] | None = None


class ProcessingPart(BlockPart):
    """What the agent was busy with, a line each."""


class ToolPart(Part):
    """A tool call, from its first word to its result."""

    id: str
    name: str
    kind: str = "function"
    server: bool = False
    display: str | None = None
    scope: tuple[str, ...] = ()
    input: JSON = None
    input_text: str = ""
    """The input as far as it has come; the whole of it where it is not JSON."""
    ended: bool = False
    """The input is complete."""
    invalid: bool = False
    status: Outcome | None = None
    partial: bool = False
    output: JSON = None
    structured: JSON = None
    provider: dict[str, JSON] | None = None
    """What the vendor wants to see again with the call."""


class SourcePart(Part):
    """A page or a document."""

    source: Source


class FilePart(Part):
    """An image, a sound, an artifact."""

    file: File


class TodosPart(Part):
    """The plan of one agent as it is now; a subagent's is not the root's."""

    items: tuple[TodoItem, ...] = ()
    scope: tuple[str, ...] = ()


class UsagePart(Part):
    """What the run has used."""

    totals: Totals


class TurnPart(Part):
    """A turn of the loop begins here."""


class StepPart(Part):
    """A task or a compaction."""

    start: StepStart
    end: StepEnd | None = None


class SubagentPart(Part):
    """A spawned agent."""

    start: SubagentStart
    end: SubagentEnd | None = None


class RequestPart(Part):
    """What a person is asked, and what they said."""

    request: InputRequest
    response: InputResponse | None = None
    approval: bool = False
    """It asks whether a call that waits may run."""
    again: bool = False
    """The same was asked before, apart from a call: what is told now takes the place of that."""

    @property
    def has_part(self) -> bool:
        """Whether it is a part of its own: an approval is its call's, but what it allows is not."""
        return not self.approval or bool(self.request.allowed)


class RetractPart(Part):
    """Blocks that are sent again after this, and are not to be shown."""

    blocks: tuple[str, ...] = ()
    whole_turn: bool = False
    """They were all that the turn had said."""


class CustomPart(Part):
    """An application's own."""

    name: str
    id: str | None = None
    value: JSON = None


AnyPart = (
    TextPart
    | ThinkingPart
    | ProcessingPart
    | ToolPart
    | SourcePart
    | FilePart
    | TodosPart
    | UsagePart
    | TurnPart
    | StepPart
    | SubagentPart
    | RequestPart
    | RetractPart
    | CustomPart
)


class Message(Struct, kw_only=True, omit_defaults=True):
    """One message of a chat; an assistant's is one run."""

    id: str
    role: str = "assistant"
    parts: list[AnyPart]
    content: str = ""
    """The answer alone."""
    metadata: dict[str, JSON] = {}
    """`processing`, a list of lines, and `thinking`, a text: what older readers look for."""
    usage: Totals | None = None
    reason: DoneReason | None = None
    """Why the run ended; `None` while it has not."""
    error: str | None = None
    duration_ms: int | None = None


def told_again(message: Message) -> list[AnyPart]:
    """What an agent is shown of what was said before: nothing taken back, every call with an end.

    So history is always valid input for a model, wherever a run broke off.
    """
    parts: list[AnyPart] = []
    for part in message.parts:
        if isinstance(part, RetractPart):
            parts = [kept for kept in parts if _block_of(kept) not in part.blocks]
        elif isinstance(part, ToolPart) and message.reason is not None and _is_unsettled(part):
            parts.append(replace(part, ended=True, status="interrupted", partial=False))
        else:
            parts.append(part)
    return parts


def _block_of(part: AnyPart) -> str | None:
    """The block or call that a part is, or belongs to: it is taken back with it."""
    match part:
        case TextPart() | ThinkingPart() | ToolPart():
            return part.id
        case SourcePart(source=about) | FilePart(file=about) | SubagentPart(start=about):
            return about.id
        case RequestPart():
            return part.request.tool_call_id
        case _:
            return None


def _is_unsettled(part: ToolPart) -> bool:
    return part.status is None or part.partial


def is_answer(part: AnyPart) -> TypeGuard[TextPart]:
    """Whether it is text of the root agent."""
    return isinstance(part, TextPart) and not part.scope


def is_told_elsewhere(part: AnyPart) -> bool:
    """Whether it adds nothing here: it is told with its call, or where it was asked before."""
    return isinstance(part, RequestPart) and (part.again or not part.has_part)


def block_id(part: AnyPart) -> str | None:
    """The id by which a RETRACT takes it back; `None` if it cannot be."""
    return part.id if isinstance(part, TextPart | ThinkingPart | ToolPart) else None


def said_in_turn(parts: list[AnyPart]) -> list[AnyPart]:
    """The parts of the turn that is under way, the last first; none where there are no turns."""
    kept: list[AnyPart] = []
    for part in reversed(parts):
        if isinstance(part, TurnPart) or (isinstance(part, RetractPart) and part.whole_turn):
            return kept
        kept.append(part)
    return []
