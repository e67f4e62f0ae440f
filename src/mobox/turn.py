"""What a person asks for and what an agent gets of it, whatever protocol they speak.

A protocol's requests.py makes a `Request` of what a frontend sent; the server applies it to the
stored chat and hands the agent a `Turn`.

Rule 1: the stored chat is the truth: a request says where to cut it, never what stood in it.
Rule 2: ids are the client's words: whether there is such a message or run, the store knows.
Rule 3: a client may repeat old answers and name calls that nobody asked about: an answer counts
        only for a request that is open.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Literal

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from mobox.events import JSON

__all__ = [
    "Action",
    "Answer",
    "ContextItem",
    "Cut",
    "Decision",
    "Frontend",
    "FrontendTool",
    "HistoryMessage",
    "Place",
    "PromptData",
    "PromptFile",
    "PromptPart",
    "PromptText",
    "Request",
    "Turn",
    "UserMessage",
    "submission_key",
    "with_reason",
]

Decision = Literal["approved", "denied", "edited", "answered", "cancelled"]


class PromptText(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="text"):
    """Words."""

    text: str


class PromptFile(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="file"):
    """A file that came with them."""

    media_type: str
    url: str
    """Its address, or the file itself as a `data:` URL."""
    name: str | None = None


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
        """Its words alone."""
        return _text_of(self.parts)


class HistoryMessage(Struct, frozen=True, kw_only=True):
    """One message of a chat: a user's has prompt parts, an assistant's those of its transcript."""

    id: str
    role: Literal["user", "assistant"]
    parts: tuple[JSON, ...] = ()


class Answer(Struct, frozen=True, kw_only=True):
    """What a person, or the client for them, said to a request of the agent."""

    decision: Decision
    """`answered` brings a `value`; `edited` approves with the changed input as its `value`;
    `denied` is a person's no or a tool that the client could not run, and `reason` says why.
    `approved` may have a reason too."""
    request_id: str | None = None
    """The request, where the client knows it; else the one that is open for the tool call."""
    tool_call_id: str | None = None
    value: JSON = None
    reason: str | None = None

    @property
    def approved(self) -> bool:
        """Whether the person said yes; if it is `edited`, to the input in `value`."""
        return self.decision in ("approved", "edited")


class FrontendTool(Struct, frozen=True, kw_only=True):
    """A tool that the page runs when the agent calls it."""

    name: str
    description: str = ""
    parameters: JSON = None
    """What it takes, as JSON Schema."""


class ContextItem(Struct, frozen=True, kw_only=True):
    """Something that the page says of itself."""

    description: str
    value: JSON = None


class Frontend(Struct, frozen=True, kw_only=True):
    """What the page brings along with a request; an agent uses it, or leaves it alone."""

    tools: tuple[FrontendTool, ...] = ()
    context: tuple[ContextItem, ...] = ()
    state: JSON = None
    """The state that page and agent share, as the page has it."""
    instructions: tuple[str, ...] = ()
    properties: dict[str, JSON] = field(default_factory=dict)
    """An application's own, under its own names."""


class Place(StrEnum):
    """Where a history is cut."""

    BEFORE = "before"
    """The message goes, and all that follows it."""
    AFTER = "after"
    """The message stays, and all that follows it goes."""
    ANSWER = "answer"
    """The client did not tell whose message it is: an answer goes, a question stays."""


class Cut(Struct, frozen=True):
    """What of the history is to go before the turn begins."""

    place: Place
    message_id: str | None = None
    """`None` is the last message."""

    def kept(self, history: Sequence[HistoryMessage]) -> int | None:
        """How many messages stay; `None` where the one it names is not there."""
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
    """What the person did."""

    SUBMIT = "submit"
    EDIT = "edit"
    REGENERATE = "regenerate"
    CONTINUE = "continue"


class Request(Struct, frozen=True, kw_only=True):
    """What a frontend asks for.

    ========== ============================================ ======================================
    action     `message`                                    `cut`
    ========== ============================================ ======================================
    submit     the new one                                  none
    edit       what replaces a message, maybe with a new id before the message that it replaces, a
                                                            user's; not stored yet: cuts nothing
    regenerate the one to answer, if the client told it;    the old answer, with all after it
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
    """The run to continue, which is the assistant message that is answered."""
    answers: tuple[Answer, ...] = ()
    """With a new message, what the client told of the run that this message cuts short."""
    name: str | None = None
    """What the client calls this request: by that it may ask for it again, or stop it."""
    frontend: Frontend | None = None
    idempotency_key: str | None = None
    extra: dict[str, JSON] = field(default_factory=dict)
    """What else the client sent, under its own names."""


class Turn(Struct, frozen=True, kw_only=True):
    """What an agent gets; every key is there when it is sent to a process."""

    prompt: tuple[PromptPart, ...] = ()
    """Empty where answers continue a run."""
    history: tuple[HistoryMessage, ...] = ()
    """What was said before the prompt."""
    answers: tuple[Answer, ...] = ()
    """To the requests of the last pause, in their order."""
    earlier_answers: tuple[Answer, ...] = ()
    """To those of earlier pauses of this run."""
    resume: JSON = None
    """What the agent gave when it paused."""
    frontend: Frontend | None = None
    """What the page brought along, where its protocol has words for that."""

    @property
    def text(self) -> str:
        """The prompt's words alone."""
        return _text_of(self.prompt)

    @property
    def is_resumed(self) -> bool:
        """Whether the run was executed before, and was answered."""
        return bool(self.answers or self.earlier_answers)


def with_reason(answer: Answer) -> Answer:
    """`answer` with its reason where it belongs: clients send it as the value, or within it."""
    if answer.reason or answer.decision not in ("approved", "denied"):
        return answer
    if isinstance(answer.value, str):
        return replace(answer, value=None, reason=answer.value or None)
    within = answer.value.get("reason") if isinstance(answer.value, dict) else None
    return replace(answer, reason=within) if isinstance(within, str) else answer


def submission_key(request: Request) -> str | None:
    """The idempotency key of a request that came without one.

    Only a new message has one, so that sending it twice is one turn; editing, regenerating and
    continuing are done again on purpose, with words that may be the same.
    """
    if request.action is not Action.SUBMIT or request.message is None:
        return None
    fields = [request.chat_id, request.message.id, request.message.parts]
    return hashlib.sha256(_canonical(fields)).hexdigest()


_canonical = msgspec.json.Encoder(order="sorted").encode


def _text_of(parts: Iterable[PromptPart]) -> str:
    return "\n".join(part.text for part in parts if isinstance(part, PromptText))
