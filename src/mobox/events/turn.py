"""A client's request and the turn that an agent gets, independent of the protocol.

A protocol's requests.py parses the body that a frontend sent into a `Request`; the server applies
it to the stored chat and gives the agent a `Turn`.

Rule 1: the stored chat is the source of truth: a request states where to cut it, not what is in it.
Rule 2: ids come from the client: only the store knows whether such a message or run exists.
Rule 3: a client may repeat old answers and name calls without a request: an answer counts only for
        an open request.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Final, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType, field
from msgspec.structs import replace

from mobox.events import JSON, InputRequest

Decision = Literal["approved", "denied", "edited", "answered", "cancelled"]

AnswerScope = Literal["once", "chat", "chat_input"]
"""What an approval is for: this call; all calls of this tool in this chat; those of them with
exactly this input."""


WhenRunning = Literal["auto", "interrupt", "reject"]
"""What becomes of a new message while a run of its chat is running: it stops the run, or is
refused; `auto` interrupts a run that its clients have left."""


TurnKind = Literal["message", "edit", "regenerate", "retry", "answers"]
"""Why an agent is called: a new message; one that replaces another, which is answered once more; a
message whose answer is made once more, because it is wanted again or because it was lost or failed;
answers to input requests."""


class PromptText(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="text"):
    """Text."""

    text: str


class PromptFile(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="file"):
    """An attached file."""

    media_type: str
    url: str
    """Its address, or the file itself as a `data:` URL."""
    name: str | None = None
    file_id: str | None = None
    """The id of the stored file, if it is one; `url` is then its path on this server."""
    path: str | None = None
    """In a turn: where the file is in the state folder of the chat, if it is there."""


class PromptData(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="data"):
    """An application's own."""

    name: str
    value: JSON = None
    id: str | None = None


PromptPart = PromptText | PromptFile | PromptData


class UserMessage(Struct, frozen=True, kw_only=True):
    """A message as a client sent it, under the id the client gave it."""

    id: str
    parts: tuple[PromptPart, ...]
    metadata: JSON = None

    @property
    def text(self) -> str:
        """Its text only."""
        return _text_of(self.parts)


class HistoryMessage(Struct, frozen=True, kw_only=True):
    """One message of a chat: a user's has prompt parts, an assistant's those of its transcript."""

    id: str
    role: Literal["user", "assistant"]
    parts: tuple[JSON, ...] = ()


class Answer(Struct, frozen=True, kw_only=True):
    """The answer of a person, or of the client for them, to a request of the agent."""

    decision: Decision
    """`answered` brings a `value`; `edited` approves with the changed input as its `value`;
    `denied` is a person's no or a tool that the client could not run, for the `reason`.
    `approved` may have a reason too."""
    request_id: str | None = None
    """The request's id, if the client knows it; else the open request of the tool call."""
    tool_call_id: str | None = None
    value: JSON = None
    reason: str | None = None
    scope: AnswerScope | UnsetType = UNSET
    """What an `approved` is for, by default `once`. An agent does not get it."""

    @property
    def approved(self) -> bool:
        """Whether the person approved; if it is `edited`, the input in `value`."""
        return self.decision in ("approved", "edited")


class FrontendTool(Struct, frozen=True, kw_only=True):
    """A tool that the page runs when the agent calls it."""

    name: str
    description: str = ""
    parameters: JSON = None
    """Its input as JSON Schema."""


class ContextItem(Struct, frozen=True, kw_only=True):
    """A piece of context from the page."""

    description: str
    value: JSON = None


class Frontend(Struct, frozen=True, kw_only=True):
    """What the page sends along with a request; an agent may use or ignore it."""

    tools: tuple[FrontendTool, ...] = ()
    context: tuple[ContextItem, ...] = ()
    state: JSON = None
    """The state that page and agent share, as the page has it."""
    instructions: tuple[str, ...] = ()
    properties: dict[str, JSON] = field(default_factory=dict)
    """An application's own, under its own names."""
    body: dict[str, JSON] = field(default_factory=dict)
    """The other fields of an AI SDK request."""
    headers: dict[str, str] = field(default_factory=dict)
    """The request's headers that the server forwards, by their names in lower case."""


class Place(StrEnum):
    """Where a history is cut."""

    BEFORE = "before"
    """The message goes, and all that follows it."""
    AFTER = "after"
    """The message stays, and all that follows it goes."""
    ANSWER = "answer"
    """The client did not send the role of the message: an answer goes, a user's message stays."""


class Cut(Struct, frozen=True):
    """Which messages to remove from the history before the turn starts."""

    place: Place
    message_id: str | None = None
    """`None` is the last message."""

    def kept(self, history: Sequence[HistoryMessage]) -> int | None:
        """How many messages stay; `None` if the named message does not exist."""
        index = self._index(history)
        if index is None:
            return None
        is_question = history[index].role == "user"
        stays = is_question if self.place is Place.ANSWER else self.place is Place.AFTER
        return index + stays

    def _index(self, history: Sequence[HistoryMessage]) -> int | None:
        if self.message_id is None:
            return len(history) - 1 if history else None
        ids = [message.id for message in history]
        return ids.index(self.message_id) if self.message_id in ids else None


