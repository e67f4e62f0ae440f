"""Data parts: content for which the AI SDK has no part type.

A part with an id is replaced by the next one under it; `data-usage` and `data-retract` are one
each, and so is the `data-todos` of each agent: their ids are fixed. A transient one reaches
`onData` only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec
from msgspec import Struct

from mobox.events import (
    JSON,
    DoneReason,
    File,
    InputRequest,
    InputResponse,
    Source,
    State,
    Status,
    StepEnd,
    StepStart,
    StreamEvent,
    SubagentEnd,
    SubagentStart,
    TodoItem,
)
from mobox.events.usage import Totals
from mobox.formatters.ai_sdk.chunks import chunk, data, delta_prefix, encode, scope
from mobox.formatters.values import address_of, link_of, without_none

_OURS = {"usage", "todos", "status", "retract", "input", "subagent", "step", "file", "state"}
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")


class _Usage(Struct, kw_only=True, omit_defaults=True, rename="camel"):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_input_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    total_tokens: int | None = None
    cost_usd: float | None = None
    is_total: bool
    duration_ms: int | float | None = None
    num_turns: int | None = None


def todos(items: Iterable[TodoItem], owner: tuple[str, ...] = ()) -> bytes:
    """The current plan of the run, or of the subagent with the scope `owner`."""
    lines = [
        {
            "content": item.content,
            "status": item.status,
            **without_none({"activeForm": item.active_form}),
        }
        for item in items
    ]
    whose: dict[str, JSON] = {"scope": list(owner)} if owner else {}
    return data("todos", {"items": lines} | whose, "/".join(("todos", *owner[-1:])))


def usage(totals: Totals) -> bytes:
    """The usage of the run."""
    return data("usage", _usage(totals), "usage")


def usage_data(totals: Totals) -> dict[str, JSON]:
    """Tokens and costs with the AI SDK's names."""
    fields: dict[str, JSON] = msgspec.to_builtins(_usage(totals))
    return fields


def _usage(totals: Totals) -> _Usage:
    return _Usage(
        input_tokens=totals.input,
        output_tokens=totals.output,
        cached_input_tokens=totals.cache_read,
        cache_write_tokens=totals.cache_write,
        reasoning_tokens=totals.reasoning,
        total_tokens=totals.total,
        cost_usd=totals.cost_usd,
        is_total=totals.is_total,
        duration_ms=totals.duration_ms,
        num_turns=totals.num_turns,
    )


def step(start: StepStart, end: StepEnd | None = None) -> bytes:
    """A task or a compaction, running or ended."""
    about = without_none({"kind": start.kind, "name": start.name, "number": start.number})
    return data("step", about | {"status": end.status if end else "running"}, start.id)


def subagent(start: SubagentStart, end: SubagentEnd | None = None) -> bytes:
    """A spawned agent, running or ended; `scope` of other parts holds its id."""
    about = {
        "agent": start.agent,
        "task": start.task,
        "background": start.background or None,
        "status": end.status if end else "running",
        "summary": end.summary if end else None,
    }
    return data("subagent", without_none(about) | scope(start), start.id)


def request(input_request: InputRequest, response: InputResponse | None = None) -> bytes:
    """An input request and its answer."""
    about = {
        "kind": input_request.kind,
        "toolCallId": input_request.tool_call_id,
        "prompt": input_request.prompt,
        "schema": input_request.schema,
        "options": input_request.options,
        "allowed": list(input_request.allowed) or None,
    }
    answered = _answered(response) if response is not None else None
    return data("input", without_none({**about, "answered": answered}), input_request.id)


def _answered(response: InputResponse) -> dict[str, JSON]:
    about = {"decision": response.decision, "value": response.value, "reason": response.reason}
    return without_none(about)


def retract(blocks: Iterable[str]) -> bytes:
    """The parts that were sent again since, by the `id` in their `mobox` metadata."""
    return data("retract", {"ids": list(blocks)}, "retract")


def custom(name: str, value: JSON, part_id: str | None) -> bytes:
    """An application's own data; a reserved name gets a prefix."""
    safe = _UNSAFE.sub("-", name) or "custom"
    return data(f"custom-{safe}" if safe in _OURS else safe, value, part_id)


def status(event: Status) -> bytes:
    """A progress line as it happens."""
    about = {"message": event.message, "kind": event.kind}
    return data("status", about | scope(event), transient=True)


def state(event: State) -> bytes:
    """Shared state as it changes."""
    return data("state", {"mode": event.mode, "value": event.value}, transient=True)


# Sources and files: the parts of a message that come in one chunk.


