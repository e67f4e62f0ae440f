"""The AI SDK's chunks as JSON bytes that every client accepts.

Rule 1: a key without a value is left out: null in an optional field ends the turn at the client.
Rule 2: no key that its JSON parser refuses as prototype pollution leaves here.
Rule 3: no NaN: the encoder writes null, which is legal wherever a number can be a payload.
Rule 4: content for which the AI SDK has no part type is a data part. One with an id is replaced by
        the next one under it; `data-usage` and `data-retract` are one each, and so is the
        `data-todos` of each agent: their ids are fixed. A transient one reaches `onData` only.

See: https://ai-sdk.dev/docs/ai-sdk-ui/stream-protocol
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

import msgspec

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
from mobox.formatters.ai_sdk.wire_ids import WireIds
from mobox.formatters.values import file_url, plan_items, source_url, without_none

Chunks = list[bytes]

DONE = b"[DONE]"
"""The last document; the only one that is not JSON."""

encode = msgspec.json.Encoder().encode
_METADATA = {"providerMetadata", "callProviderMetadata", "resultProviderMetadata"}


def chunk(kind: str, payload: dict[str, JSON] | None = None, **optional: JSON) -> bytes:
    """One chunk: `payload` as it is (null is a value there), `optional` without its nulls."""
    fields: dict[str, Any] = {"type": kind, **optional}
    if None in optional.values():
        fields = without_none(fields)
    if payload is not None:
        fields |= payload
    document = encode(fields)
    return encode(_harmless(fields)) if _is_dangerous(document) else document


def harmless(value: JSON) -> JSON:
    """`value` as a client receives it."""
    return _harmless(value) if _is_dangerous(encode(value)) else value


def _is_dangerous(document: bytes) -> bool:
    # `in` would work, but first checks whether the bytes are a number.
    return document.find(b"__proto__") >= 0 or document.find(b'"constructor"') >= 0


def scope(event: StreamEvent, ids: WireIds) -> dict[str, JSON]:
    """The member of `mobox` that names the emitting subagent."""
    return {"scope": ids.all_of(event.scope)} if event.scope else {}


def text_about(block_id: str, kind: str, worked_ms: int | None = None) -> dict[str, JSON]:
    """The `mobox` metadata of a text."""
    about = {"variant": kind if kind != "answer" else None, "workedMs": worked_ms}
    return {"id": block_id, **without_none(about)}


def reasoning_about(
    variant: str,
    block_id: str,
    scope: Sequence[str] = (),
    duration_ms: int | None = None,
    *,
    said: bool = False,
) -> dict[str, JSON]:
    """The `mobox` metadata of a thought, of status lines, or of a subagent's text (`said`)."""
    about = {"scope": list(scope) or None, "said": said or None, "durationMs": duration_ms}
    return {"variant": variant, "id": block_id, **without_none(about)}


def delta_prefix(kind: str, id_name: str, block_id: str, text_name: str) -> bytes:
    """A delta chunk up to its text: all that stays the same while a part is open.

    `delta_prefix(…) + encode(text) + b"}"` is the chunk.
    """
    opening = encode({"type": kind, id_name: block_id})
    return b'%b,"%b":' % (opening[:-1], text_name.encode())


def _harmless(value: JSON, in_metadata: bool = False) -> JSON:
    if isinstance(value, dict):
        return {
            _harmless_key(key, child, in_metadata): _harmless(
                child, in_metadata or key in _METADATA
            )
            for key, child in value.items()
        }
    if isinstance(value, list | tuple):
        return [_harmless(child, in_metadata) for child in value]
    return value


def _harmless_key(key: str, child: JSON, in_metadata: bool) -> str:
    # In metadata the client's schema refuses objects with a `constructor` key.
    constructs = in_metadata or (isinstance(child, dict) and "prototype" in child)
    is_harmful = key == "__proto__" or (key == "constructor" and constructs)
    return f"({key})" if is_harmful else key


# Data parts

_OURS = {"usage", "todos", "status", "retract", "input", "subagent", "step", "file", "state"}
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
_USAGE: Final = {
    "inputTokens": "input",
    "outputTokens": "output",
    "cachedInputTokens": "cache_read",
    "cacheWriteTokens": "cache_write",
    "reasoningTokens": "reasoning",
    "totalTokens": "total",
    "costUsd": "cost_usd",
    "isTotal": "is_total",
    "durationMs": "duration_ms",
    "numTurns": "num_turns",
}
"""Our names of the counts, by the AI SDK's."""


