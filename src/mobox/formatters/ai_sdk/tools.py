"""The tool calls of one message, as dynamic tool parts."""

from __future__ import annotations

from collections.abc import Collection

from mobox.events import (
    JSON,
    UNKNOWN_TOOL,
    ToolResult,
    ToolUseDelta,
    ToolUseEnd,
    ToolUseStart,
)
from mobox.formatters.ai_sdk.chunks import chunk, delta_prefix, encode
from mobox.formatters.ai_sdk.profiles import Profile
from mobox.formatters.fields import known
from mobox.formatters.outcomes import FAILED, error_text

__all__ = ["INVALID_INPUT", "Tools", "tool_metadata"]

Chunks = list[bytes]

INVALID_INPUT = "The input of this call is not valid JSON."


class _Call:
    """What later chunks of a call repeat of its start."""

    __slots__ = ("answered", "common", "invalid", "metadata", "name", "prefix", "waits")

    def __init__(self, start: ToolUseStart) -> None:
        self.name = start.name
        # `dynamic` must be the same on every chunk: else the client makes two parts of one call.
        self.common: dict[str, JSON] = {"toolCallId": start.id, "dynamic": True}
        if start.server:
            self.common["providerExecuted"] = True
        self.metadata = tool_metadata(start.kind, start.display, start.scope)
        assert start.id is not None  # the lifecycle names every call
        self.prefix = delta_prefix("tool-input-delta", "toolCallId", start.id, "inputTextDelta")
        self.invalid = False
        self.waits = False  # its input is there, its result is not
        self.answered = False  # at least a part of its result is

    def input(self, kind: str, value: JSON, **more: JSON) -> bytes:
        return chunk(
            kind,
            payload={"input": value},
            toolName=self.name,
            providerMetadata=self.metadata,
            **self.common,
            **more,
        )


def tool_metadata(kind: str, display: str | None, scope: tuple[str, ...]) -> dict[str, JSON] | None:
    """What we say of a call beyond what the client knows; nothing of a plain function."""
    about = {
        "kind": kind if kind != "function" else None,
        "display": display,
        "scope": list(scope) or None,
    }
    return {"mobox": known(about)} if known(about) else None


class Tools:
    """Every call of the run so far."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._calls: dict[str | None, _Call] = {}
        self._streaming: set[str | None] = set()
        self._denied: set[str | None] = set()
        self._forgotten: set[str | None] = set()

    @property
    def streaming(self) -> bool:
        """Whether an input is under way; a step that starts now would split the call in two."""
        return bool(self._streaming)

    def waits(self, name: str | None) -> bool:
        """Whether the call has its input and no result: only then can it be approved."""
        return name in self._calls and self._calls[name].waits

    def deny(self, name: str | None) -> None:
        """The client was told that this call is denied."""
        self._denied.add(name)

    def forget(self, names: Collection[str]) -> None:
        """These calls were taken back: the client has no part left that a result could go to."""
        for name in names:
            if self._calls.pop(name, None) is not None:
                self._forgotten.add(name)

    def before(self, event: ToolUseDelta | ToolUseEnd | ToolResult) -> Chunks:
        """The start of a call, or the end of its input, that a later version told: RAW to us."""
        if event.id in self._forgotten:
            return []
        chunks: Chunks = []
        if event.id not in self._calls:
            chunks += self.start(ToolUseStart(id=event.id, scope=event.scope, name=UNKNOWN_TOOL))
        if isinstance(event, ToolResult) and event.id in self._streaming:
            chunks += self.end(ToolUseEnd(id=event.id))
        return chunks

    def start(self, event: ToolUseStart) -> Chunks:
        call = self._calls[event.id] = _Call(event)
        self._streaming.add(event.id)
        early = call.metadata if self._profile.early_tool_metadata else None
        start = chunk("tool-input-start", toolName=call.name, providerMetadata=early, **call.common)
        return [start]

    def more(self, event: ToolUseDelta) -> Chunks:
        return [self.prefix_of(event) + encode(event.delta) + b"}"]

    def prefix_of(self, event: ToolUseDelta) -> bytes:
        """How the chunk of a piece of input begins."""
        return self._calls[event.id].prefix

    def end(self, event: ToolUseEnd) -> Chunks:
        call = self._calls[event.id]
        self._streaming.discard(event.id)
        call.invalid = event.invalid is not None
        call.waits = not call.invalid
        if event.invalid is not None:
            return [call.input("tool-input-error", event.invalid, errorText=INVALID_INPUT)]
        return [call.input("tool-input-available", {} if event.input is None else event.input)]

    def result(self, event: ToolResult) -> Chunks:
        call = self._calls.get(event.id)
        if call is None:
            return []
        before, call.answered, call.waits = call.answered, True, False
        if event.id in self._denied:  # to the client, nothing else can come of such a call
            return [chunk("tool-output-denied", toolCallId=event.id)]
        if event.status == "interrupted" and call.invalid:
            # The client has ended this call at its broken input, unless it has heard more of it.
            error = chunk("tool-output-error", errorText=INVALID_INPUT, **call.common)
            return [error] if before else []
        if event.status in FAILED:
            return [chunk("tool-output-error", errorText=error_text(event), **call.common)]
        return [
            chunk(
                "tool-output-available",
                payload={"output": event.output},
                preliminary=event.partial or None,
                **call.common,
            )
        ]
