"""The types of a `RunAgentInput`, and the meaning of each message part.

Only fields that are used have a type: other fields are ignored and may have any value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, Literal, Protocol

from msgspec import Struct

from mobox.events import JSON
from mobox.formatters.bodies import Id
from mobox.turn import (
    ContextItem,
    Decision,
    FrontendTool,
    PromptData,
    PromptFile,
    PromptPart,
    PromptText,
)

__all__ = [
    "PROMPT_PARTS",
    "Message",
    "Resume",
    "RunInput",
    "TypedPart",
    "in_camel_case",
]


class Message(Struct, rename="camel"):
    id: Id
    role: str
    content: JSON = None
    tool_call_id: str | None = None
    error: str | None = None
    metadata: JSON = None


class Decided(Struct, frozen=True):
    """Metadata with which a page may state its decision: a payload may be anything."""

    decision: Decision | None = None


class ResumeMetadata(Struct, frozen=True):
    mobox: Decided = Decided()


class Resume(Struct, rename="camel"):
    interrupt_id: str
    status: Literal["resolved", "cancelled"]
    payload: JSON = None
    metadata: ResumeMetadata = ResumeMetadata()

    @property
    def decision(self) -> Decision:
        """The decision; without metadata, as the payload reads."""
        if self.status == "cancelled":
            return "cancelled"
        return self.metadata.mobox.decision or _decision_of(self.payload)

    @property
    def value(self) -> JSON:
        """The value of the answer; for an edit known only by its payload, the changed input."""
        if self.status == "cancelled":
            return None
        return self.payload if self._edit is None else self._edit[_EDITED]

    @property
    def reason(self) -> str | None:
        """What stands beside a changed input; the reason of another decision is in its value."""
        words = None if self._edit is None else self._edit.get("reason")
        return words if isinstance(words, str) else None

    @property
    def _edit(self) -> dict[str, JSON] | None:
        tells = self.decision == "edited" and self.metadata.mobox.decision is None
        return self.payload if tells and isinstance(self.payload, dict) else None


class RunInput(Struct, rename="camel"):
    thread_id: Id
    run_id: Id
    messages: list[Message] = []
    protocol_version: str | None = None
    state: JSON = None
    tools: list[FrontendTool] | None = None
    context: list[ContextItem] | None = None
    forwarded_props: dict[str, JSON] | None = None
    resume: list[Resume] | None = None


# Two ways to write a name

_Places = Mapping[str, Any]
_NAMED: Final[_Places] = {
    "messages": {"content": {"source": {}}},
    "resume": {},
    "tools": {},
    "context": {},
}
"""Objects whose keys are the protocol's; all other keys are the application's."""


def in_camel_case(value: JSON, named: _Places = _NAMED) -> JSON:
    """A body with the protocol's spelling of keys: Python clients write `thread_id`."""
    if isinstance(value, list):
        return [in_camel_case(each, named) for each in value]
    if not isinstance(value, dict):
        return value
    renamed = {_camel(name): value[name] for name in value}
    fields = renamed | {name: value[name] for name in value if name in renamed}
    return {
        name: in_camel_case(each, named[name]) if name in named else each
        for name, each in fields.items()
    }


def _camel(name: str) -> str:
    return re.sub("(?<=[a-z])_([a-z])", lambda match: match[1].upper(), name)


# Parts of a user's message


class TypedPart(Struct):
    type: str


class PromptWire(Protocol):
    def neutral(self) -> PromptPart: ...


class TextPart(Struct):
    text: str

    def neutral(self) -> PromptPart:
        return PromptText(text=self.text)


class Source(Struct, rename="camel"):
    type: Literal["data", "url", "file"]
    value: str
    mime_type: str | None = None
    provider: str | None = None


class MediaPart(Struct):
    type: str
    source: Source

    def neutral(self) -> PromptPart:
        source = self.source
        if source.type == "file":  # a provider's file id: there is no URL to read it from
            value = {"id": source.value, "provider": source.provider}
            return PromptData(name="file", value=value | {"mediaType": source.mime_type})
        media_type = source.mime_type or _MEDIA_TYPES.get(self.type, "application/octet-stream")
        return PromptFile(media_type=media_type, url=_url(source, media_type))


class BinaryPart(Struct, rename="camel"):
    """The form of all media for clients before 1.0."""

    mime_type: str
    url: str | None = None
    data: str | None = None
    id: str | None = None
    filename: str | None = None

    def neutral(self) -> PromptPart:
        if self.url is None and self.data is None:
            return PromptData(name="file", value={"id": self.id, "mediaType": self.mime_type})
        url = self.url or f"data:{self.mime_type};base64,{self.data}"
        return PromptFile(media_type=self.mime_type, url=url, name=self.filename)


_MEDIA_TYPES: Final = {"image": "image/*", "audio": "audio/*", "video": "video/*"}
"""The default type of a file without a media type."""


def _url(source: Source, media_type: str) -> str:
    return source.value if source.type == "url" else f"data:{media_type};base64,{source.value}"


PROMPT_PARTS: Final[dict[str, type[PromptWire]]] = {
    "text": TextPart,
    "image": MediaPart,
    "audio": MediaPart,
    "video": MediaPart,
    "document": MediaPart,
    "binary": BinaryPart,
}


# Answers to interrupts

_EDITED: Final = "editedArgs"
"""The protocol's name for the input of a call as a person changed it."""


def _decision_of(payload: JSON) -> Decision:
    """Whether a payload approves: `true`, or `{"approved": true}`; else it is an answer."""
    about = payload if isinstance(payload, dict) else {"approved": payload}
    approved = about.get("approved")
    if not isinstance(approved, bool):
        return "answered"
    if not approved:
        return "denied"
    return "approved" if about.get(_EDITED) is None else "edited"