def data(name: str, value: JSON, part_id: str | None = None, transient: bool = False) -> bytes:
    """A data part; one with an id replaces the part of that id, a transient one is not kept."""
    return chunk(f"data-{name}", payload={"data": value}, id=part_id, transient=transient or None)


def todos_chunk(items: Iterable[TodoItem], owner: Sequence[str] = ()) -> bytes:
    """The current plan of the run, or of the subagent with the scope `owner`."""
    plan: dict[str, JSON] = {"items": plan_items(items)}
    if owner:
        plan["scope"] = list(owner)
    return data("todos", plan, "/".join(("todos", *owner[-1:])))


def usage_chunk(totals: Totals) -> bytes:
    """The usage of the run."""
    return data("usage", usage_data(totals), "usage")


def usage_data(totals: Totals) -> dict[str, JSON]:
    """Tokens and costs with the AI SDK's names."""
    return without_none({name: getattr(totals, own) for name, own in _USAGE.items()})


def step_chunk(start: StepStart, end: StepEnd | None = None) -> bytes:
    """A task or a compaction, running or ended."""
    about = without_none({"kind": start.kind, "name": start.name, "number": start.number})
    return data("step", about | {"status": end.status if end else "running"}, start.id)


def subagent_chunk(start: SubagentStart, ids: WireIds, end: SubagentEnd | None = None) -> bytes:
    """A spawned agent, running or ended; `scope` of other parts holds its id."""
    about = {
        "agent": start.agent,
        "task": start.task,
        "background": start.background or None,
        "status": end.status if end else "running",
        "summary": end.summary if end else None,
    }
    return data("subagent", without_none(about) | scope(start, ids), ids.of(start.id))


def request_about(request: InputRequest, ids: WireIds) -> dict[str, JSON]:
    """An input request, as the data of its part or the input of its call."""
    call = request.tool_call_id
    about = {
        "kind": request.kind,
        "toolCallId": ids.of(call) if call else None,
        "prompt": request.prompt,
        "schema": request.schema,
        "options": request.options,
        "allowed": list(request.allowed) or None,
    }
    return without_none(about)


def request_chunk(
    request: InputRequest, ids: WireIds, response: InputResponse | None = None
) -> bytes:
    """An input request and its answer, as data."""
    about = request_about(request, ids)
    if response is not None:
        answer = {
            "decision": response.decision,
            "value": response.value,
            "reason": response.reason,
            "automatic": response.automatic or None,
            "permission": response.permission,
        }
        about["answered"] = without_none(answer)
    return data("input", about, ids.of(request.id))


def retract_chunk(blocks: Iterable[str]) -> bytes:
    """The parts that were sent again since: texts by `mobox.id`, calls by `toolCallId`."""
    return data("retract", {"ids": list(blocks)}, "retract")


def custom_chunk(name: str, value: JSON, part_id: str | None) -> bytes:
    """An application's own data; a reserved name gets a prefix."""
    safe = _UNSAFE.sub("-", name) or "custom"
    return data(f"custom-{safe}" if safe in _OURS else safe, value, part_id)


def status_chunk(event: Status, ids: WireIds) -> bytes:
    """A progress line as it happens."""
    about = {"message": event.message, "kind": event.kind}
    return data("status", about | scope(event, ids), transient=True)


def state_chunk(event: State) -> bytes:
    """Shared state as it changes."""
    return data("state", {"mode": event.mode, "value": event.value}, transient=True)


# Sources and files


def source_chunk(event: Source, source_id: str, ids: WireIds) -> bytes:
    """A page or a document; `mobox.for` is the text or the tool call that it belongs to."""
    about = {
        "for": ids.block(event.id) if event.id is not None else None,
        "citedText": event.cited_text,
        "location": event.location,
        "file": event.file,
        "score": event.score,
        "confidence": event.confidence,
    }
    metadata = _metadata(without_none(about) | scope(event, ids))
    common: dict[str, JSON] = {"sourceId": source_id, "providerMetadata": metadata}
    if (link := source_url(event)) is not None:
        return chunk("source-url", url=link, title=event.title, **common)
    title = event.title or event.document or event.file or event.url or "Source"
    # The client requires a media type, and no framework sends one.
    return chunk("source-document", mediaType="text/plain", title=title, **common)


