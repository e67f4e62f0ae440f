"""The answer to one request: the steps of its turn, before a wire format is chosen.

Each wire format gives an answer in two ways: `whole`, one JSON document, and `events`, a stream.
Both come from the same steps, so a client gets the same of both.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, Final, Literal, NamedTuple, Protocol

import msgspec
from msgspec import Struct

from mobox.models.simulator.request import Request, tokens_in
from mobox.models.simulator.script import (
    Break,
    Cite,
    Content,
    Cut,
    Fail,
    File,
    MaxTokens,
    Refuse,
    ServerTool,
    Stall,
    Step,
    Text,
    Think,
    Tool,
    Turn,
    Usage,
    Wait,
)

CREATED: Final = 1763200000
"""When every response was made: the same request gets the same bytes."""
PIECE: Final = re.compile(r"\s*\S{1,12}|\s+$")

Ending = Literal["stop", "tool", "max_tokens", "refuse", "malformed"]
Document = dict[str, Any]


class Tokens(NamedTuple):
    """The usage of an answer."""

    input: int
    output: int
    cached: int
    cache_write: int
    reasoning: int


class Answer(Struct, frozen=True, kw_only=True, dict=True):
    """What is sent in response to a request."""

    request: Request
    steps: tuple[Content | Wait | Refuse, ...]
    ending: Ending = "stop"
    breaks: Break | None = None
    """What breaks the answer off; the last step then stays unfinished."""
    usage: Usage = Usage()

    @property
    def content(self) -> Iterator[Content | Refuse]:
        """The steps that are part of the message."""
        return (step for step in self.steps if not isinstance(step, Wait))

    @property
    def calls(self) -> tuple[str, ...]:
        """The names of the tools that it calls."""
        return tuple(step.name for step in self.steps if isinstance(step, Tool))

    @cached_property
    def tokens(self) -> Tokens:
        """What the script says; the rest is estimated."""
        reasoning = self.usage.reasoning
        if reasoning is None:
            reasoning = sum(tokens_in(step.text) for step in self.steps if isinstance(step, Think))
        written = sum(tokens_in(text_in(step)) for step in self.content)
        given = self.usage
        return Tokens(
            input=self.request.tokens if given.input is None else given.input,
            output=max(1, written) if given.output is None else given.output,
            cached=given.cached,
            cache_write=given.cache_write,
            reasoning=reasoning,
        )

    def id(self, prefix: str, place: int | None = None) -> str:
        """An id for the response, or for its part at `place`."""
        number = "" if place is None else f"{place:02x}"
        return f"{prefix}{self.request.digest[:24]}{number}"

    def call_id(self, step: Tool | ServerTool, prefix: str, place: int) -> str:
        """The id of a call: the script's, or one of the provider's form."""
        return step.id or self.id(prefix, place)

    def is_unfinished(self, place: int) -> bool:
        """Whether the step at `place` is broken off."""
        return self.breaks is not None and place == len(self.steps) - 1


def answer(request: Request, turn: Turn) -> Answer:
    """The answer that a turn gives to a request."""
    steps: list[Content | Wait | Refuse] = []
    usage = Usage()
    end: Step | None = None
    for step in turn:
        if isinstance(step, Usage):
            usage = step
        elif end is not None:
            break
        elif isinstance(step, Fail | Cut | Stall | Refuse | MaxTokens):
            end = None if _is_over(step, request) else step
        else:
            steps.append(step)
    if isinstance(end, Refuse):
        steps.append(end)
    return Answer(
        request=request,
        steps=tuple(steps),
        ending=_ending(steps, end),
        breaks=end if isinstance(end, Fail | Cut | Stall) else None,
        usage=usage,
    )


def _is_over(step: Step, request: Request) -> bool:
    return isinstance(step, Fail) and step.times is not None and request.tries >= step.times


def _ending(steps: list[Content | Wait | Refuse], end: Step | None) -> Ending:
    if isinstance(end, MaxTokens):
        return "max_tokens"
    if isinstance(end, Refuse):
        return "refuse"
    calls = [step for step in steps if isinstance(step, Tool)]
    if any(call.malformed is not None for call in calls):
        return "malformed"
    return "tool" if calls else "stop"


def text_in(step: Content | Refuse) -> str:
    """What of a step counts as the model's output."""
    match step:
        case Think() | Text() | Cite() | Refuse():
            return step.text
        case Tool():
            return step.name + input_text(step)
        case ServerTool():
            return step.input
        case File():
            return step.data


def input_text(step: Tool) -> str:
    """The input of a call as JSON text, or as the script spoils it."""
    if step.malformed is not None:
        return step.malformed
    return json_text(step.input)


def json_text(value: Any) -> str:
    """A value as JSON."""
    return msgspec.json.encode(value).decode()


def pieces(text: str) -> list[str]:
    """The text in the pieces in which it is streamed, about a word each."""
    return PIECE.findall(text)


def signature(text: str) -> str:
    """The signature of a thought; the same text has the same."""
    return base64.b64encode(hashlib.sha384(text.encode()).digest()).decode()


# What a wire format sends


class Event(NamedTuple):
    """One event of a stream."""

    data: Document
    tokens: int = 0
    """The tokens that the model has written for it."""


Streamed = Event | Wait


class Reply(NamedTuple):
    """A response with a document: an error, or what no model answers."""

    status: int
    headers: Mapping[str, str]
    body: Document


class Api(Protocol):
    """A provider's wire format."""

    def read(self, body: Document, path: str) -> Request:
        """The request; raises `InvalidRequest`."""

    def whole(self, given: Answer) -> Document:
        """The answer as one document."""

    def events(self, given: Answer) -> Iterator[Streamed]:
        """The answer as a stream, up to where it breaks off."""

    def broken(self, fail: Fail, given: Answer) -> list[Document]:
        """The events of an error in the stream."""

    def failure(self, fail: Fail, given_id: str) -> Reply:
        """A response with a document: an error, or what no model answers."""

    def frame(self, event: Document) -> bytes:
        """An event in its bytes."""

    def headers(self, given_id: str) -> dict[str, str]:
        """The headers of every response."""

    last: bytes
    """What the stream ends with."""


def sse(event: Document) -> bytes:
    """An event of a stream that names no event types."""
    return b"data: %b\n\n" % msgspec.json.encode(event)


def named_sse(event: Document) -> bytes:
    """An event with its type as the event's name."""
    return b"event: %b\n%b" % (event["type"].encode(), sse(event))


def streamed(text: str, event: Callable[[str], Document]) -> Iterator[Event]:
    """An event for each piece of a text."""
    for piece in pieces(text):
        yield Event(event(piece), max(1, tokens_in(piece)))


def retry_after(fail: Fail) -> dict[str, str]:
    """The header that says when to try again."""
    return {} if fail.retry_after is None else {"retry-after": f"{fail.retry_after:g}"}