class Action(StrEnum):
    """What the person did in the client."""

    SUBMIT = "submit"
    EDIT = "edit"
    REGENERATE = "regenerate"
    CONTINUE = "continue"


class Request(Struct, frozen=True, kw_only=True):
    """What a frontend requests.

    ========== ============================================ ======================================
    action     `message`                                    `cut`
    ========== ============================================ ======================================
    submit     the new one                                  none
    edit       what replaces a message, maybe with a new id before the message that it replaces, a
                                                            user's; not stored yet: cuts nothing
    regenerate the one to answer, if the client sent it;    the old answer, with all after it
               the store's wins, but after a failed POST
               the store has none
    continue   none                                         none
    ========== ============================================ ======================================
    """

    chat_id: str
    action: Action
    agent: str | None = None
    message: UserMessage | None = None
    cut: Cut | None = None
    run_id: str | None = None
    """The run to continue: the assistant message with the answered requests."""
    answers: tuple[Answer, ...] = ()
    """Answers; with a new message, those to the run that this message interrupts."""
    name: str | None = None
    """The client's id of this request, by which it may resume or stop it."""
    frontend: Frontend | None = None
    when_running: WhenRunning | None = None
    """What to do if a run of the chat is running; `None` is the server's setting."""
    idempotency_key: str | None = None


class Turn(Struct, frozen=True, kw_only=True):
    """The input of an agent; every key is present when it is sent to a process."""

    kind: TurnKind = "message"
    """Why the agent is called. An agent with a memory of its own needs it, to store nothing twice.
    """
    chat_id: str = ""
    run_id: str = ""
    attempt: int = 1
    """How often this run was executed, with this time."""
    owner: str = ""
    parent: str | None = None
    """The message before the prompt in this branch of the chat: the run whose answer it follows."""
    back_to: str | None = None
    """The user message to which an edit, a regeneration or a retry goes back."""
    prompt: tuple[PromptPart, ...] = ()
    """Empty where answers continue a run."""
    history: tuple[HistoryMessage, ...] = ()
    """The messages before the prompt."""
    answers: tuple[Answer, ...] = ()
    """Answers to the requests of the last pause, in their order."""
    earlier_answers: tuple[Answer, ...] = ()
    """Answers to the requests of earlier pauses of this run."""
    resume: JSON = None
    """The `resume` value that the agent emitted when it paused."""
    frontend: Frontend | None = None
    """What the page sent along, if its protocol supports that."""

    @property
    def text(self) -> str:
        """The prompt's text only."""
        return _text_of(self.prompt)

    @property
    def is_resumed(self) -> bool:
        """Whether the run was executed before, and was answered."""
        return bool(self.answers or self.earlier_answers)


def with_reason(answer: Answer) -> Answer:
    """`answer` with its reason in `reason`: clients send it as the value, or within it."""
    if answer.reason or answer.decision not in ("approved", "denied"):
        return answer
    if isinstance(answer.value, str):
        return replace(answer, value=None, reason=answer.value or None)
    within = answer.value.get("reason") if isinstance(answer.value, dict) else None
    return replace(answer, reason=within) if isinstance(within, str) else answer


def submission_key(request: Request) -> str | None:
    """The idempotency key of a request that came without one.

    Only a new message has one, so that sending it twice is one turn; edits, regenerations and
    continuations may be repeated on purpose, with the same text.
    """
    if request.action is not Action.SUBMIT or request.message is None:
        return None
    fields = [request.chat_id, request.message.id, request.message.parts]
    return hashlib.sha256(msgspec.json.encode(fields, order="sorted")).hexdigest()


def _text_of(parts: Iterable[PromptPart]) -> str:
    return "\n".join(part.text for part in parts if isinstance(part, PromptText))


# What a person may decide about an approval

DECISIONS: Final = {
    "approve": "approved",
    "edit": "edited",
    "reject": "denied",
    "respond": "answered",
}
"""Decisions by the name that allows them: `edit` approves with a changed input, the answer's value;
`respond` answers in place of the tool. An agent lists the allowed names in its request; without a
list a person may approve and reject."""

_USUAL: Final = ("approve", "reject")
_NOT_APPROVALS: Final = ("approve", "reject", "respond")


def allowed_words(request: InputRequest) -> tuple[str, ...]:
    """The allowed decisions, in the order of the table."""
    if request.kind != "approval":
        return _NOT_APPROVALS
    return tuple(word for word in DECISIONS if word in request.allowed) or _USUAL


def allowed_decisions(request: InputRequest) -> tuple[str, ...]:
    """The decisions that an answer may have; a request with its own form takes `answered`."""
    decisions = [DECISIONS[word] for word in allowed_words(request)]
    if request.schema is not None and "answered" not in decisions:
        decisions.append("answered")
    return (*decisions, "cancelled")
