"""A stored message: what is kept of a run, reloaded into a page, and passed to agents as history.

Its parts hold exactly what the events hold that they are folded from (mobox.events.transcript);
each protocol's snapshot formats them for its clients.
"""

from __future__ import annotations

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
from mobox.events.usage import Totals


def _tag(class_name: str) -> str:
    return class_name.removesuffix("Part").lower()


class Part(Struct, kw_only=True, omit_defaults=True, tag_field="type", tag=_tag):
    """One visible part of a message."""


class BlockPart(Part):
    """Streamed text; `ended` when it is complete."""

    id: str
    text: str = ""
    scope: tuple[str, ...] = ()
    ended: bool = False
    duration_ms: int | None = None


class TextPart(BlockPart):
    """Text of the answer."""

    kind: str = "answer"
    worked_ms: int | None = None
    """How long the agent worked before it, since its text before; of the root agent's texts."""
    provider: dict[str, JSON] | None = None


class ThinkingPart(BlockPart):
    """Reasoning, and notes on the starts and ends of subagents."""

    source: str = "model"
    redacted: bool = False
    provider: dict[str, JSON] | None = None


class ProcessingPart(BlockPart):
    """Status lines of the agent."""


class ToolPart(Part):
    """A tool call, from its start to its result."""

    id: str
    name: str
    kind: str = "function"
    server: bool = False
    frontend: bool = False
    display: str | None = None
    scope: tuple[str, ...] = ()
    input: JSON = None
    input_text: str = ""
    """The input received so far; all of it where it is not JSON."""
    ended: bool = False
    """The input is complete."""
    invalid: bool = False
    status: Outcome | None = None
    partial: bool = False
    output: JSON = None
    structured: JSON = None
    provider: dict[str, JSON] | None = None
    """Vendor state to send back with the call."""
    result_provider: dict[str, JSON] | None = None
    """The same for its result."""


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
    """Token usage of the run."""

    totals: Totals


class TurnPart(Part):
    """A turn of the loop starts here."""


class StepPart(Part):
    """A task or a compaction."""

    start: StepStart
    end: StepEnd | None = None


class SubagentPart(Part):
    """A spawned agent."""

    start: SubagentStart
    end: SubagentEnd | None = None


class RequestPart(Part):
    """An input request and its answer."""

    request: InputRequest
    response: InputResponse | None = None
    approval: bool = False
    """It is the approval of a pending call."""
    replaced: bool = False
    """It was made again, under the same id, before it was answered."""

    @property
    def has_part(self) -> bool:
        """Whether it is shown apart from its call: an approval is, if it lists its decisions."""
        return not self.approval or bool(self.request.allowed)


class RetractPart(Part):
    """Blocks that are sent again after this, and must not be shown."""

    blocks: tuple[str, ...] = ()
    whole_turn: bool = False
    """They were the whole output of the turn."""


class CustomPart(Part):
    """An application's own event."""

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
    """The text of the answer only."""
    metadata: dict[str, JSON] = {}
    """`processing`, a list of lines, and `thinking`, a text: for older clients."""
    usage: Totals | None = None
    reason: DoneReason | None = None
    """Why the run ended; `None` while it has not."""
    error: str | None = None
    error_code: str | None = None
    """The code of that error, if the log has one."""
    errors: int = 0
    """How many errors the log has; those that did not end the run are lines of Processing."""
    duration_ms: int | None = None
    simulated: bool = False
    """Its model was simulated."""
    model: str | None = None
    """The model that the agent itself used last, not one of its subagents, if it is known."""
    context: int | None = None
    """The tokens of the last call of that model, input and output: how full its window was."""


def parts_for_history(message: Message) -> list[AnyPart]:
    """The parts passed to an agent as history: nothing retracted, every call with a result.

    So history is valid input for a model, wherever a run was interrupted.
    """
    parts: list[AnyPart] = []
    for part in message.parts:
        if isinstance(part, RetractPart):
            parts = [kept for kept in parts if _block_of(kept) not in part.blocks]
        elif (
            isinstance(part, ToolPart)
            and message.reason is not None
            and (part.status is None or part.partial)
        ):
            parts.append(replace(part, ended=True, status="interrupted", partial=False))
        else:
            parts.append(part)
    return parts


def _block_of(part: AnyPart) -> str | None:
    """The block or call that a part is, or belongs to: it is retracted with it."""
    match part:
        case TextPart() | ThinkingPart() | ToolPart():
            return part.id
        case SourcePart(source=about) | FilePart(file=about) | SubagentPart(start=about):
            return about.id
        case RequestPart():
            return part.request.tool_call_id
        case _:
            return None


def block_id(part: AnyPart) -> str | None:
    """The id by which a RETRACT names it; `None` if it cannot be retracted."""
    return part.id if isinstance(part, TextPart | ThinkingPart | ToolPart) else None
