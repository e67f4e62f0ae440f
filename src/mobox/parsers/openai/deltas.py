"""Parses the events within a response: its items, their text and thoughts, the inputs of calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Final

from msgspec import convert

from mobox.errors import NotUnderstood
from mobox.events import (
    JSON,
    Events,
    File,
    Status,
    TextDelta,
    ThinkingDelta,
    ToolUseDelta,
)
from mobox.parsers.json_values import objects_in
from mobox.parsers.openai import wire
from mobox.parsers.openai.chat_calls import json_of
from mobox.parsers.openai.extras import SOUND, joined_sound
from mobox.parsers.openai.items import Items
from mobox.parsers.openai.parts import Place

__all__ = ["Deltas"]

Handler = Callable[["Deltas", wire.Event], Events]

_TEXT_DELTAS: Final = {
    "response.output_text.delta": ("message", "text"),
    "response.refusal.delta": ("message", "refusal"),
    "response.reasoning_summary_text.delta": ("reasoning", "summary"),
    "response.reasoning_text.delta": ("reasoning", "reasoning"),
    "response.audio.transcript.delta": ("message", "transcript"),
}
"""Events with a delta of a part: the kind of its item, and the part of the item."""


class Deltas:
    """The events for the items of one agent's responses."""

    def __init__(self, items: Items, scope: tuple[str, ...]) -> None:
        self.items = items
        self.place: tuple[Any, str] | None = None
        """The block of the last delta: the class of its events, and its id."""
        self._scope = scope
        self._sound: list[str] = []

    def read(self, event: wire.Event) -> Events:
        """Parse an event whose type is in the table."""
        self.place = None
        return self.EVENTS[event.type](self, event)

    # Items

    def _item_added(self, event: wire.Event) -> Events:
        return self.items.add(event.output_index, _given(event.item, "item"))

    def _item_done(self, event: wire.Event) -> Events:
        return self.items.finish(event.output_index, _given(event.item, "item"))

    def _part_added(self, event: wire.Event) -> Events:
        part = convert(_given(event.part, "part"), wire.Part)
        if part.type not in _FIELDS:
            raise NotUnderstood(f"part of type {part.type}")
        field, kind = _FIELDS[part.type]
        text = part.refusal if field == "refusal" else part.text
        place = (field, event.content_index or 0)
        return self.items.parts.open(self.items.find(event, kind), place, text or "")

    def _part_done(self, event: wire.Event) -> Events:
        part = convert(_given(event.part, "part"), wire.Part)
        if part.type not in _FIELDS:
            raise NotUnderstood(f"part of type {part.type}")
        field, kind = _FIELDS[part.type]
        whole = part.refusal if field == "refusal" else part.text
        item, place = self.items.find(event, kind), (field, event.content_index or 0)
        return self.items.parts.end_whole(item, place, whole, objects_in(part.annotations))

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
        events = self.items.parts.say(item, place, words)
        event_class = ThinkingDelta if kind == "reasoning" else TextDelta
        if not item.parts[place].ended:
            self.place = (event_class, item.parts[place].id)
        return events

    def _text_done(self, event: wire.Event) -> Events:
        """The text is complete; the part ends later, maybe after its annotations."""
        item, place = self.items.find(event, "message"), ("text", event.content_index or 0)
        has_text = place in item.parts and item.parts[place].has_text
        return [] if has_text or not event.text else self.items.parts.say(item, place, event.text)

    def _refusal_done(self, event: wire.Event) -> Events:
        item = self.items.find(event, "message")
        return self.items.parts.end(item, ("refusal", event.content_index or 0), event.refusal)

    def _reasoning_done(self, event: wire.Event) -> Events:
        item = self.items.find(event, "reasoning")
        return self.items.parts.end(item, ("reasoning", event.content_index or 0), event.text)

    def _transcript_done(self, event: wire.Event) -> Events:
        item = self.items.find(event, "message")
        return self.items.parts.end(item, ("transcript", event.content_index or 0), None)

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
        events = self.items.add_input(item, _words(event))
        if events:
            self.place = (ToolUseDelta, item.call)
        return events

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
            raise NotUnderstood("output that is no object")
        return self.items.add_shell_output(item, event.command_index or 0, event.delta)

    def _partial_image(self, event: wire.Event) -> Events:
        item = self.items.find(event, "image_generation_call")
        image = {"result": event.partial_image_b64, "index": event.partial_image_index}
        return self.items.add_output(item, image)

    def _compacting(self, event: wire.Event) -> Events:
        return self.items.compact(self.items.find(event, "compaction").id)

    def _works(self, event: wire.Event) -> Events:
        return [Status(scope=self._scope, message=_PROGRESS[event.type], kind="progress")]

    def _nothing(self, _event: wire.Event) -> Events:
        """An event that repeats what its item has."""
        return []

    EVENTS: ClassVar[dict[str, Handler]] = {
        "response.compaction.compacting": _compacting,
        # items and parts
        "response.output_item.added": _item_added,
        "response.output_item.done": _item_done,
        "response.content_part.added": _part_added,
        "response.content_part.done": _part_done,
        # text
        **dict.fromkeys(_TEXT_DELTAS, _add_text),
        "response.output_text.done": _text_done,
        "response.output_text.annotation.added": _annotation,
        "response.refusal.done": _refusal_done,
        # thoughts
        "response.reasoning_summary_part.added": _summary_added,
        "response.reasoning_summary_part.done": _summary_done,
        "response.reasoning_summary_text.done": _summary_done,
        "response.reasoning_text.done": _reasoning_done,
        # sound
        "response.audio.delta": _audio,
        "response.audio.done": _audio_done,
        "response.audio.transcript.done": _transcript_done,
        # calls of the caller's own tools
        "response.function_call_arguments.delta": _arguments,
        "response.function_call_arguments.done": _nothing,
        "response.custom_tool_call_input.delta": _plain_input,
        "response.custom_tool_call_input.done": _nothing,
        "response.apply_patch_call_operation_diff.delta": _plain_input,
        "response.apply_patch_call_operation_diff.done": _nothing,
        # hosted tools
        "response.web_search_call.in_progress": _nothing,
        "response.web_search_call.searching": _works,
        "response.web_search_call.completed": _nothing,
        "response.file_search_call.in_progress": _nothing,
        "response.file_search_call.searching": _works,
        "response.file_search_call.completed": _nothing,
        "response.code_interpreter_call.in_progress": _nothing,
        "response.code_interpreter_call.interpreting": _works,
        "response.code_interpreter_call.completed": _nothing,
        "response.code_interpreter_call_code.delta": _plain_input,
        "response.code_interpreter_call_code.done": _nothing,
        "response.shell_call_command.added": _command_added,
        "response.shell_call_command.delta": _command,
        "response.shell_call_command.done": _command_done,
        "response.shell_call_output_content.delta": _shell_output,
        "response.shell_call_output_content.done": _nothing,
        "response.image_generation_call.in_progress": _nothing,
        "response.image_generation_call.generating": _works,
        "response.image_generation_call.partial_image": _partial_image,
        "response.image_generation_call.completed": _nothing,
        "response.mcp_call.in_progress": _nothing,
        "response.mcp_call_arguments.delta": _arguments,
        "response.mcp_call_arguments.done": _nothing,
        "response.mcp_call.completed": _nothing,
        "response.mcp_call.failed": _nothing,
        "response.mcp_list_tools.in_progress": _works,
        "response.mcp_list_tools.completed": _nothing,
        "response.mcp_list_tools.failed": _nothing,
    }


