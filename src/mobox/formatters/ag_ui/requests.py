"""Parses a `RunAgentInput` into one `Request`.

Rule 1: a client sends the whole conversation with every request. Only the user messages at its end
        count, after the last message of the agent. Those that are not stored are new.
Rule 2: a stored message that comes again requests another answer; other content under the same id
        is an edit.
Rule 3: entries of `resume` are answers, and so are tool results since the last user message. With a
        new message they only report how the run ended that this message interrupts.
Rule 4: ids on the wire are `<run>:<id>`, because clients append to messages whose id they know.
Rule 5: an invalid body raises `InvalidRequest`, which names the field.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any, Final, Literal, NamedTuple

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from mobox.errors import InvalidRequest, NotJson
from mobox.events import JSON, json_text
from mobox.events.turn import (
    Action,
    Answer,
    AnswerScope,
    ContextItem,
    Cut,
    Decision,
    Frontend,
    FrontendTool,
    Place,
    PromptData,
    PromptFile,
    PromptPart,
    PromptText,
    Request,
    UserMessage,
    WhenRunning,
    submission_key,
)
from mobox.formatters.ag_ui.documents import own_id
from mobox.formatters.bodies import (
    Id,
    PromptWire,
    TextPart,
    TypedPart,
    check_key,
    check_storable,
    convert,
    prompt_part,
)

# The body. Only fields that are used have a type: other fields may have any value.


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
    scope: AnswerScope | UnsetType = UNSET


class ResumeMetadata(Struct, frozen=True):
    mobox: Decided = Decided()


class ScopedPayload(Struct, frozen=True):
    """What a payload that approves may say beside it."""

    scope: AnswerScope | UnsetType = UNSET


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
    def scope(self) -> AnswerScope | UnsetType:
        """What an approval is for; a payload that decides may have it beside `approved`."""
        decided = self.metadata.mobox
        is_in_payload = decided.decision is None and self.decision in _ABOUT_CALLS
        if decided.scope or not is_in_payload or not isinstance(self.payload, dict):
            return decided.scope
        return convert("resume.payload", self.payload, ScopedPayload).scope

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
        is_edit = self.decision == "edited" and self.metadata.mobox.decision is None
        return self.payload if is_edit and isinstance(self.payload, dict) else None


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


class OwnProps(Struct, rename="camel"):
    """The fields of `forwardedProps` that Mobox reads."""

    agent: Id | None = None
    when_running: WhenRunning | None = None


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


class Source(Struct, rename="camel"):
    type: Literal["data", "url", "file"]
    value: str
    mime_type: str | None = None
    provider: str | None = None


class MediaPart(Struct):
    type: str
    source: Source
    metadata: JSON = None
    """What the client knows of it; `filename` is what CopilotKit calls the name of a file."""

    def neutral(self) -> PromptPart:
        source = self.source
        if source.type == "file":  # a provider's file id: there is no URL to read it from
            value = {"id": source.value, "provider": source.provider}
            return PromptData(name="file", value=value | {"mediaType": source.mime_type})
        media_type = source.mime_type or _MEDIA_TYPES.get(self.type, "application/octet-stream")
        is_url = source.type == "url"
        url = source.value if is_url else f"data:{media_type};base64,{source.value}"
        return PromptFile(media_type=media_type, url=url, name=self._name)

    @property
    def _name(self) -> str | None:
        name = self.metadata.get("filename") if isinstance(self.metadata, dict) else None
        return name if isinstance(name, str) else None


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

PROMPT_PARTS: Final[dict[str, type[PromptWire]]] = {
    "text": TextPart,
    "image": MediaPart,
    "audio": MediaPart,
    "video": MediaPart,
    "document": MediaPart,
    "binary": BinaryPart,
}


# Answers to interrupts

_ABOUT_CALLS: Final = {"approved", "edited", "denied"}
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


StoredMessages = Mapping[str, Sequence[PromptPart]]
"""The stored user messages, by their ids; the last ones are enough."""

_NO_HEADERS: Final[Mapping[str, str]] = {}
_PEOPLE: Final = {"user", "system", "developer"}
_INSTRUCTIONS: Final = _PEOPLE - {"user"}


def read_input(body: JSON) -> RunInput:
    """Convert the body, a value decoded by json_text, to its type."""
    check_storable(body)
    return convert("", in_camel_case(body), RunInput)


def prompts_of(run_input: RunInput) -> list[UserMessage]:
    """The user messages after the last message of the agent, oldest first."""
    return [_user_message(each) for each in _latest_user_messages(run_input.messages)]


def request_of(
    run_input: RunInput,
    stored: StoredMessages,
    idempotency_key: str | None = None,
    headers: Mapping[str, str] = _NO_HEADERS,
    prompts: Sequence[UserMessage] | None = None,
) -> Request:
    """The request for a thread whose user messages `stored` are known.

    `headers` are those that the agent gets with the other data of the page; `prompts` those of
    `prompts_of`, if something in them was replaced.
    """
    check_key(idempotency_key)
    request = _request(run_input, stored, prompts_of(run_input) if prompts is None else prompts)
    props = convert("forwardedProps", run_input.forwarded_props or {}, OwnProps)
    key = idempotency_key or submission_key(request)
    return replace(
        request,
        agent=props.agent,
        name=run_input.run_id,
        frontend=_frontend(run_input, headers),
        when_running=props.when_running,
        idempotency_key=key,
    )


def _request(
    run_input: RunInput, stored: StoredMessages, prompts: Sequence[UserMessage]
) -> Request:
    replies = [*_resumed(run_input.resume or ()), *_results(run_input.messages)]
    answers = tuple(reply.answer for reply in replies)
    if new := [message for message in prompts if message.id not in stored]:
        message = _joined(new)
        return Request(
            chat_id=run_input.thread_id, action=Action.SUBMIT, message=message, answers=answers
        )
    if answers and (run_input.resume or not prompts):
        run_id = next((reply.run_id for reply in replies if reply.run_id), None)
        return Request(
            chat_id=run_input.thread_id, action=Action.CONTINUE, run_id=run_id, answers=answers
        )
    if not prompts:
        raise InvalidRequest("messages", "expected a message of a user, or an answer, got neither")
    return _repeated(run_input, prompts[-1], stored)


def _repeated(run_input: RunInput, message: UserMessage, stored: StoredMessages) -> Request:
    is_same = tuple(stored[message.id]) == message.parts
    place = Place.AFTER if is_same else Place.BEFORE
    return Request(
        chat_id=run_input.thread_id,
        action=Action.REGENERATE if is_same else Action.EDIT,
        message=message,
        cut=Cut(place, message.id),
    )


# Messages


class _Located(NamedTuple):
    """A message and its place in the body."""

    path: str
    message: Message


def _latest_user_messages(messages: Sequence[Message]) -> list[_Located]:
    """The user messages after the last message of the agent, oldest first."""
    numbered = reversed([*enumerate(messages)])
    last = takewhile(lambda item: item[1].role in _PEOPLE, numbered)
    located = [_Located(f"messages[{index}]", message) for index, message in last]
    return [each for each in reversed(located) if each.message.role == "user"]


def _user_message(located: _Located) -> UserMessage:
    path, message = f"{located.path}.content", located.message
    return UserMessage(
        id=message.id, parts=_parts(path, message.content), metadata=message.metadata
    )


def _parts(path: str, content: JSON) -> tuple[PromptPart, ...]:
    if isinstance(content, str):
        return (PromptText(text=content),)
    parts = convert(path, content, list[JSON])
    if not parts:
        raise InvalidRequest(path, "expected at least one part, got none")
    located = [(f"{path}[{index}]", part) for index, part in enumerate(parts)]
    return tuple(
        prompt_part(place, part, convert(place, part, TypedPart).type, PROMPT_PARTS)
        for place, part in located
    )


def _joined(messages: Sequence[UserMessage]) -> UserMessage:
    """Several new messages are one turn, with the id of the last."""
    parts = tuple(part for message in messages for part in message.parts)
    last = messages[-1]
    return UserMessage(id=last.id, parts=parts, metadata=last.metadata)


# Answers


class _Reply(NamedTuple):
    """An answer, and its run, if its id names one."""

    answer: Answer
    run_id: str | None


def _resumed(entries: Sequence[Resume]) -> Iterator[_Reply]:
    for entry in entries:
        run_id, name = own_id(entry.interrupt_id)
        answer = Answer(
            decision=entry.decision,
            request_id=name,
            value=entry.value,
            reason=entry.reason,
            scope=entry.scope,
        )
        yield _Reply(answer, run_id)


def _results(messages: Sequence[Message]) -> Iterator[_Reply]:
    """Tool results since the user message before the last ones; older results are known."""
    numbered = [*enumerate(messages)]
    while numbered and numbered[-1][1].role in _PEOPLE:
        numbered.pop()
    recent = takewhile(lambda item: item[1].role not in _PEOPLE, reversed(numbered))
    for index, message in reversed([*recent]):
        if message.role == "tool":
            yield _result(f"messages[{index}]", message)


def _result(path: str, message: Message) -> _Reply:
    if message.tool_call_id is None:
        raise InvalidRequest(f"{path}.toolCallId", "expected a value, got none")
    run_id, call = own_id(message.tool_call_id)
    if message.error:
        return _Reply(Answer(decision="denied", tool_call_id=call, reason=message.error), run_id)
    value = _value(message.content)
    return _Reply(Answer(decision="answered", tool_call_id=call, value=value), run_id)


def _value(content: JSON) -> JSON:
    """The result of a tool: clients can send it only as text, even if it was not text."""
    if not isinstance(content, str) or content[:1] not in ("{", "["):
        return content
    try:
        return json_text.decode_json(content.encode())
    except NotJson:
        return content


# Agent, tools, context and state


def _frontend(run_input: RunInput, headers: Mapping[str, str]) -> Frontend:
    contents = [each.content for each in run_input.messages if each.role in _INSTRUCTIONS]
    return Frontend(
        tools=tuple(run_input.tools or ()),
        context=tuple(run_input.context or ()),
        state=run_input.state,
        instructions=tuple(text for text in contents if isinstance(text, str)),
        properties=run_input.forwarded_props or {},
        headers=dict(headers),
    )
