"""Gemini's streamGenerateContent on this machine, which says what a script says."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any

from frameworks.scripted_anthropic import (
    CUT,
    GATE,
    SCRIPTS,
    Block,
    Handler,
    Item,
    ScriptedAnthropic,
    Scripts,
    asked_of,
    say,
)

SIGNATURE = base64.b64encode(b"signature").decode()
"""What every call comes with, and must go back with."""
STATUSES = {429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE"}


class ScriptedGemini(ScriptedAnthropic):
    def handler(self) -> type[Handler]:
        return _Handler

    def conversation(self, body: dict[str, Any]) -> list[Item]:
        return [
            _item(content["role"], part)
            for content in body["contents"]
            for part in content["parts"]
        ]


@contextmanager
def scripted_gemini(scripts: Scripts = SCRIPTS) -> Iterator[ScriptedGemini]:
    with ScriptedGemini(scripts) as endpoint:
        Thread(target=endpoint.serve_forever, daemon=True).start()
        yield endpoint
        endpoint.shutdown()


def _item(role: str, part: dict[str, Any]) -> Item:
    if "functionCall" in part:
        call = part["functionCall"]
        if call.get("id", "").startswith("call_"):  # it is a script's
            assert part["thoughtSignature"] == SIGNATURE
        return Item("call", f"{call['name']} {json.dumps(call['args'])}", call.get("id", ""))
    if "functionResponse" in part:
        result = part["functionResponse"]
        told = result["response"]
        words = told.get("output") or told.get("result") or told.get("error") or ""
        return Item("result", words, result.get("id", ""))
    if "inlineData" in part:
        data = part["inlineData"]["data"].translate(str.maketrans("-_", "+/"))
        return Item("image", data)
    return Item("text" if role == "model" else "user", part.get("text", ""))


class _Handler(Handler):
    def respond(self, body: dict[str, Any]) -> None:
        asked = asked_of(body, body["contents"][:1], has_tools=False)
        if asked is not None:
            self.server.asked.append(asked)
        blocks = [say("Fine.")] if asked is None else self._answer(asked)
        if blocks[0]["type"] == "fail":
            self._fail(blocks[0])
            return
        name = f"answer_{len(self.server.asked)}"
        self._send_events(_chunks(blocks, name), asked.chat if asked else "")

    def _turn(self, body: dict[str, Any]) -> int:
        return sum(content["role"] == "model" for content in body["contents"])

    def _fail(self, block: Block) -> None:
        status = 503 if block["status"] == 529 else int(block["status"])
        error = {"code": status, "message": block["message"], "status": STATUSES[status]}
        self._send(status, json.dumps({"error": error}).encode())


def _chunks(blocks: list[Block], name: str) -> Iterator[dict[str, Any]]:
    for block in blocks:
        if block in (GATE, CUT):
            yield block
            continue
        call = {"id": block.get("id"), "name": block.get("name"), "args": block.get("input")}
        part: dict[str, Any] = {"functionCall": call, "thoughtSignature": SIGNATURE}
        if block["type"] == "text":
            part = {"text": block["text"]}
        yield _chunk(name, [part])
    usage = {"promptTokenCount": 100, "candidatesTokenCount": 7, "totalTokenCount": 107}
    yield {**_chunk(name, [{"text": ""}], "STOP"), "usageMetadata": usage}


def _chunk(name: str, parts: list[dict[str, Any]], finish: str | None = None) -> dict[str, Any]:
    reason = {"finishReason": finish} if finish else {}
    candidate = {"content": {"role": "model", "parts": parts}, "index": 0, **reason}
    return {"candidates": [candidate], "modelVersion": "gemini-scripted", "responseId": name}
