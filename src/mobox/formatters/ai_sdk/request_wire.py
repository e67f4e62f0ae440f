"""The types of a request body that `requests` reads, and the meaning of each message part.

Only fields that are used have a type: other fields are ignored and may have any value.
"""

from __future__ import annotations

from typing import Final, Protocol

from msgspec import Struct

from mobox.events import JSON
from mobox.formatters.bodies import Id
from mobox.turn import Answer, PromptData, PromptFile, PromptPart, PromptText

__all__ = [
    "ANSWERS",
    "LASTING_ANSWERS",
    "PROMPT_PARTS",
    "AnswerPart",
    "Body",
    "Message",
    "StatedPart",
    "TypedPart",
]


class Message(Struct, rename="camel"):
    id: Id
    role: str
    parts: list[JSON]
    metadata: JSON = None


class Body(Struct, rename="camel"):
    id: Id
    messages: list[Message] | None = None
    message: Message | None = None
    trigger: str = "submit-message"
    message_id: Id | None = None
    agent: Id | None = None


class TypedPart(Struct):
    type: str


# Parts of a user's message


class PromptWire(Protocol):
    def neutral(self) -> PromptPart: ...


class TextPart(Struct):
    text: str

    def neutral(self) -> PromptPart:
        return PromptText(text=self.text)


class FilePart(Struct, rename="camel"):
    media_type: str
    url: str
    filename: str | None = None

    def neutral(self) -> PromptPart:
        return PromptFile(media_type=self.media_type, url=self.url, name=self.filename)


class DataPart(Struct):
    type: str
    data: JSON = None
    id: str | None = None

    def neutral(self) -> PromptPart:
        return PromptData(name=self.type.removeprefix("data-"), value=self.data, id=self.id)


PROMPT_PARTS: Final[dict[str, type[PromptWire]]] = {
    "text": TextPart,
    "file": FilePart,
    "data-": DataPart,
}
"""By type; the last one is the prefix of any data part's type."""


# Tool calls of an assistant's message


class StatedPart(Struct):
    state: str


class AnswerPart(Protocol):
    def answer(self) -> Answer | None: ...


class Approval(Struct):
    id: str


class ApprovalResponse(Struct):
    id: str
    approved: bool
    reason: str | None = None


class RespondedPart(Struct, rename="camel"):
    tool_call_id: str
    approval: ApprovalResponse

    def answer(self) -> Answer | None:
        return Answer(
            decision="approved" if self.approval.approved else "denied",
            request_id=self.approval.id,
            tool_call_id=self.tool_call_id,
            reason=self.approval.reason,
        )


class OutputPart(Struct, rename="camel"):
    tool_call_id: str
    output: JSON = None
    approval: Approval | None = None
    provider_executed: bool | None = None
    preliminary: bool | None = None

    def answer(self) -> Answer | None:
        if self.provider_executed or self.preliminary:
            return None
        return Answer(
            decision="answered",
            request_id=self.approval.id if self.approval else None,
            tool_call_id=self.tool_call_id,
            value=self.output,
        )


class FailedPart(Struct, rename="camel"):
    tool_call_id: str
    error_text: str
    approval: Approval | None = None
    provider_executed: bool | None = None

    def answer(self) -> Answer | None:
        if self.provider_executed:
            return None
        return Answer(
            decision="denied",
            request_id=self.approval.id if self.approval else None,
            tool_call_id=self.tool_call_id,
            reason=self.error_text,
        )


LASTING_ANSWERS: Final[dict[str, type[AnswerPart]]] = {"approval-responded": RespondedPart}
"""By state: an approval waits to be sent, in whichever step it was requested."""

ANSWERS: Final[dict[str, type[AnswerPart]]] = {
    **LASTING_ANSWERS,
    "output-available": OutputPart,
    "output-error": FailedPart,
}
"""By state, in the last step; in an earlier step an output is an old result."""
