"""A client of AG-UI as the document on event handling describes it, and its charts.

It reads `data: ` lines, keeps tool calls by their ids and content blocks in order, splits texts by
their `<<{…}>>` placeholders, and looks up the tool call of each by its id. Mobox is unknown to it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

PLACEHOLDER = re.compile(r"<<(\{.*?\})>>", re.DOTALL)

Json = dict[str, Any]


class DocumentClient:
    """One run: what `handleEvent` makes of its events."""

    def __init__(self) -> None:
        self.tool_calls: dict[str, Json] = {}
        self.blocks: list[Json] = []
        self._text: Json | None = None

    def read(self, body: bytes | str) -> DocumentClient:
        """The lines of a response."""
        text = body if isinstance(body, str) else body.decode()
        for line in text.split("\n"):
            if line.startswith("data: ") and line[6:] != "[DONE]":
                self.handle(json.loads(line[6:]))
        return self

    def handle(self, event: Json) -> None:
        match event["type"]:
            case "TEXT_MESSAGE_START":
                self._text = {"type": "text", "content": ""}
                self.blocks.append(self._text)
            case "TEXT_MESSAGE_CONTENT":
                assert self._text is not None
                self._text["content"] += event["delta"]
            case "STEP_STARTED":
                self._once("steps")
            case "TOOL_CALL_START":
                self.tool_calls[event["toolCallId"]] = {"name": event["toolCallName"], "args": ""}
                self._once("tools")
            case "TOOL_CALL_ARGS":
                self.tool_calls[event["toolCallId"]]["args"] += event["delta"]
            case "TOOL_CALL_RESULT":
                self.tool_calls[event["toolCallId"]]["result"] = event["content"]
            case _:
                pass  # the document's client leaves all else alone

    def _once(self, kind: str) -> None:
        if all(block["type"] != kind for block in self.blocks):
            self.blocks.append({"type": kind})

    @property
    def order(self) -> list[str]:
        return [block["type"] for block in self.blocks]

    @property
    def charts(self) -> list[str | None]:
        """By placeholder, the job whose measurements its chart shows; `None` if there is none."""
        texts = [block["content"] for block in self.blocks if block["type"] == "text"]
        results = {name: call.get("result") for name, call in self.tool_calls.items()}
        return charts_in(texts, results)


def charts_in(texts: Iterable[str], results: dict[str, Any]) -> list[str | None]:
    placeholders = [json.loads(found) for text in texts for found in PLACEHOLDER.findall(text)]
    assert all(each["type"] == "promql" for each in placeholders)
    ids = [each.get("tool_call_id") or each.get("id") for each in placeholders]
    return [_job_of(results.get(name)) for name in ids]


def charts_of(messages: list[Json]) -> list[str | None]:
    """The same for the messages that the real client has, live or after a reload."""
    said = [message for message in messages if message["role"] == "assistant"]
    calls = {call["id"] for message in said for call in message.get("toolCalls", ())}
    results = {
        message["toolCallId"]: message["content"]
        for message in messages
        if message["role"] == "tool" and message["toolCallId"] in calls
    }
    return charts_in([message.get("content") or "" for message in said], results)


def _job_of(result: Any) -> str | None:
    if result is None:
        return None
    (series,) = json.loads(result)["data"]["result"]
    return str(series["metric"]["job"])
