"""The conversation of a turn as LangChain's messages.

Rule 1: only the root agent's words and calls, as in `conversation`; every call has a result.
Rule 2: images, sound, videos and PDFs are LangChain's standard blocks, which its integrations
        convert for their provider. A text file is its text, any other file a short note.
Rule 3: thoughts are left out: their signatures are a provider's own.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from ..conversation.notes import Ids, served
from ..conversation.said import Call, File, Message, Text, Thought, conversation

__all__ = ["answer_of", "messages_of", "results_of"]

Block = dict[str, Any]

ENDED = ("ok", "error", "denied")
PDF = "application/pdf"
KINDS = {"image": "image", "audio": "audio", "video": "video"}


def messages_of(history: list[dict[str, Any]], prompt: list[dict[str, Any]]) -> list[Any]:
    """HumanMessages, AIMessages and ToolMessages."""
    from langchain_core.messages import HumanMessage

    ids, written = Ids(), []
    for message in conversation(history, prompt):
        if message.role == "user":
            written.append(HumanMessage(content=_content(message.items)))
        else:
            written += _answer(message, ids)
    return written


def results_of(history: list[dict[str, Any]]) -> dict[str, Any]:
    """The ToolMessages of the calls in the last answer that have a result, by the call."""
    said = conversation(history[-1:], [])
    calls = [call for message in said for call in message.calls if call.status in ENDED]
    return {call.id: _result(call, call.id) for call in calls}


def answer_of(history: list[dict[str, Any]]) -> str:
    """The text with which the last message ends, if that is an answer."""
    said = conversation(history, [])[-1:]
    if not said or said[0].role == "user" or said[0].calls:
        return ""
    return "".join(item.text for item in said[0].items if isinstance(item, Text))


def _answer(message: Message, ids: Ids) -> list[Any]:
    from langchain_core.messages import AIMessage

    calls, results = [], []
    for call in message.calls:
        name = ids.take(call.id)
        calls.append({"type": "tool_call", "id": name, "name": call.name, "args": call.input})
        results.append(_result(call, name))
    words = [item for item in message.items if item not in message.calls]
    return [AIMessage(content=_content(words), tool_calls=calls), *results]


def _result(call: Call, name: str) -> Any:
    from langchain_core.messages import ToolMessage

    content, status = _content(call.result()), "error" if call.failed else "success"
    return ToolMessage(content=content, tool_call_id=name, name=call.name, status=status)


def _content(items: Any) -> str | list[Block]:
    """A text alone as a string, else blocks."""
    blocks = [_block(item) for item in items if not isinstance(item, Thought)]
    if not blocks:
        return ""
    is_text = len(blocks) == 1 and blocks[0]["type"] == "text"
    return str(blocks[0]["text"]) if is_text else blocks


def _block(item: Any) -> Block:
    if isinstance(item, File):
        return _file(item)
    text = served(item, Counter()) if isinstance(item, Call) else item.text
    return {"type": "text", "text": text}


def _file(file: File) -> Block:
    kind = KINDS.get(file.media_type.partition("/")[0])
    kind = "file" if file.media_type == PDF else kind
    if kind is not None and file.data is not None:
        return {"type": kind, "base64": file.data, "mime_type": file.media_type}
    if kind is not None and file.web_url is not None:
        return {"type": kind, "url": file.web_url, "mime_type": file.media_type}
    words = file.words()
    text = file.label if words is None else f"{file.name or 'file'}:\n{words}"
    return {"type": "text", "text": text}
