"""Input items of OpenAI's Responses API, which its Agents SDK takes too.

A message, a call, a result and a thought are items of their own; a result may have images and PDFs.
A thought can be sent again only with its encrypted content: ask for it with
`include=["reasoning.encrypted_content"]`.
"""

from __future__ import annotations

import json
from typing import Any

from .notes import Ids, Notes, label, thought, tool_name
from .openai import IMAGES, PDF, VENDOR, answer_texts, result_text, text_of_file
from .said import Call, File, Item, Message, Text, Thought


def write(messages: list[Message], notes: Notes) -> list[dict[str, Any]]:
    """The items; every call is followed by its result."""
    ids, written = Ids(), []
    for message in messages:
        if message.role == "user":
            content = [_part(item, notes) for item in message.items]
            written.append({"role": "user", "content": content})
        else:
            written += _answer(message, ids, notes)
    return written


def _answer(message: Message, ids: Ids, notes: Notes) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    results: list[dict[str, Any]] = []
    summary: list[str] = []  # a thought's summaries are blocks of their own, the last has its state
    for item in message.items:
        if isinstance(item, Thought):
            summary.append(item.text)
            if _state_of(item).get("encrypted_content"):
                items.append(_reasoning(item, summary))
                summary = []
            continue
        if isinstance(item, Call) and not item.server:
            name = ids.take(item.id)
            items.append(_call(item, name))
            output = _output(item, notes)
            results.append({"type": "function_call_output", "call_id": name, "output": output})
        else:
            texts = answer_texts(item, notes)
            items += [{"role": "assistant", "content": text} for text in texts]
    for _ in summary:
        thought(notes)
    return _without_last_thoughts([*items], notes) + results


def _without_last_thoughts(items: list[dict[str, Any]], notes: Notes) -> list[dict[str, Any]]:
    """The API refuses a thought that nothing follows."""
    while items and items[-1].get("type") == "reasoning":
        items.pop()
        notes["a thought that nothing follows"] += 1
    return items


def _state_of(item: Thought) -> dict[str, Any]:
    state = (item.provider or {}).get(VENDOR)
    return state if isinstance(state, dict) else {}


def _reasoning(item: Thought, summary: list[str]) -> dict[str, Any]:
    state = _state_of(item)
    texts = [{"type": "summary_text", "text": text} for text in summary if text]
    about = {"id": state["item_id"]} if state.get("item_id") else {}
    encrypted = {"encrypted_content": state["encrypted_content"]}
    return {"type": "reasoning", **about, "summary": texts, **encrypted}


def _call(call: Call, name: str) -> dict[str, Any]:
    arguments = json.dumps(call.input, ensure_ascii=False)
    about = {"call_id": name, "name": tool_name(call.name), "arguments": arguments}
    return {"type": "function_call", **about}


def _output(call: Call, notes: Notes) -> str | list[dict[str, Any]]:
    """A result: a text, or parts if it has files that the API takes."""
    content = call.result()
    if not any(isinstance(each, File) and _file(each) for each in content):
        return result_text(call, notes)
    return [_part(each, notes) for each in content]


def _part(item: Item, notes: Notes) -> dict[str, Any]:
    if isinstance(item, File):
        return _file(item) or _text(text_of_file(item) or label(item, notes))
    assert isinstance(item, Text)  # a person neither thinks nor calls here
    return _text(item.text)


def _text(text: str) -> dict[str, Any]:
    return {"type": "input_text", "text": text}


def _file(file: File) -> dict[str, Any] | None:
    url = file.data_url if file.data is not None else file.web_url
    if url is None:
        return None
    if file.media_type in IMAGES:
        return {"type": "input_image", "image_url": url, "detail": "auto"}
    if file.media_type != PDF:
        return None
    if file.data is None:
        return {"type": "input_file", "file_url": url}
    return {"type": "input_file", "filename": file.name or "file.pdf", "file_data": url}
