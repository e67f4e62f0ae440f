"""The conversation of a turn for a model: history and prompt, plain or in a provider's own JSON.

    turn.messages()                    role and text, with files and tool calls where there are any
    turn.messages(style="anthropic")   messages of the Messages API
    turn.messages(style="openai")      messages of chat completions
    turn.messages(style="responses")   input items of OpenAI's Responses API
    turn.messages(style="gemini")      contents of generateContent

Rule 1: what is said, and by whom, is the same in all of them: said.py.
Rule 2: nothing is dropped silently: what a style cannot say is a short text, or is counted, and
        `render` returns a note about it.
Rule 3: what a style returns is valid for its provider: roles, ids, names, a result for each call.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from . import anthropic, gemini, openai, responses
from .notes import Notes
from .said import Call, File, Message, Part, Text, conversation

__all__ = ["STYLES", "render"]

Writer = Callable[["list[Message]", Notes], "list[dict[str, Any]]"]

STYLES: dict[str, Writer] = {
    "anthropic": anthropic.write,
    "gemini": gemini.write,
    "openai": openai.write,
    "responses": responses.write,
}


def render(
    history: Iterable[Part], prompt: Iterable[Part], style: str | None = None
) -> tuple[list[dict[str, Any]], str]:
    """The messages in a style, and a sentence about what it could not say; empty if nothing."""
    if style is None:
        return _plain(history, prompt), ""
    if style not in STYLES:
        raise ValueError(f"unknown style {style!r}; known: {', '.join(STYLES)}")
    notes: Notes = Counter()
    written = STYLES[style](conversation(history, prompt), notes)
    listed = ", ".join(f"{count} x {what}" if count > 1 else what for what, count in notes.items())
    return written, f"messages(style={style!r}): not sent to the model: {listed}" if listed else ""


def _plain(history: Iterable[Part], prompt: Iterable[Part]) -> list[dict[str, Any]]:
    """A message of each role at a time: the rounds of one answer are one message."""
    joined: list[Message] = []
    for message in conversation(history, prompt):
        if joined and joined[-1].role == message.role == "assistant":
            joined[-1].items.extend(message.items)
        else:
            joined.append(message)
    written = [_plain_message(message) for message in joined]
    return [each for each in written if len(each) > 2 or each["content"]]


def _plain_message(message: Message) -> dict[str, Any]:
    texts = [item.text for item in message.items if isinstance(item, Text)]
    calls = [item for item in message.items if isinstance(item, Call)]
    files = [item for item in message.items if isinstance(item, File)]
    files += [file for call in calls for file in call.files]
    plain: dict[str, Any] = {"role": message.role, "content": "\n".join(texts)}
    if files:
        plain["files"] = [_plain_file(file) for file in files]
    if calls:
        plain["tool_calls"] = [_plain_call(call) for call in calls]
    return plain


def _plain_call(call: Call) -> dict[str, Any]:
    return {name: getattr(call, name) for name in ("id", "name", "input", "output", "status")}


def _plain_file(file: File) -> dict[str, Any]:
    url = file.data_url if file.data is not None else file.url
    about = {"media_type": file.media_type, "url": url, "name": file.name, "size": file.size}
    return {name: value for name, value in about.items() if value is not None}