_FIELDS: dict[str | None, tuple[str, str]] = {
    "output_text": ("text", "message"),
    "text": ("text", "message"),
    "refusal": ("refusal", "message"),
    "reasoning_text": ("reasoning", "reasoning"),
    "summary_text": ("summary", "reasoning"),
}
"""The kinds of parts: the part of an item, and the kind of item that has them."""

_PLAIN = {
    "response.custom_tool_call_input.delta": "custom_tool_call",
    "response.apply_patch_call_operation_diff.delta": "apply_patch_call",
    "response.code_interpreter_call_code.delta": "code_interpreter_call",
}
"""Inputs that are streamed as plain text, and their kinds of item."""

_PROGRESS = {
    "response.web_search_call.searching": "Searching the web",
    "response.file_search_call.searching": "Searching in files",
    "response.code_interpreter_call.interpreting": "Running code",
    "response.image_generation_call.generating": "Drawing an image",
    "response.mcp_list_tools.in_progress": "Listing the tools of a server",
}
"""Status lines of hosted tools, while their item has no other content."""


def _given(value: dict[str, JSON] | None, name: str) -> dict[str, JSON]:
    if value is None:
        raise NotUnderstood(f"no {name}")
    return value


def _words(event: wire.Event) -> str:
    if not isinstance(event.delta, str):
        raise NotUnderstood("a delta that is no text")
    return event.delta
