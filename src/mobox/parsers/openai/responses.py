"""Parses the Responses API's stream: responses, one after the other, made of items.

Rule 1: a response is a turn of the agent's loop (STEP); START and DONE belong to the run.
Rule 2: an event is recognized by its `type` alone; an unknown one is RAW.
Rule 3: a response that neither completed nor failed was interrupted. If another follows it in the
        same run, it is being sent again (RETRACT).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar, Final

from msgspec import convert

from mobox.errors import UnrecognizedLine
from mobox.events import (
    JSON,
    Done,
    Events,
    File,
    Outcome,
    Retract,
    Scope,
    Status,
    StepEnd,
    StepStart,
)
from mobox.parsers.openai import wire
from mobox.parsers.openai.chat_calls import json_of
from mobox.parsers.openai.items import Items
from mobox.parsers.openai.parts import SOUND, Item, Place, joined_sound
from mobox.parsers.openai.token_usage import done_of, error_of, used
from mobox.parsers.openai.wire import Names
from mobox.parsers.values import objects_in, parse_or_raw

DeltaHandler = Callable[["Deltas", wire.Event], Events]

_TEXT_DELTAS: Final = {
    "response.output_text.delta": ("message", "text"),
    "response.refusal.delta": ("message", "refusal"),
    "response.reasoning_summary_text.delta": ("reasoning", "summary"),
    "response.reasoning_text.delta": ("reasoning", "reasoning"),
    "response.audio.transcript.delta": ("message", "transcript"),
}
"""Events with a delta of a part: the kind of its item, and the part of the item."""

_TEXT_ENDS: Final = {
    "response.refusal.done": ("message", "refusal", "refusal"),
    "response.reasoning_text.done": ("reasoning", "reasoning", "text"),
    "response.audio.transcript.done": ("message", "transcript", None),
}
"""Events that end a part: also the field of the event that has the whole text."""

_PARTS: Final[dict[str | None, tuple[str, str]]] = {
    "output_text": ("text", "message"),
    "text": ("text", "message"),
    "refusal": ("refusal", "message"),
    "reasoning_text": ("reasoning", "reasoning"),
    "summary_text": ("summary", "reasoning"),
}
"""The kinds of parts: the part of an item, and the kind of item that has them."""

_PLAIN: Final = {
    "response.custom_tool_call_input.delta": "custom_tool_call",
    "response.apply_patch_call_operation_diff.delta": "apply_patch_call",
    "response.code_interpreter_call_code.delta": "code_interpreter_call",
}
"""Inputs that are streamed as plain text, and their kinds of item."""

_PROGRESS: Final = {
    "response.web_search_call.searching": "Searching the web",
    "response.file_search_call.searching": "Searching in files",
    "response.code_interpreter_call.interpreting": "Running code",
    "response.image_generation_call.generating": "Drawing an image",
    "response.mcp_list_tools.in_progress": "Listing the tools of a server",
}
"""Status lines of hosted tools, while their item has no other content."""

_REPEATED: Final = (
    *("response.function_call_arguments.done", "response.custom_tool_call_input.done"),
    *("response.apply_patch_call_operation_diff.done", "response.code_interpreter_call_code.done"),
    *("response.shell_call_output_content.done", "response.mcp_call_arguments.done"),
    *(
        f"response.{tool}_call.{status}"
        for tool in ("web_search", "file_search", "code_interpreter", "image_generation", "mcp")
        for status in ("in_progress", "completed")
    ),
    *("response.mcp_call.failed", "response.mcp_list_tools.completed"),
    "response.mcp_list_tools.failed",
)
"""Events that repeat what their item has."""


class Deltas:
    """The events for the items of one agent's responses."""

    def __init__(self, items: Items, scope: tuple[str, ...]) -> None:
        self.items = items
        self._scope = scope
        self._sound: list[str] = []

    # Items

    def _item_added(self, event: wire.Event) -> Events:
        return self.items.add(event.output_index, _given(event.item, "item"))

    def _item_done(self, event: wire.Event) -> Events:
        return self.items.finish(event.output_index, _given(event.item, "item"))

    def _part_added(self, event: wire.Event) -> Events:
        item, place, _, text = self._part(event)
        return self.items.parts.open(item, place, text or "")

    def _part_done(self, event: wire.Event) -> Events:
        item, place, part, text = self._part(event)
        return self.items.parts.end_whole(item, place, text, objects_in(part.annotations))

    def _part(self, event: wire.Event) -> tuple[Item, Place, wire.Part, str | None]:
        part = convert(_given(event.part, "part"), wire.Part)
        if part.type not in _PARTS:
            raise UnrecognizedLine(f"part of type {part.type}")
        field, kind = _PARTS[part.type]
        place: Place = (field, event.content_index or 0)
        text = part.refusal if field == "refusal" else part.text
        return self.items.find(event, kind), place, part, text

    def _summary_added(self, event: wire.Event) -> Events:
        text = convert(event.part or {}, wire.Part).text
        item = self.items.find(event, "reasoning")
        return self.items.parts.open(item, ("summary", event.summary_index or 0), text or "")

    def _summary_done(self, event: wire.Event) -> Events:
        text = event.text if event.part is None else convert(event.part, wire.Part).text
        item = self.items.find(event, "reasoning")
        return self.items.parts.end(item, ("summary", event.summary_index or 0), text)

    # Text

    def _add_text(self, event: wire.Event) -> Events:
        kind, field = _TEXT_DELTAS[event.type]
        number = event.summary_index if field == "summary" else event.content_index
        place: Place = (field, number or 0)
        words, item = _words(event), self.items.find(event, kind)
        if not words:
            return self.items.parts.open(item, place)
        return self.items.parts.say(item, place, words)

    def _text_done(self, event: wire.Event) -> Events:
        """The text is complete; the part ends later, maybe after its annotations."""
        item, place = self.items.find(event, "message"), ("text", event.content_index or 0)
        has_text = place in item.parts and item.parts[place].has_text
        return [] if has_text or not event.text else self.items.parts.say(item, place, event.text)

    def _end_text(self, event: wire.Event) -> Events:
        kind, field, whole = _TEXT_ENDS[event.type]
        place: Place = (field, event.content_index or 0)
        text = getattr(event, whole) if whole is not None else None
        return self.items.parts.end(self.items.find(event, kind), place, text)

    def _annotation(self, event: wire.Event) -> Events:
        item, place = self.items.find(event, "message"), ("text", event.content_index or 0)
        return [*self.items.parts.cite(item, place, _given(event.annotation, "annotation"))]

    def _audio(self, event: wire.Event) -> Events:
        self._sound.append(_words(event))
        return []

    def _audio_done(self, _event: wire.Event) -> Events:
        pieces, self._sound = self._sound, []
        sound = joined_sound(pieces)
        return [File(scope=self._scope, media_type=SOUND, base64=sound)] if pieces else []

    # Calls

    def _arguments(self, event: wire.Event) -> Events:
        kind = "mcp_call" if event.type.startswith("response.mcp") else "function_call"
        item = self.items.find(event, kind)
        return self.items.add_input(item, _words(event))

    def _plain_input(self, event: wire.Event) -> Events:
        item = self.items.find(event, _PLAIN[event.type])
        return self.items.add_input(item, _words(event), plain=True)

    def _command_added(self, event: wire.Event) -> Events:
        item = self.items.find(event, "shell_call")
        return self.items.add_json(
            item, ',"' if event.command_index else '{"action":{"commands":["'
        )

    def _command(self, event: wire.Event) -> Events:
        item, words = self.items.find(event, "shell_call"), _words(event)
        return self.items.add_json(item, json_of(words)) if words else []

    def _command_done(self, event: wire.Event) -> Events:
        return self.items.add_json(self.items.find(event, "shell_call"), '"')

    def _shell_output(self, event: wire.Event) -> Events:
        item = self.items.find(event, "shell_call_output")
        if not isinstance(event.delta, dict):
            raise UnrecognizedLine("output that is no object")
        return self.items.add_shell_output(item, event.command_index or 0, event.delta)

    def _partial_image(self, event: wire.Event) -> Events:
        item = self.items.find(event, "image_generation_call")
        image = {"result": event.partial_image_b64, "index": event.partial_image_index}
        return self.items.add_output(item, image)

    def _works(self, event: wire.Event) -> Events:
        return [Status(scope=self._scope, message=_PROGRESS[event.type], kind="progress")]

    EVENTS: ClassVar[dict[str, DeltaHandler]] = {
        **dict.fromkeys(_REPEATED, lambda _deltas, _event: []),
        **dict.fromkeys(_PROGRESS, _works),
        "response.compaction.compacting": lambda deltas, event: deltas.items.compact(
            deltas.items.find(event, "compaction").id
        ),
        # items and parts
        "response.output_item.added": _item_added,
        "response.output_item.done": _item_done,
        "response.content_part.added": _part_added,
        "response.content_part.done": _part_done,
        # text and thoughts
        **dict.fromkeys(_TEXT_DELTAS, _add_text),
        **dict.fromkeys(_TEXT_ENDS, _end_text),
        "response.output_text.done": _text_done,
        "response.output_text.annotation.added": _annotation,
        "response.reasoning_summary_part.added": _summary_added,
        "response.reasoning_summary_part.done": _summary_done,
        "response.reasoning_summary_text.done": _summary_done,
        # sound
        "response.audio.delta": _audio,
        "response.audio.done": _audio_done,
        # calls
        **dict.fromkeys(_PLAIN, _plain_input),
        "response.function_call_arguments.delta": _arguments,
        "response.mcp_call_arguments.delta": _arguments,
        "response.shell_call_command.added": _command_added,
        "response.shell_call_command.delta": _command,
        "response.shell_call_command.done": _command_done,
        "response.shell_call_output_content.delta": _shell_output,
        "response.image_generation_call.partial_image": _partial_image,
    }


