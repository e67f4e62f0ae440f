"""A stored message as the UIMessage that the client would have after reading the whole stream.

Rule 1: it has no shapes of its own: a live chunk is the same chunk when stored, and states are the
        client's. So a reloaded page looks the same as one that was not reloaded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import takewhile
from typing import Any, ClassVar

import msgspec

from mobox.events import JSON, ToolResult
from mobox.events.message import (
    BlockPart,
    CustomPart,
    FilePart,
    Message,
    ProcessingPart,
    RequestPart,
    RetractPart,
    SourcePart,
    StepPart,
    SubagentPart,
    TextPart,
    ThinkingPart,
    TodosPart,
    ToolPart,
    TurnPart,
    UsagePart,
)
from mobox.events.turn import PromptData, PromptFile, PromptPart, PromptText, UserMessage
from mobox.formatters.ai_sdk.chunks import (
    DEFAULT,
    PROFILES,
    Profile,
    custom_chunk,
    file_chunk,
    harmless,
    message_metadata,
    reasoning_about,
    request_about,
    request_chunk,
    retract_chunk,
    source_chunk,
    step_chunk,
    subagent_chunk,
    text_about,
    todos_chunk,
    usage_chunk,
    vendors,
)
from mobox.formatters.ai_sdk.input_requests import (
    APPROVED,
    ask_metadata,
    ask_result,
    has_ask_part,
    has_data_part,
    is_held,
)
from mobox.formatters.ai_sdk.parts import INVALID_INPUT, tool_metadata
from mobox.formatters.ai_sdk.wire_ids import ASK_USER, WireIds
from mobox.formatters.values import (
    FAILED_OUTCOMES,
    call_error,
    error_of,
    profile_named,
    without_none,
)

UIPart = dict[str, JSON]


def ui_message(message: Message, profile: str = DEFAULT) -> dict[str, JSON]:
    """The message in the shape of `UIMessage`."""
    whole = _Snapshot(message, profile_named(profile, PROFILES))
    parts = _merged(whole.parts()) or _from_columns(message)
    ui: dict[str, JSON] = {"id": message.id, "role": message.role, "parts": parts}
    if message.reason is not None:
        parts += _last_step(parts)
        ui["metadata"] = message_metadata(
            message.reason,
            error_of(message.reason, message.error),
            message.error_code,
            message.usage,
            message.duration_ms,
            message.simulated,
        )
    safe: dict[str, JSON] = harmless(ui)
    return safe


def ui_user_message(message: UserMessage) -> dict[str, JSON]:
    """A user's message as their client had it."""
    ui = {"id": message.id, "role": "user", "parts": [_prompt(part) for part in message.parts]}
    safe: dict[str, JSON] = harmless(without_none({**ui, "metadata": message.metadata}))
    return safe


def _prompt(part: PromptPart) -> UIPart:
    match part:
        case PromptText(text=text):
            return {"type": "text", "text": text}
        case PromptFile():
            about = {"mediaType": part.media_type, "url": part.url, "filename": part.name}
            return {"type": "file", **without_none(about)}
        case PromptData():
            return without_none({"type": f"data-{part.name}", "id": part.id, "data": part.value})


def _from_columns(message: Message) -> list[UIPart]:
    """A message that was stored without parts: Processing, Thinking, text, in that order."""
    lines, thinking = message.metadata.get("processing"), message.metadata.get("thinking")
    parts = []
    if lines:
        parts.append(_reasoning("\n".join(lines), {"variant": "processing"}))
    if thinking:
        parts.append(_reasoning(thinking, {"variant": "thinking"}))
    if message.content:
        parts.append({"type": "text", "text": message.content, "state": "done"})
    return parts


