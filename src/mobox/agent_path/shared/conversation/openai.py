"""Messages of OpenAI's chat completions, which many providers accept.

An assistant's message has its text and its calls; each result is a message of the role `tool`, with
text only. Files can be in a user's message.
"""

from __future__ import annotations

import json
from typing import Any

from .notes import Ids, Notes, label, served, thought, tool_name
from .said import Call, File, Item, Message, Text, Thought

IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")
PDF = "application/pdf"
SOUNDS = {
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/wave": "wav",
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
}
VENDOR = "openai"


def write(messages: list[Message], notes: Notes) -> list[dict[str, Any]]:
    """The messages; every call is followed by its result."""
    ids, written = Ids(), []
    for message in messages:
        if message.role == "user":
            written.append({"role": "user", "content": _content(message.items, notes)})
        else:
            written += _answer(message, ids, notes)
    return written


def _answer(message: Message, ids: Ids, notes: Notes) -> list[dict[str, Any]]:
    texts = [text for item in message.items for text in answer_texts(item, notes)]
    names = [ids.take(call.id) for call in message.calls]
    answer: dict[str, Any] = {"role": "assistant", "content": "\n".join(texts) or None}
    details = [each for item in message.items for each in _details(item, notes)]
    if details:
        answer["reasoning_details"] = details
    if names:
        answer["tool_calls"] = [_call(*each) for each in zip(message.calls, names)]
    results = [
        {"role": "tool", "tool_call_id": name, "content": result_text(call, notes)}
        for call, name in zip(message.calls, names)
    ]
    return [answer, *results] if texts or names else []


def answer_texts(item: Item, notes: Notes) -> list[str]:
    """The texts of an answer's item; a call that the agent makes and a thought have none."""
    if isinstance(item, Text):
        return [item.text]
    if isinstance(item, File):
        return [label(item, notes)]
    if isinstance(item, Thought) or not item.server:
        return []
    return [served(item, notes)]


def _details(item: Item, notes: Notes) -> list[Any]:
    """Signed thoughts, as some providers of this API have them."""
    if not isinstance(item, Thought):
        return []
    details = ((item.provider or {}).get(VENDOR) or {}).get("reasoning_details")
    if isinstance(details, list) and details:
        return details
    thought(notes)
    return []


def _call(call: Call, name: str) -> dict[str, Any]:
    arguments = json.dumps(call.input, ensure_ascii=False)
    function = {"name": tool_name(call.name), "arguments": arguments}
    return {"id": name, "type": "function", "function": function}


def result_text(call: Call, notes: Notes) -> str:
    """A result as text; files in it are short texts."""
    told = [label(each, notes) if isinstance(each, File) else each.text for each in call.result()]
    return "\n".join(told)


def _content(items: list[Item], notes: Notes) -> str | list[dict[str, Any]]:
    parts = [_part(item, notes) for item in items]
    if all(part["type"] == "text" for part in parts):
        return "\n".join(part["text"] for part in parts)
    return parts


def _part(item: Item, notes: Notes) -> dict[str, Any]:
    if isinstance(item, File):
        return _file(item) or _text(text_of_file(item) or label(item, notes))
    assert isinstance(item, Text)  # a person neither thinks nor calls here
    return _text(item.text)


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def text_of_file(file: File) -> str | None:
    """A text file with its name; `None` if it is none."""
    words = file.words()
    return None if words is None else f"[file {file.name or file.media_type}]\n{words}"


def _file(file: File) -> dict[str, Any] | None:
    if file.media_type in IMAGES and (file.data is not None or file.web_url):
        url = file.data_url if file.data is not None else file.web_url
        return {"type": "image_url", "image_url": {"url": url}}
    if file.data is None:
        return None
    if file.media_type == PDF:
        about = {"filename": file.name or "file.pdf", "file_data": file.data_url}
        return {"type": "file", "file": about}
    if file.media_type in SOUNDS:
        sound = {"data": file.data, "format": SOUNDS[file.media_type]}
        return {"type": "input_audio", "input_audio": sound}
    return None