def file_chunk(event: File, ids: WireIds, with_metadata: bool = True) -> bytes:
    """A file with its address or its bytes; one that only the provider can fetch is data."""
    about = without_none({"name": event.name, "size": event.size})
    url = file_url(event)
    if url is None:
        more = without_none(
            {"mediaType": event.media_type, "fileId": event.file_id, "url": event.url or None}
        )
        return data("file", more | about | scope(event, ids))
    metadata = _metadata(about | scope(event, ids)) if with_metadata else None
    return chunk("file", url=url, mediaType=event.media_type, providerMetadata=metadata)


def _metadata(mobox: dict[str, JSON]) -> dict[str, JSON] | None:
    return {"mobox": mobox} if mobox else None


def vendors(provider: dict[str, JSON] | None) -> dict[str, JSON]:
    """The vendors' state in the only form that the client accepts: maps, by vendor."""
    return {name: bag for name, bag in (provider or {}).items() if isinstance(bag, dict)}


def message_metadata(
    reason: DoneReason,
    error: str | None,
    error_code: str | None,
    totals: Totals | None,
    duration_ms: int | None,
    simulated: bool,
) -> dict[str, JSON]:
    """The metadata of the whole message, in the last chunk."""
    about = {
        "reason": reason,
        "error": error,
        "errorCode": error_code,
        "usage": usage_data(totals) if totals is not None else None,
        "durationMs": duration_ms,
        "simulated": simulated or None,
    }
    return without_none(about)


class Profile(NamedTuple):
    """What differs between generations of the `ai` client; docs/ai-sdk.md has the facts."""

    finish_reasons: dict[DoneReason, str] | None
    """The reasons that `finish` may have; `None` where the client refuses the key."""
    abort_reason: bool = True
    """`abort` may carry a reason."""
    approvals: bool = True
    """There are tool-approval-request chunks."""
    asks: bool = True
    """Other requests are calls of the tool `ask_user`; else they are data."""
    answers: bool = False
    """There are tool-approval-response chunks, so a denied call can be sent as denied; and a
    request may have a reason."""
    file_metadata: bool = True
    """The client keeps the metadata of files."""
    error_metadata: bool = True
    """The client keeps the metadata of a broken input, under the call's result."""
    resets: bool = False
    """There are reset-step chunks, which retract everything since start-step."""
    early_tool_metadata: bool = False
    """tool-input-start may carry metadata."""
    raw_input: bool = True
    """The client keeps the broken input of a static part apart, as `rawInput`."""
    static_tools: str = "page"
    """Whose calls are static parts, `tool-<name>`: those of tools that the page runs, of all tools,
    or of none. The others are `dynamic-tool` parts."""

    details: bool = False
    """For our own page: texts tell how long the agent worked before them, and a subagent's text is
    marked as such."""

    def is_static(self, frontend: bool) -> bool:
        """Whether a call is a static part; `frontend` if the page runs it."""
        return self.static_tools == "all" or (frontend and self.static_tools == "page")


_REASONS: dict[DoneReason, str] = {
    "stop": "stop",
    "tool": "tool-calls",
    "length": "length",
    "content_filter": "content-filter",
    "refusal": "content-filter",
    "max_turns": "other",
    "cancelled": "other",
    "truncated": "other",
    "interrupted": "other",
    "lost": "error",
    "error": "error",
}

DEFAULT: Final = "v6"

_CLIENTS: Final[dict[str, Profile]] = {
    "v6": Profile(_REASONS),
    "v5": Profile(
        None, abort_reason=False, approvals=False, file_metadata=False, error_metadata=False
    ),
    "v7": Profile(
        {**_REASONS, "interrupted": "interrupted"},
        answers=True,
        resets=True,
        early_tool_metadata=True,
        raw_input=False,
    ),
}
"""By version. v5 is read by 5.0.60 and later, v6 by 6.0.37 and later and by 7."""

_SUFFIXES: Final = {"page": "", "all": "-static", "none": "-dynamic"}

PROFILES: Final[dict[str, Profile]] = {
    name + suffix: profile._replace(static_tools=which)
    for which, suffix in _SUFFIXES.items()
    for name, profile in _CLIENTS.items()
} | {"page": _CLIENTS["v7"]._replace(asks=False, static_tools="none", details=True)}
"""By name, the default first: each version, then with all tools static, then with none; and the one
for our own page, which reads the same in every protocol."""


def profile_for(requested: str | None, static_tools: str) -> str | None:
    """The profile for a request, where `static_tools` is what a version's name alone means."""
    name = requested or DEFAULT
    return name + _SUFFIXES[static_tools] if name in _CLIENTS else requested