class _Snapshot:
    """Builds the parts of one stored message."""

    def __init__(self, message: Message, profile: Profile) -> None:
        self._parts = message.parts
        self._profile = profile
        self._ids = WireIds(message.id)
        self._answers = {
            part.request.tool_call_id: _approval(part, self._ids)
            for part in message.parts
            if isinstance(part, RequestPart) and profile.answers and is_held(part, profile)
            if part.response is not None and part.response.decision in APPROVED
        }
        self._reset = self._removed_parts()
        retracts = [part for part in message.parts if isinstance(part, RetractPart)]
        self._first_retract = next((p for p in retracts if not self._resets(p)), None)
        self._retracted = self._retracted_ids(WireIds(message.id))
        self._sources = 0

    def parts(self) -> Iterator[UIPart]:
        for number, part in enumerate(self._parts):
            if isinstance(part, ToolPart):
                self._ids.start(part.id)
            if number not in self._reset:
                yield from self.BUILDERS[type(part)](self, part)

    def _retracted_ids(self, ids: WireIds) -> list[str]:
        """The ids of all retracted parts; each is a call's if that had started by then."""
        retracted: list[str] = []
        for part in self._parts:
            if isinstance(part, ToolPart):
                ids.start(part.id)
            elif isinstance(part, RetractPart) and not self._resets(part):
                retracted += map(ids.block, part.blocks)
        return retracted

    def _removed_parts(self) -> set[int]:
        """The indexes of parts that a `reset-step` removes: all parts of their turn."""
        removed: set[int] = set()
        turn: list[int] = []
        for number, part in enumerate(self._parts):
            if isinstance(part, RetractPart) and self._resets(part):
                removed.update(turn)
                turn = []
            elif isinstance(part, TurnPart):
                turn = []
            else:
                turn.append(number)
        return removed

    def _resets(self, part: RetractPart) -> bool:
        return part.whole_turn and self._profile.resets

    # Blocks and tools

    def _text(self, part: TextPart) -> list[UIPart]:
        if part.scope:
            return self._thought(part, "thinking")
        state = "done" if part.ended else "streaming"
        worked = part.worked_ms if self._profile.details else None
        metadata = {"mobox": text_about(part.id, part.kind, worked)}
        return [{"type": "text", "text": part.text, "state": state, "providerMetadata": metadata}]

    def _thought(
        self, part: BlockPart, variant: str, provider: dict[str, JSON] | None = None
    ) -> list[UIPart]:
        scope = self._ids.all_of(part.scope)
        said = self._profile.details and isinstance(part, TextPart)
        about = reasoning_about(variant, part.id, scope, part.duration_ms, said=said)
        state = "done" if part.ended else "streaming"
        return [{"id": part.id, **_reasoning(part.text, about, provider, state)}]

    def _tool(self, part: ToolPart) -> list[UIPart]:
        is_static = self._profile.is_static(part.frontend)
        ui = {
            "type": f"tool-{part.name}" if is_static else "dynamic-tool",
            "toolCallId": self._ids.of(part.id),
            "toolName": None if is_static else part.name,
            "providerExecuted": part.server or None,
        }
        state, fields = self._tool_state(part)
        if is_static and part.invalid and self._profile.raw_input:
            fields["rawInput"] = fields.pop("input")
        if part.id in self._answers:
            fields["approval"] = self._answers[part.id]
        return [without_none(ui) | {"state": state} | fields | self._tool_metadata(part)]

    def _tool_metadata(self, part: ToolPart) -> UIPart:
        metadata = tool_metadata(part.kind, part.display, self._ids.all_of(part.scope))
        accepted = part.ended and not part.invalid
        about = {
            "callProviderMetadata": accepted or self._profile.early_tool_metadata,
            "resultProviderMetadata": part.invalid and self._profile.error_metadata,
        }
        return {name: metadata for name, value in about.items() if value and metadata is not None}

    def _tool_state(self, part: ToolPart) -> tuple[str, dict[str, JSON]]:
        if not part.ended:
            return "input-streaming", {"rawInput": part.input_text} if part.input_text else {}
        value = part.input_text if part.invalid else part.input
        if part.invalid and part.status in (None, "interrupted"):
            return "output-error", {"input": value, "errorText": INVALID_INPUT}
        if part.status is None:
            answered = part.id in self._answers
            return "approval-responded" if answered else "input-available", {"input": value}
        if self._answers.get(part.id, {}).get("approved") is False:
            return "output-denied", {"input": value}
        result = ToolResult(output=part.output, status=part.status)
        if part.status in FAILED_OUTCOMES:
            return "output-error", {"input": value, "errorText": call_error(result)}
        fields = {"input": value, "output": part.output}
        return "output-available", fields | ({"preliminary": True} if part.partial else {})

    # Parts that are one chunk live

    def _source(self, part: SourcePart) -> list[UIPart]:
        self._sources += 1
        return [_at_rest(source_chunk(part.source, f"source_{self._sources}", self._ids))]

    def _file(self, part: FilePart) -> list[UIPart]:
        return [_at_rest(file_chunk(part.file, self._ids, self._profile.file_metadata))]

    def _request(self, part: RequestPart) -> list[UIPart]:
        if has_ask_part(part, self._profile, self._ids):
            return [self._ask(part)]
        if not has_data_part(part, self._profile):
            return []
        return [_at_rest(request_chunk(part.request, self._ids, part.response))]

    def _ask(self, part: RequestPart) -> UIPart:
        request, result = part.request, ask_result(part, part.response)
        states = {"output": "output-available", "errorText": "output-error"}
        ui = {
            "type": f"tool-{ASK_USER}",
            "toolCallId": self._ids.next_ask(request.id),
            "state": states[next(iter(result))] if result is not None else "input-available",
            "input": request_about(request, self._ids),
            "callProviderMetadata": ask_metadata(request, self._ids),
        }
        return without_none(ui) | (result or {})

    def _todos(self, part: TodosPart) -> list[UIPart]:
        return [_at_rest(todos_chunk(part.items, self._ids.all_of(part.scope)))]

    def _subagent(self, part: SubagentPart) -> list[UIPart]:
        return [_at_rest(subagent_chunk(part.start, self._ids, part.end))]

    def _retract(self, part: RetractPart) -> list[UIPart]:
        if part is not self._first_retract:
            return []
        return [_at_rest(retract_chunk(self._retracted))]

    BUILDERS: ClassVar[dict[type, Callable[[_Snapshot, Any], list[UIPart]]]] = {
        TextPart: _text,
        ThinkingPart: lambda run, part: run._thought(part, "thinking", part.provider),
        ProcessingPart: lambda run, part: run._thought(part, "processing"),
        ToolPart: _tool,
        SourcePart: _source,
        FilePart: _file,
        TodosPart: _todos,
        UsagePart: lambda run, part: [_at_rest(usage_chunk(part.totals))],
        TurnPart: lambda run, part: [_STEP],
        StepPart: lambda run, part: [_at_rest(step_chunk(part.start, part.end))],
        SubagentPart: _subagent,
        RequestPart: _request,
        RetractPart: _retract,
        CustomPart: lambda run, part: [_at_rest(custom_chunk(part.name, part.value, part.id))],
    }


