"""Google's client in an agent: its contents, and its streams as lines for the parser `gemini`.

    from shared.frameworks.gemini import emit, messages

    contents = messages(read_turn())
    answer = emit(client.models.generate_content_stream(model=…, contents=contents, config=…))

No part of the SDK is imported: its objects are read by their fields. Pass tools as declarations:
the SDK runs Python functions itself, and then there are no calls to make here.
"""

from __future__ import annotations

import base64
import binascii
import os
from typing import Any

from ..conversation import said
from ..conversation.gemini import result_part
from ..conversation.notes import Notes
from ..output import write_line
from .answers import Answer, Call, Reader, emit_stream

__all__ = ["Answer", "Call", "emit", "messages"]

FINAL = ("STOP", "FINISH_REASON_UNSPECIFIED")
"""Finish reasons after which calls are whole."""


def messages(turn: Any) -> list[dict[str, Any]]:
    """The conversation as `contents` of a request."""
    return [native_content(content) for content in turn.messages(style="gemini")]


def emit(stream: Any) -> Any:
    """Emit the chunks of a stream as they come; returns the `Answer`, with its calls.

    `stream` is what `client.models.generate_content_stream(…)` returns; of `client.aio`, `await`
    this.
    """
    return emit_stream(stream, _Content())


def native_content(content: dict[str, Any]) -> dict[str, Any]:
    """A content for the SDK, which takes bytes where the API has base64."""
    return {**content, "parts": [_native_part(part) for part in content["parts"]]}


def _native_part(part: dict[str, Any]) -> dict[str, Any]:
    native = dict(part)
    if "thoughtSignature" in part:
        native["thoughtSignature"] = _bytes(part["thoughtSignature"])
    if "inlineData" in part:
        data = _bytes(part["inlineData"]["data"])
        native["inlineData"] = {**part["inlineData"], "data": data}
    return native


def _bytes(text: str) -> bytes:
    """The bytes of base64, in its standard or its URL-safe form."""
    whole = text.translate(str.maketrans("-_", "+/")) + "=" * (-len(text) % 4)
    try:
        return base64.b64decode(whole)
    except (binascii.Error, ValueError):
        return text.encode()


class _Answer(Answer):
    def __init__(self, parts: list[dict[str, Any]], stop_reason: str, own: set[str]) -> None:
        made = [part["functionCall"] for part in parts if "functionCall" in part]
        self._made = [Call(each["id"], each["name"], each.get("args") or {}) for each in made]
        self._own = own  # ids that are ours: the API gave none
        text = "".join(p["text"] for p in parts if "text" in p and not p.get("thought"))
        sent = [_native_part(self._without_own_id(part, "functionCall")) for part in parts]
        content = [{"role": "model", "parts": sent}] if sent else []
        calls = self._made if stop_reason in FINAL else []
        super().__init__(content, calls, text, stop_reason)

    def _owed(self) -> list[Call]:
        return self._made

    def _emit_result(self, call: Call, output: Any, is_error: bool) -> None:
        value = output if isinstance(output, dict) and not is_error else {
            "error" if is_error else "output": output
        }  # fmt: skip
        response = {"id": call.id, "name": call.name, "response": value}
        write_line({"type": "function_response", "data": response})

    def _native(self, call: said.Call, notes: Notes) -> dict[str, Any]:
        return self._without_own_id(result_part(call, call.id, notes), "functionResponse")

    def _without_own_id(self, part: dict[str, Any], field: str) -> dict[str, Any]:
        about = part.get(field) or {}
        if about.get("id") not in self._own:
            return part
        return {**part, field: {name: about[name] for name in about if name != "id"}}

    def _joined(self, results: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{"role": "user", "parts": results}] if results else []


class _Content(Reader):
    """One content, from its chunks."""

    def __init__(self) -> None:
        self._parts: list[dict[str, Any]] = []
        self._own: set[str] = set()
        self._stop_reason: str | None = None

    def take(self, event: dict[str, Any]) -> dict[str, Any] | None:
        for candidate in (event.get("candidates") or [])[:1]:
            for part in (candidate.get("content") or {}).get("parts") or []:
                self._add(part)
            self._stop_reason = candidate.get("finishReason") or self._stop_reason
        blocked = (event.get("promptFeedback") or {}).get("blockReason")
        self._stop_reason = self._stop_reason or blocked
        return event

    def _add(self, part: dict[str, Any]) -> None:
        if "functionCall" in part and not part["functionCall"].get("id"):
            name = f"call_{os.urandom(6).hex()}"
            part["functionCall"]["id"] = name
            self._own.add(name)
        last = self._parts[-1] if self._parts else None
        if last is not None and _continues(last, part):
            self._parts[-1] = {**last, **part, "text": last["text"] + part["text"]}
        elif part.get("text") != "" or "thoughtSignature" in part:
            self._parts.append(dict(part))

    def answer(self) -> Answer | None:
        if self._stop_reason is None:
            return None
        return _Answer(self._parts, self._stop_reason, self._own)


def _continues(last: dict[str, Any], part: dict[str, Any]) -> bool:
    """Whether a part is more of the same text."""
    is_text = "text" in last and "text" in part and "thoughtSignature" not in last
    return is_text and bool(last.get("thought")) == bool(part.get("thought"))
