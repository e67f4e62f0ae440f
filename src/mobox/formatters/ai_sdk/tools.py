"""The tool calls of one message, as dynamic tool parts."""

from __future__ import annotations

import msgspec

from mobox.events import JSON, ToolResult, ToolUseDelta, ToolUseEnd, ToolUseStart
from mobox.formatters.ai_sdk.chunks import chunk, text_prefix, text_suffix

__all__ = ["Tools"]

Chunks = list[bytes]

_ERRORS = {"denied": "The call was denied.", "interrupted": "The call was interrupted."}


class _Call:
    """What later chunks of a call repeat of its start."""

    __slots__ = ("common", "invalid", "mobox", "name", "prefix")

    def __init__(self, start: ToolUseStart) -> None:
        self.name = start.name
        # `dynamic` must be the same on every chunk: else the client makes two parts of one call.
        self.common = {"toolCallId": start.id, "dynamic": True}
        if start.server:
            self.common["providerExecuted"] = True
        about = {"kind": start.kind, "display": start.display, "scope": list(start.scope)}
        self.mobox = {name: value for name, value in about.items() if value}
        self.prefix = text_prefix("tool-input-delta", "toolCallId", start.id or "", "inputTextDelta")
        self.invalid: str | None = None

    def input(self, kind: str, value: JSON, **more: JSON) -> bytes:
        metadata = {"mobox": self.mobox}
        return chunk(
            kind,
            payload={"input": value},
            toolName=self.name,
            providerMetadata=metadata,
            **self.common,
            **more,
        )


class Tools:
    """Every call of the run so far."""

    def __init__(self) -> None:
        self._calls: dict[str | None, _Call] = {}

    def start(self, event: ToolUseStart) -> Chunks:
        call = self._calls[event.id] = _Call(event)
        return [chunk("tool-input-start", toolName=call.name, **call.common)]

    def more(self, event: ToolUseDelta) -> Chunks:
        return [self._calls[event.id].prefix + text_suffix(event.delta)]

    def end(self, event: ToolUseEnd) -> Chunks:
        call = self._calls[event.id]
        call.invalid = event.invalid
        if event.invalid is not None:
            problem = "The input of this call is not valid JSON."
            return [call.input("tool-input-error", event.invalid, errorText=problem)]
        return [call.input("tool-input-available", {} if event.input is None else event.input)]

    def result(self, event: ToolResult) -> Chunks:
        call = self._calls[event.id]
        if event.status in ("error", "denied", "interrupted"):
            if event.status == "interrupted" and call.invalid is not None:
                return []  # the client has ended this call at its broken input
            text = _text_of(event.output) or _ERRORS.get(event.status, "The call failed.")
            return [chunk("tool-output-error", errorText=text, **call.common)]
        output = chunk(
            "tool-output-available",
            payload={"output": event.output},
            preliminary=event.partial or None,
            **call.common,
        )
        if call.invalid is None:
            return [output]
        # It was run all the same; a part with an output needs an input.
        available = call.input("tool-input-available", call.invalid)
        call.invalid = None
        return [available, output]


def _text_of(output: JSON) -> str:
    """The words of an error, from the forms in which tools give them."""
    if isinstance(output, str):
        return output
    if isinstance(output, list):
        return "\n".join(filter(None, map(_text_of, output)))
    if isinstance(output, dict):
        for name in ("text", "message", "error", "error_code", "stderr"):
            if isinstance(words := output.get(name), str) and words:
                return words
    return msgspec.json.encode(output).decode() if output else ""
