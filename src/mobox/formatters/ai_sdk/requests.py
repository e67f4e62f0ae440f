"""The bodies that `useChat` posts, each as one `Request`.

Rule 1: of `messages` only the message that is acted on is read; the others are known by id and
        role. `message` is the last one, alone or after `messages`.
Rule 2: a new message, an edit and a continuation have one trigger. A `messageId` that names an
        assistant's message continues it, also when it is not the last; else the last message
        decides: an assistant's is continued, a user's is new, or an edit if there is a `messageId`.
Rule 3: clients cut `messages` themselves before they regenerate: a `messageId` that is not among
        them was an answer, and the last of them is answered again.
Rule 4: ids of calls and requests are `<message id>:<id>` on the wire. Only the id of the continued
        message is removed: an agent's own ids may have colons.
Rule 5: fields that are not Mobox's own are the page's, for the agent: extras.py.
Rule 6: an invalid body raises `InvalidRequest`, which names the field.

tests/formatters/bodies has what each version of the client really sends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from msgspec import Struct
from msgspec.structs import replace

from mobox.errors import InvalidRequest
from mobox.events import JSON
from mobox.events.turn import (
    Action,
    Answer,
    AnswerScope,
    Cut,
    Decision,
    Place,
    PromptData,
    PromptFile,
    PromptPart,
    Request,
    UserMessage,
    WhenRunning,
    submission_key,
)
from mobox.formatters.ai_sdk.extras import read_frontend
from mobox.formatters.ai_sdk.wire_ids import ASK_USER, WireIds
from mobox.formatters.bodies import (
    Id,
    PromptWire,
    TextPart,
    TypedPart,
    check_key,
    check_storable,
    convert,
    expected,
    prompt_part,
)

# The body. Only fields that are used have a type: other fields may have any value.


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
    when_running: WhenRunning | None = None
    approval_scopes: dict[str, AnswerScope] = {}
    """What approvals in this request are for, by their ids: clients cannot add fields to them."""


# Parts of a user's message


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


class AnswerPart(Protocol):
    def answer(self, ids: WireIds) -> Answer | None: ...


class Approval(Struct):
    id: str


class ApprovalResponse(Struct):
    id: str
    approved: bool
    reason: str | None = None


class RespondedPart(Struct, rename="camel"):
    tool_call_id: str
    approval: ApprovalResponse

    def answer(self, ids: WireIds) -> Answer | None:
        return Answer(
            decision="approved" if self.approval.approved else "denied",
            request_id=ids.own(self.approval.id),
            tool_call_id=ids.own(self.tool_call_id),
            reason=self.approval.reason,
        )


class OutputPart(Struct, rename="camel"):
    tool_call_id: str
    output: JSON = None
    approval: Approval | None = None
    provider_executed: bool | None = None
    preliminary: bool | None = None

    def answer(self, ids: WireIds) -> Answer | None:
        if self.provider_executed or self.preliminary:
            return None
        return Answer(
            decision="answered",
            request_id=ids.own(self.approval.id) if self.approval else None,
            tool_call_id=ids.own(self.tool_call_id),
            value=self.output,
        )


class FailedPart(Struct, rename="camel"):
    tool_call_id: str
    error_text: str
    approval: Approval | None = None
    provider_executed: bool | None = None

    def answer(self, ids: WireIds) -> Answer | None:
        if self.provider_executed:
            return None
        return Answer(
            decision="denied",
            request_id=ids.own(self.approval.id) if self.approval else None,
            tool_call_id=ids.own(self.tool_call_id),
            reason=self.error_text,
        )


class CalledPart(Struct, rename="camel"):
    """A tool call of whichever state."""

    state: str
    tool_call_id: str | None = None


class AskPart(Struct, rename="camel"):
    """A call of `ask_user` with an output: the answer to its request."""

    tool_call_id: str
    input: JSON = None
    output: JSON = None

    def answer(self, ids: WireIds) -> Answer | None:
        decision = _decision_of(self.output) if self._is_approval() else "answered"
        about = self.output if isinstance(self.output, dict) else {}
        reason = about.get("reason")
        return Answer(
            decision=decision,
            request_id=ids.request(self.tool_call_id),
            value=self.output if decision == "answered" else None,
            reason=reason if decision != "answered" and isinstance(reason, str) else None,
        )

    def _is_approval(self) -> bool:
        return isinstance(self.input, dict) and self.input.get("kind") == "approval"


class FailedAskPart(Struct, rename="camel"):
    """A call of `ask_user` that has failed: the person does not answer."""

    tool_call_id: str
    error_text: str

    def answer(self, ids: WireIds) -> Answer | None:
        request = ids.request(self.tool_call_id)
        return Answer(decision="denied", request_id=request, reason=self.error_text)


def _decision_of(output: JSON) -> Decision:
    """The decision about an approval; anything else answers in place of the call."""
    if isinstance(output, dict):
        output = output.get("approved")
    if isinstance(output, bool):
        return "approved" if output else "denied"
    return _WORDS.get(output, "answered") if isinstance(output, str) else "answered"


_WORDS: Final[dict[str, Decision]] = {"approve": "approved", "reject": "denied"}

ASK_ANSWERS: Final[dict[str, type[AnswerPart]]] = {
    "output-available": AskPart,
    "output-error": FailedAskPart,
}
"""By state, in any step: of several calls that make the same request, the last one counts."""

LASTING_ANSWERS: Final[dict[str, type[AnswerPart]]] = {"approval-responded": RespondedPart}
"""By state: an approval waits to be sent, in whichever step it was requested."""

ANSWERS: Final[dict[str, type[AnswerPart]]] = {
    **LASTING_ANSWERS,
    "output-available": OutputPart,
    "output-error": FailedPart,
}
"""By state, in the last step; in an earlier step an output is an old result."""


_NO_HEADERS: Final[Mapping[str, str]] = {}


class _Located(NamedTuple):
    """A message and its place in the body."""

    path: str
    message: Message


_Messages = Sequence[_Located]


def read_request(
    body: JSON, idempotency_key: str | None = None, headers: Mapping[str, str] = _NO_HEADERS
) -> Request:
    """Parse `body`, a value decoded by json_text; the key is from `Idempotency-Key`.

    `headers` are those that the agent gets with the other data of the page.
    """
    check_storable(body)
    read = convert("", body, Body)
    reader = _TRIGGERS.get(_OLDER_TRIGGERS.get(read.trigger, read.trigger))
    if reader is None:
        raise InvalidRequest("trigger", expected(_TRIGGERS, read.trigger))
    request = reader(read)
    extra = {name: body[name] for name in body if name not in Body.__struct_encode_fields__}
    check_key(idempotency_key)
    key = idempotency_key or submission_key(request)
    return replace(
        request,
        agent=read.agent,
        when_running=read.when_running,
        frontend=read_frontend(extra, headers),
        idempotency_key=key,
    )


# Actions


def _read_submission(body: Body) -> Request:
    messages = _locate(body)
    if not messages:
        raise InvalidRequest("messages", "expected at least one message, got none")
    named = _find(messages, body.message_id)
    target = messages[-1] if named is None or _is_users(messages[named]) else messages[named]
    reader = _ROLES.get(target.message.role)
    if reader is None:
        raise InvalidRequest(f"{target.path}.role", expected(_ROLES, target.message.role))
    return reader(body, target)


def _read_prompt(body: Body, prompt: _Located) -> Request:
    edited = body.message_id
    return Request(
        chat_id=body.id,
        action=Action.SUBMIT if edited is None else Action.EDIT,
        message=_user_message(prompt),
        cut=None if edited is None else Cut(Place.BEFORE, edited),
    )


def _read_continuation(body: Body, continued: _Located) -> Request:
    return Request(
        chat_id=body.id,
        action=Action.CONTINUE,
        run_id=continued.message.id,
        answers=_scoped(_answers(continued), body, WireIds(continued.message.id)),
    )


def _read_regeneration(body: Body) -> Request:
    cut, kept = _regeneration_cut(_locate(body), body.message_id)
    return Request(
        chat_id=body.id,
        action=Action.REGENERATE,
        message=_user_message(kept[-1]) if kept and _is_users(kept[-1]) else None,
        cut=cut,
    )


def _regeneration_cut(messages: _Messages, message_id: str | None) -> tuple[Cut, _Messages]:
    """Where to cut, and the `messages` before that."""
    named = _find(messages, message_id)
    if named is not None:
        stays = _is_users(messages[named])
        return Cut(Place.AFTER if stays else Place.BEFORE, message_id), messages[: named + stays]
    if not messages:
        return Cut(Place.ANSWER, message_id), ()
    if message_id is None:
        return Cut(Place.AFTER, messages[-1].message.id), messages
    return Cut(Place.BEFORE, message_id), messages


def _locate(body: Body) -> _Messages:
    numbered = enumerate(body.messages or ())
    located = [_Located(f"messages[{index}]", message) for index, message in numbered]
    return [*located, _Located("message", body.message)] if body.message else located


def _find(messages: _Messages, message_id: str | None) -> int | None:
    places = [index for index, (_, message) in enumerate(messages) if message.id == message_id]
    return places[-1] if places else None


def _is_users(located: _Located) -> bool:
    return located.message.role == "user"


_TRIGGERS: Final[dict[str, Callable[[Body], Request]]] = {
    "submit-message": _read_submission,
    "regenerate-message": _read_regeneration,
}
_OLDER_TRIGGERS: Final = {
    "submit-user-message": "submit-message",
    "submit-tool-result": "submit-message",
    "regenerate-assistant-message": "regenerate-message",
}
"""Names that the client's guides still use, in transports that build the body themselves."""
_ROLES: Final[dict[str, Callable[[Body, _Located], Request]]] = {
    "user": _read_prompt,
    "assistant": _read_continuation,
}


