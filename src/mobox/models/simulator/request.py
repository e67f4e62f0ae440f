"""A request to a model, the same for every wire format: what is asked, offered and already done."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from functools import cached_property
from itertools import groupby
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

NOT_A_PROMPT: Final = re.compile(
    r"<(system-reminder|task-notification|command-\w+|local-command-\w+)>.*?</\1>"  # Claude Code
    r"|^Continue from where you left off\.$"  # Claude Code: it goes on with a deferred call
    r"|^For context:.*"  # ADK: what another agent did
    # smolagents: the result of a call, or why it failed; the next task may be in the same message
    r"|^(?:Observation:|Call id: |Error:\n).*?(?=\nNew task:|\Z)",
    re.DOTALL,
)
"""What frameworks write into user messages themselves."""
MANAGED: Final = re.compile(
    r"You're a helpful agent named '\w+'\.\n.*?\nTask:\n(.*?)\n---\n", re.DOTALL
)
"""smolagents: the task of a managed agent, with instructions around it."""
TOLD_CALLS: Final = re.compile(r"'function': \{'name': '(\w+)'")
"""smolagents: calls that an assistant message tells in its text."""


class Offered(Struct, frozen=True):
    """A tool of the client."""

    name: str
    description: str = ""
    schema: dict[str, Any] = {}


class Call(Struct, frozen=True):
    """A call that an earlier response made."""

    id: str
    name: str
    input: Any = None
    """A dict, or JSON text."""


class Result(Struct, frozen=True):
    """The result of a call."""

    id: str
    text: str


class Message(Struct, frozen=True):
    """One message of the conversation; a user's may only carry results."""

    role: Literal["user", "assistant"]
    text: str = ""
    calls: tuple[Call, ...] = ()
    results: tuple[Result, ...] = ()


class Earlier(Struct, frozen=True, array_like=True):
    """What is known of the responses before, where a request names the last one by its id only."""

    first: str
    prompt: str
    turn: int
    calls: tuple[str, ...] = ()
    """Names of the calls since the prompt."""


class Request(Struct, frozen=True, kw_only=True, dict=True):
    """A request, without what only its wire format needs."""

    model: str
    system: str = ""
    messages: tuple[Message, ...] = ()
    tools: tuple[Offered, ...] = ()
    server_tools: frozenset[str] = frozenset()
    """The names of the provider's own tools that it may use, as in a script."""
    choice: str = "auto"
    """auto, none, any (it must call a tool), or the name of the tool to call."""
    schema: dict[str, Any] | None = None
    """The answer is JSON of this schema."""
    stream: bool = False
    thinks: bool = False
    max_tokens: int | None = None
    tries: int = 0
    """How often the client has tried it before."""
    tokens: int = 0
    """An estimate of its size."""
    earlier: Earlier | None = None

    @cached_property
    def first(self) -> str:
        """The first user message."""
        if self.earlier is not None:
            return self.earlier.first
        return next((m.text for m in self.messages if m.role == "user" and m.text), "")

    @cached_property
    def prompt(self) -> str:
        """What the user asked last."""
        for message in reversed(self.messages):
            if message.role == "user" and (text := prompt_in(message.text)):
                return text
        return self.earlier.prompt if self.earlier is not None else ""

    @cached_property
    def turn(self) -> int:
        """The number of assistant messages; adjacent ones are one, as a provider reads them."""
        before = self.earlier.turn if self.earlier is not None else 0
        return before + sum(role == "assistant" for role, _ in groupby(self.messages, _role))

    @cached_property
    def since(self) -> tuple[Message, ...]:
        """The messages after the last prompt."""
        for place in range(len(self.messages) - 1, -1, -1):
            if self.messages[place].role == "user" and prompt_in(self.messages[place].text):
                return self.messages[place + 1 :]
        return self.messages

    @cached_property
    def called(self) -> tuple[str, ...]:
        """The names of the tools called since the last prompt, in order."""
        has_prompt = len(self.since) < len(self.messages)
        before = () if has_prompt or self.earlier is None else self.earlier.calls
        return before + tuple(name for message in self.since for name in _called_in(message))

    @cached_property
    def results(self) -> tuple[tuple[str, str], ...]:
        """The tools called since the last prompt and the texts of their results."""
        names = {call.id: call.name for message in self.since for call in message.calls}
        return tuple(
            (names.get(result.id, ""), result.text)
            for message in self.since
            for result in (*message.results, *_observed(message))
        )

    @cached_property
    def digest(self) -> str:
        """A hash of the conversation, for ids: the same request gets the same ids."""
        about = (self.earlier, self.messages, [tool.name for tool in self.tools], self.schema)
        return hashlib.sha256(msgspec.json.encode(about)).hexdigest()

    def id_of_response(self, prefix: str, calls: tuple[str, ...]) -> str:
        """An id that says what `Earlier` needs when a later request names it."""
        called = (*self.called, *calls)
        known = Earlier(self.first[:200], self.prompt[:200], self.turn + 1, called)
        packed = base64.b32hexencode(msgspec.json.encode(known)).decode().rstrip("=").lower()
        return f"{prefix}{self.digest[:24]}_{packed}"


def earlier_of(response_id: str) -> Earlier | None:
    """What the id of a response says; `None` if it is not one of the simulator's."""
    packed = response_id.rpartition("_")[2].upper()
    try:
        data = base64.b32hexdecode(packed + "=" * (-len(packed) % 8))
        return msgspec.json.decode(data, type=Earlier)
    except (ValueError, msgspec.DecodeError):
        return None


def prompt_in(text: str) -> str:
    """A user message without what its framework added."""
    prompt = NOT_A_PROMPT.sub("", text).strip().removeprefix("New task:").strip()
    managed = MANAGED.match(prompt)
    return managed[1].strip() if managed else prompt


def _observed(message: Message) -> Iterator[Result]:
    if message.role == "user" and message.text.startswith("Observation:"):
        told = message.text.partition("\nNew task:")[0]
        yield Result("", told.removeprefix("Observation:").strip())


def _called_in(message: Message) -> list[str]:
    told = message.text if message.role == "assistant" else ""
    return [*(call.name for call in message.calls), *TOLD_CALLS.findall(told)]


def _role(message: Message) -> str:
    return message.role


def tokens_in(text: str) -> int:
    """An estimate of the tokens of a text."""
    return (len(text) + 3) // 4


def text_of(content: Any) -> str:
    """The texts in a message's content, which may be a string or a list of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        content = [content]
    if not isinstance(content, list):
        return ""
    texts = (each if isinstance(each, str) else _part_text(each) for each in content)
    return "\n".join(text for text in texts if text)


def _part_text(part: Any) -> str:
    if not isinstance(part, dict):
        return ""
    text = part.get("text")
    return text if isinstance(text, str) else ""