_DELTAS: Final = {
    kind: Deltas.EVENTS[kind] for kind in (*_TEXT_DELTAS, "response.function_call_arguments.delta")
}


def _given(value: dict[str, JSON] | None, name: str) -> dict[str, JSON]:
    if value is None:
        raise UnrecognizedLine(f"no {name}")
    return value


def _words(event: wire.Event) -> str:
    if not isinstance(event.delta, str):
        raise UnrecognizedLine("a delta that is no text")
    return event.delta


Handler = Callable[["Responses", wire.Event], Events]


class Responses:
    """The responses of one agent."""

    def __init__(self, names: Names, scope: Scope = (), *, hands_off: bool = False) -> None:
        self.items = Items(names, scope, hands_off=hands_off)
        self._deltas = Deltas(self.items, scope)
        self.model: str | None = None
        self.failed = False
        """The last response ended with an error, which was emitted, or was interrupted."""
        self._names = names
        self._scope = scope
        self._response: str | None = None
        self._raw_id: str | None = None
        self._count = 0
        self._end: str | None = None  # the API's status of the last response

    @property
    def done(self) -> Done | None:
        """How the last response ended; `None` while it has not."""
        if self._end is None:
            return None
        return done_of(self._end, called=bool(self.items.calls), refused=self.items.parts.refused)

    def knows(self, kind: str) -> bool:
        """Whether an event of this type belongs to a response, even if it is unknown."""
        return kind in self.EVENTS or kind.startswith("response.")

    def read(self, raw: dict[str, JSON]) -> Events:
        event = convert(raw, wire.Event)
        if event.type in Deltas.EVENTS:
            return Deltas.EVENTS[event.type](self._deltas, event)
        if event.type not in self.EVENTS:
            raise UnrecognizedLine(event.type)
        return self.EVENTS[event.type](self, event)

    def read_delta(self, event: wire.DeltaEvent) -> Events | None:
        """`read` for a delta of text or of arguments; `None` for any other event."""
        handle = _DELTAS.get(event.type)
        return handle(self._deltas, event) if handle is not None else None

    # Responses

    def _created(self, event: wire.Event) -> Events:
        response = event.response or wire.Response()
        if self._response is not None and response.id == self._raw_id and self._end is None:
            return []
        before = self._leave("interrupted")
        was_cut = self.failed or (self._count > 0 and self._end is None)
        if was_cut and (blocks := tuple(self.items.parts.block_ids)):
            before.append(Retract(scope=self._scope, blocks=blocks, reason="retry"))
        self._count += 1
        self._raw_id = response.id
        self._response = self._names.unique(response.id, "response")
        self.model = response.model or self.model
        self._end, self.failed = None, False
        self.items.begin()
        return [*before, StepStart(id=self._response, scope=self._scope, number=self._count)]

    def _queued(self, event: wire.Event) -> Events:
        progress = Status(scope=self._scope, message="Waiting for the model", kind="progress")
        return [*self._created(event), progress]

    def _completed(self, event: wire.Event) -> Events:
        response = event.response or wire.Response()
        events = [] if self.items else [
            event
            for index, item in enumerate(response.output or ())
            for event in parse_or_raw(partial(self.items.finish, index, item), item, self._scope)
        ]  # fmt: skip
        self._end, self.failed = response.status or "completed", False
        return [*events, *self._use(response), *self._leave("ok")]

    def _incomplete(self, event: wire.Event) -> Events:
        response = event.response or wire.Response()
        reason = (response.incomplete_details or {}).get("reason")
        self._end = reason if isinstance(reason, str) else "length"
        return [*self._use(response), *self._leave("ok")]

    def _failure(self, event: wire.Event) -> Events:
        response = event.response or wire.Response()
        is_reported, self.failed, self._end = self.failed, True, "failed"
        errors = [] if is_reported else [error_of(response.error, self._scope)]
        return [*self._use(response), *errors, *self._leave("error")]

    def _error(self, event: wire.Event) -> Events:
        self.failed = True
        problem = event.error if event.error is not None else {
            "message": event.message, "code": event.code,
        }  # fmt: skip
        return [error_of(problem, self._scope)]

    def _use(self, response: wire.Response) -> Events:
        about = {"model": response.model or self.model, "service_tier": response.service_tier}
        return used(response.usage, self._scope, id=self._response, **about)

    def _leave(self, status: Outcome) -> Events:
        ends = self.items.leave(interrupted=status == "interrupted")
        if self._response is None:
            return ends
        end = StepEnd(id=self._response, scope=self._scope, status=status, reason=self._end)
        self._response = None
        return [*ends, end]

    EVENTS: ClassVar[dict[str, Handler]] = {
        "response.created": _created,
        "response.queued": _queued,
        "response.in_progress": _created,
        "response.completed": _completed,
        "response.incomplete": _incomplete,
        "response.failed": _failure,
        "error": _error,
    }