# Messages and answers


class _Part(NamedTuple):
    path: str
    kind: str
    value: JSON


def _parts(located: _Located) -> list[_Part]:
    numbered = enumerate(located.message.parts)
    paths = [(f"{located.path}.parts[{index}]", part) for index, part in numbered]
    return [_Part(path, convert(path, part, TypedPart).type, part) for path, part in paths]


def _user_message(located: _Located) -> UserMessage:
    path, message = located
    if not message.parts:
        raise InvalidRequest(f"{path}.parts", "expected at least one part, got none")
    parts = tuple(map(_prompt_part, _parts(located)))
    return UserMessage(id=message.id, parts=parts, metadata=message.metadata)


def _prompt_part(part: _Part) -> PromptPart:
    kind = "data-" if part.kind.startswith("data-") else part.kind
    return prompt_part(part.path, part.value, kind, PROMPT_PARTS)


def _answers(located: _Located) -> tuple[Answer, ...]:
    """The approvals of a message, and the outputs of its last step.

    Clients look back that far when they decide whether to send automatically. The outputs of the
    agent's own tools look like those of the client's: the server knows which it requested.
    """
    parts = _parts(located)
    steps = [index for index, part in enumerate(parts) if part.kind == "step-start"]
    last_step = steps[-1] if steps else 0
    ids = WireIds(located.message.id)
    answers = dict(
        _answer(part, ids, in_last_step=index >= last_step)
        for index, part in enumerate(parts)
        if part.kind == "dynamic-tool" or part.kind.startswith("tool-")
    )
    return tuple(answer for answer in answers.values() if answer is not None)


def _scoped(answers: tuple[Answer, ...], body: Body, ids: WireIds) -> tuple[Answer, ...]:
    """The answers, each with the scope that the body has for its request or its call."""
    scopes = {ids.request(name): scope for name, scope in body.approval_scopes.items()}
    return tuple(
        replace(answer, scope=scopes[name]) if (name := answer.request_id) in scopes else answer
        for answer in answers
    )


def _answer(part: _Part, ids: WireIds, in_last_step: bool) -> tuple[str, Answer | None]:
    """The answer of a part, if it has one, and the path or the request by which it counts."""
    called = convert(part.path, part.value, CalledPart)
    answers = ANSWERS if in_last_step else LASTING_ANSWERS
    counts_for = part.path
    # An agent may have a tool of that name too.
    if part.kind == f"tool-{ASK_USER}" and (asked := ids.asked(called.tool_call_id or "")):
        answers, counts_for = ASK_ANSWERS, asked
    wire = answers.get(called.state)
    return counts_for, None if wire is None else convert(part.path, part.value, wire).answer(ids)
