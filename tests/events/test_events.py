"""The vocabulary and its codec: what is written comes back, also what another version wrote."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mobox.errors import CorruptLog, InvalidEvent
from mobox.events import (
    CLASSES,
    Done,
    EventType,
    LogEntry,
    Raw,
    Start,
    StreamEvent,
    Text,
    TextDelta,
    TodoCreate,
    TodoItem,
    ToolUseStart,
    decode,
    decode_many,
    encode,
    encode_many,
)
from support.strategies import EVENTS, Events, any_event, events, logs, numbered

THOROUGH = settings(max_examples=200)

# The names of the source document, which keep their values.
DOCUMENTED = [
    "start", "status", "thinking", "thinking_delta", "text", "text_delta", "tool_use_start",
    "tool_use_delta", "tool_use_end", "tool_result", "todo_create", "todo_update", "todo_done",
    "usage", "result", "error", "done", "raw",
]  # fmt: skip


# The vocabulary


def test_every_type_has_a_class_and_every_class_a_type() -> None:
    assert CLASSES.keys() == set(EventType)
    assert set(CLASSES.values()) == set(StreamEvent.__subclasses__())


@pytest.mark.parametrize("name", EventType)
def test_a_class_is_called_and_tagged_like_its_type(name: EventType) -> None:
    event_class = CLASSES[name]
    assert event_class.type is name
    assert event_class.__name__ == name.title().replace("_", "")
    assert event_class.__struct_config__.tag == name.value == name.name.lower()


def test_the_names_of_the_documents_are_kept() -> None:
    assert set(DOCUMENTED) <= set(EventType)


@pytest.mark.parametrize("name", EventType)
def test_every_type_has_its_meaning_written_down(name: EventType) -> None:
    assert CLASSES[name].__doc__ != StreamEvent.__doc__


@given(any_event())
def test_an_event_cannot_be_changed(event: StreamEvent) -> None:
    with pytest.raises(AttributeError):
        event.id = "other"  # type: ignore[misc]


# The documents' shape: a type and data


@THOROUGH
@given(any_event())
def test_an_event_can_be_made_of_its_type_and_data(event: StreamEvent) -> None:
    about = {"id": event.id, "scope": event.scope, "provider": event.provider}
    assert StreamEvent.of(event.type, event.data, **about) == event


def test_data_may_bring_the_id_and_what_is_named_beside_it_wins() -> None:
    assert StreamEvent.of("text_delta", {"id": "m", "delta": "a"}) == TextDelta(id="m", delta="a")
    assert StreamEvent.of("text_delta", {"id": "m", "delta": "a"}, id="n").id == "n"


def test_an_event_may_need_no_data() -> None:
    assert StreamEvent.of("text") == Text()


def test_a_type_may_be_its_name_or_its_value() -> None:
    assert StreamEvent.of(EventType.TEXT) == StreamEvent.of("text")


def test_data_is_exactly_what_was_emitted() -> None:
    event = ToolUseStart(id="c", scope=("t",), provider={"v": 1}, name="f", input={"a": None})
    assert event.data == {"name": "f", "input": {"a": None}}
    assert TodoCreate(items=(TodoItem(content="look"),)).data == {"items": [{"content": "look"}]}
    assert Text().data == {}


WRONG: dict[str, tuple[str, dict[str, Any], str]] = {
    "an unknown type": ("textual", {}, "unknown event type 'textual'; known: start, done, "),
    "an unknown field": ("text", {"text": "a"}, "text has no field text; it has: content, kind"),
    "several": ("text", {"b": 1, "a": 1}, "text has no field a, b; it has: "),
    "a field of the wrong type": ("text", {"content": 1}, "text: Expected `str`, got `int`"),
    "a word that is not in the list": ("done", {"reason": "bored"}, "done: Invalid enum value"),
    "a missing field": ("done", {}, "done: Object missing required field `reason`"),
    "a type inside": ("text", {"type": "text"}, "text has no field type"),
}


@pytest.mark.parametrize(("name", "data", "message"), WRONG.values(), ids=WRONG)
def test_invalid_event_error_names_the_expected_type(
    name: str, data: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidEvent) as raised:
        StreamEvent.of(name, data)
    assert message in str(raised.value)


# The codec


@pytest.mark.parametrize("name", EventType)
def test_an_event_of_each_type_comes_back(name: EventType) -> None:
    @settings(max_examples=20)
    @given(EVENTS[name], st.none() | st.integers(0))
    def comes_back(event: StreamEvent, ts: int | None) -> None:
        entry = LogEntry(7, 9, ts, event)
        assert decode(encode(entry)) == entry

    comes_back()


@THOROUGH
@given(logs())
def test_a_log_comes_back(log: list[LogEntry]) -> None:
    assert decode_many(encode_many(log)) == log
    assert encode_many(log) == b"".join(encode(entry) + b"\n" for entry in log)


@THOROUGH
@given(events())
def test_an_entry_is_one_line(said: Events) -> None:
    assert all(b"\n" not in encode(entry) for entry in numbered(said))


def test_an_entry_is_its_place_and_a_flat_event_without_defaults() -> None:
    entry = LogEntry(1, 12, None, TextDelta(id="m", scope=("c",), delta="é"))
    assert json.loads(encode(entry)) == {
        "seq": 1,
        "id": 12,
        "ts": None,
        "event": {"type": "text_delta", "id": "m", "scope": ["c"], "delta": "é"},
    }


def test_an_empty_log_is_empty() -> None:
    assert encode_many([]) == b""
    assert decode_many(b"") == []


def entry_of(event: object) -> bytes:
    return msgspec.json.encode({"seq": 1, "id": 2, "ts": 3, "event": event})


FOREIGN: dict[str, object] = {
    "an unknown type": {"type": "telepathy", "content": "a"},
    "a field of another type": {"type": "text", "content": ["a"]},
    "a word that is not in the list": {"type": "done", "reason": "bored"},
    "a missing field": {"type": "start"},
    "no type": {"content": "a"},
    "no object": "a",
    "nothing": None,
}


@pytest.mark.parametrize("event", FOREIGN.values(), ids=FOREIGN)
def test_an_event_of_another_version_becomes_raw(event: object) -> None:
    raw = Raw(raw=event, source="unknown event")
    assert decode(entry_of(event)) == LogEntry(1, 2, 3, raw)


def test_a_field_of_another_version_is_left_out() -> None:
    event = {"type": "done", "reason": "stop", "mood": "good"}
    assert decode(entry_of(event)).event == Done(reason="stop")


CORRUPT: dict[str, bytes] = {
    "no JSON": b"garbage",
    "nothing": b" ",
    "half an entry": encode(LogEntry(1, 1, 1, Start(framework="test")))[:-1],
    "no object": b"[]",
    "no place": b'{"id":1,"ts":1,"event":{"type":"text"}}',
    "a place that is none": b'{"seq":"1","id":1,"ts":1,"event":{"type":"text"}}',
    "no event": b'{"seq":1,"id":1,"ts":1}',
    "no UTF-8": b'{"seq":1,"id":1,"ts":1,"event":{"type":"text","content":"\xff"}}',
    "a break after an unknown event": b'{"seq":1,"id":1,"ts":1,"event":{"type":"telepathy"}',
    "no UTF-8 in an unknown event": b'{"seq":1,"id":1,"ts":1,"event":{"type":"x","y":"\xff"}}',
}


@pytest.mark.parametrize("line", CORRUPT.values(), ids=CORRUPT)
def test_invalid_entry_is_corrupt(line: bytes) -> None:
    with pytest.raises(CorruptLog, match="not a log entry: "):
        decode(line)
    with pytest.raises(CorruptLog):
        decode_many(encode(LogEntry(1, 1, 1, Text())) + b"\n" + line + b"\n")


@THOROUGH
@given(any_event(), st.data())
def test_whatever_stands_in_a_log_is_an_entry_or_corrupt(
    event: StreamEvent, data: st.DataObject
) -> None:
    line = bytearray(encode(LogEntry(1, 1, None, event)))
    line[data.draw(st.integers(0, len(line) - 1))] = data.draw(st.integers(0, 255))
    with suppress(CorruptLog):
        assert isinstance(decode(bytes(line)), LogEntry)


def test_the_fields_of_an_event_come_as_a_mapping() -> None:
    with pytest.raises(InvalidEvent, match="expected the fields as a mapping, got 'abc'"):
        StreamEvent.of("text", "abc")  # type: ignore[arg-type]