_STEP: UIPart = {"type": "step-start"}


def _merged(parts: Iterable[UIPart]) -> list[UIPart]:
    """Apply the client's rules: data replaces the part of its id, and an empty step continues."""
    merged: list[UIPart] = []
    places: dict[tuple[str, str], int] = {}
    for part in parts:
        key = (part["type"], part.get("id", ""))
        if key[1] and key[0].startswith("data-") and key in places:
            merged[places[key]] = part
        elif part != _STEP or merged[-1:] != [_STEP]:
            places[key] = len(merged)
            merged.append(part)
    return merged


def _last_step(parts: list[UIPart]) -> list[UIPart]:
    """The empty step at the end of a run whose last step has calls: see `Steps.close`."""
    step = list(takewhile(lambda part: part != _STEP, reversed(parts)))
    has_calls = any("toolCallId" in part and "providerExecuted" not in part for part in step)
    return [_STEP] if has_calls else []


def _reasoning(
    text: str,
    about: dict[str, JSON],
    provider: dict[str, JSON] | None = None,
    state: str = "done",
) -> UIPart:
    metadata = {**vendors(provider), "mobox": about}
    return {"type": "reasoning", "text": text, "state": state, "providerMetadata": metadata}


def _approval(part: RequestPart, ids: WireIds) -> UIPart:
    assert part.response is not None  # only answered requests get here
    about = {
        "requestReason": part.request.prompt,
        "reason": part.response.comment,
        "isAutomatic": part.response.automatic or None,
    }
    return {
        "id": ids.of(part.request.id),
        "approved": APPROVED[part.response.decision],
        **without_none(about),
    }


def _at_rest(chunk: bytes) -> UIPart:
    part: UIPart = msgspec.json.decode(chunk)
    return part