def source(event: Source, source_id: str) -> bytes:
    """A page or a document; `mobox.for` is the text or the tool call that it belongs to."""
    about = {
        "for": event.id,
        "citedText": event.cited_text,
        "location": event.location,
        "file": event.file,
        "score": event.score,
        "confidence": event.confidence,
    }
    metadata = _metadata(without_none(about) | scope(event))
    common: dict[str, JSON] = {"sourceId": source_id, "providerMetadata": metadata}
    if (link := link_of(event)) is not None:
        return chunk("source-url", url=link, title=event.title, **common)
    title = event.title or event.document or event.file or event.url or "Source"
    # The client requires a media type, and no framework sends one.
    return chunk("source-document", mediaType="text/plain", title=title, **common)


def file(event: File, with_metadata: bool = True) -> bytes:
    """A file with its address or its bytes; one that only the provider can fetch is data."""
    about = without_none({"name": event.name, "size": event.size})
    url = address_of(event)
    if url is None:
        more = without_none(
            {"mediaType": event.media_type, "fileId": event.file_id, "url": event.url or None}
        )
        return data("file", more | about | scope(event))
    metadata = _metadata(about | scope(event)) if with_metadata else None
    return chunk("file", url=url, mediaType=event.media_type, providerMetadata=metadata)


def _metadata(mobox: dict[str, JSON]) -> dict[str, JSON] | None:
    return {"mobox": mobox} if mobox else None


# The open text and reasoning parts of one message, and how long they have been open.

Chunks = list[bytes]


class _Part:
    """One open part; `kind` is the first half of its chunks' names."""

    __slots__ = ("delta_class", "empty", "id", "kind", "mobox", "prefix", "started")

    def __init__(
        self, kind: str, block_id: str, delta_class: type[StreamEvent], mobox: dict[str, JSON]
    ) -> None:
        self.kind = kind
        self.id = block_id
        self.mobox = mobox
        self.delta_class = delta_class
        self.prefix = delta_prefix(f"{kind}-delta", "id", block_id, "delta")
        self.started: int | None = None
        self.empty = True

    def start(self) -> bytes:
        metadata = {"mobox": self.mobox}
        return chunk(f"{self.kind}-start", id=self.id, providerMetadata=metadata)


class Parts:
    """The owner of what is open."""

    def __init__(self) -> None:
        self._open: dict[str | None, _Part] = {}
        self.find = self._open.get
        """The open part of that id; `None` if there is none."""

    def __contains__(self, block_id: str | None) -> bool:
        return block_id in self._open

    def __bool__(self) -> bool:
        return bool(self._open)

    def open(
        self, kind: str, delta_class: type[StreamEvent], mobox: dict[str, JSON], ts: int | None
    ) -> Chunks:
        """Open the part that `mobox` names; deltas of the type `delta_class` continue it."""
        part = _Part(kind, mobox["id"], delta_class, mobox)
        part.started = ts
        self._open[part.id] = part
        return [part.start()]

    def write(self, block_id: str | None, text: str, between: str = "") -> Chunks:
        """A delta of an open part; `between` precedes every delta but the first."""
        if not text:
            return []
        part = self._open[block_id]
        text = text if part.empty else between + text
        part.empty = False
        return [part.prefix + encode(text) + b"}"]

    def close(
        self, block_id: str | None, ts: int | None, provider: dict[str, JSON] | None = None
    ) -> Chunks:
        """End a part, with its duration and the vendor's state."""
        part = self._open.pop(block_id)
        if part.kind == "text":
            return [chunk("text-end", id=part.id)]
        metadata: dict[str, JSON] = {"mobox": part.mobox}
        if ts is not None and part.started is not None:
            metadata["mobox"] = {**part.mobox, "durationMs": ts - part.started}
        return [chunk("reasoning-end", id=part.id, providerMetadata=vendors(provider) | metadata)]

    def close_all(self, ts: int | None) -> Chunks:
        """End all open parts, in the order in which they were opened."""
        return [end for block_id in list(self._open) for end in self.close(block_id, ts)]

    def reopen(self) -> Chunks:
        """The starts of all open parts, for a response that starts here."""
        return [part.start() for part in self._open.values()]


def vendors(provider: dict[str, JSON] | None) -> dict[str, JSON]:
    """The vendors' state in the only form that the client accepts: maps, by vendor."""
    return {name: bag for name, bag in (provider or {}).items() if isinstance(bag, dict)}


# How a message ends, live and stored.


def message_metadata(
    reason: DoneReason, error: str | None, totals: Totals | None, duration_ms: int | None
) -> dict[str, JSON]:
    """The metadata of the whole message, in the last chunk."""
    usage = usage_data(totals) if totals is not None else None
    about = {"reason": reason, "error": error, "usage": usage, "durationMs": duration_ms}
    return without_none(about)
