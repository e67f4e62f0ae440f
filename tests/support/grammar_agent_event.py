"""What a client of the `agent:event` contract may rely on, written from it, not from our formatter.

The types and their fields are those of the contract (docs/agent-event.md); so are the states. The
three orders are checked as a client uses them: chunks by `blockIndex`, all events by `eventIndex`,
what is stored by `sequenceNumber`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

Check = Callable[[Any], bool]
Keys = dict[str, Check]
Event = dict[str, Any]
Rule = Callable[["Run", Event], None]

TIME = re.compile(r"\d{4}-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-5]\d\.\d{3}Z")


def check_agent_events(
    documents: Sequence[bytes],
    profile: str = "v1",
    *,
    first: int = 0,
    waits: bool = False,
    later_version: bool = False,
) -> Run:
    """Fail unless `documents` are one whole run, or one that waits, from the event `first` on.

    In the log of a later version an event may bring another with it: they share its number.
    """
    run = Run(profile, first, later_version=later_version)
    for number, document in enumerate(documents, 1):
        run.read(number, document)
    place = f"after event {len(documents)}"
    assert run.state == ("running" if waits else "over"), f"{place}: the run is {run.state}"
    assert not run.pending, f"{place}: never persisted: {run.pending['eventId']}"
    return run


def events_of(documents: Sequence[bytes]) -> list[Event]:
    """The events of a run."""
    return [json.loads(document) for document in documents]


# Values


def is_string(value: Any) -> bool:
    return isinstance(value, str)


def is_name(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def is_string_or_null(value: Any) -> bool:
    return value is None or isinstance(value, str)


def is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def is_object(value: Any) -> bool:
    return isinstance(value, dict)


def is_anything(value: Any) -> bool:
    return True


def is_true(value: Any) -> bool:
    return value is True


def is_time(value: Any) -> bool:
    return isinstance(value, str) and TIME.fullmatch(value) is not None


def some(check: Check) -> Check:
    return lambda value: isinstance(value, list) and bool(value) and all(map(check, value))


def shape(required: Keys, optional: Keys) -> Check:
    known = {**required, **optional}

    def check(value: Any) -> bool:
        if not isinstance(value, dict) or not required.keys() <= value.keys() <= known.keys():
            return False
        return all(known[key](item) for key, item in value.items())

    return check


MODEL = shape(dict.fromkeys(("model", "agent", "framework"), is_string_or_null), {})
USAGE = shape(
    {},
    {
        **dict.fromkeys(("input_tokens", "output_tokens"), is_count),
        **dict.fromkeys(("cache_creation_input_tokens", "cache_read_input_tokens"), is_count),
        "service_tier": is_string,
    },
)
TEXTS = ("cited_text", "title", "url", "document", "file")
CITATION = shape(
    {},
    {
        **dict.fromkeys(TEXTS, is_string),
        **dict.fromkeys(("location", "score", "confidence"), is_anything),
        "blockIndex": is_count,
    },
)

# Keys: those that must be there, then those that may

SAID: Keys = {"content": is_string, "blockIndex": is_count}
CITED: Keys = {"citations": some(CITATION)}
SCOPE: Keys = {"scope": some(is_string)}
CALL: Keys = {"tool_name": is_string, "tool_call_id": is_string}
COMMON: Keys = {
    "messageId": is_name,
    "eventId": is_name,
    "eventIndex": is_count,
    "timestamp": is_time,
    "persistenceState": is_name,
}
ALWAYS: Keys = {"sequenceNumber": is_count, "retracted": some(is_count)}

SHAPES: dict[str, tuple[Keys, Keys]] = {
    "session_start": (
        {"sessionId": is_name, "userId": is_string_or_null, "modelConfig": MODEL},
        {},
    ),
    "thinking_chunk": (SAID, SCOPE),
    "thinking": (SAID, {**SCOPE, "signature": is_string}),
    "message_chunk": (SAID, CITED),
    "message": (SAID, CITED),
    "tool_use": ({**CALL, "tool_input": is_object, "blockIndex": is_count}, SCOPE),
    "tool_result": ({**CALL, "result": is_anything}, {**SCOPE, "isError": is_true}),
    "complete": ({"stop_reason": is_name, "usage": USAGE}, {}),
    "error": ({"error": is_string, "code": is_name}, {}),
}
CHUNKS = {"thinking_chunk", "message_chunk"}


class Run:
    """How far a run has been read, and what a client has of it."""

    def __init__(self, profile: str, first: int, *, later_version: bool) -> None:
        self.profile = profile
        self.later_version = later_version
        self.json = json.JSONDecoder(parse_constant=self.no_number, object_pairs_hook=self.object)
        self.state = "nothing"
        self.place = ""
        self.message_id = ""
        self.next_index = first
        self.last_sequence = -1
        self.ids: set[str] = set()
        self.pending: Event = {}
        self.open: dict[int, tuple[str, str, list[Any]]] = {}  # kind, text and citations by block
        self.placed: set[int] = set()
        self.blocks: dict[int, Event] = {}
        self.calls: dict[str, str] = {}
        self.results: dict[str, Event] = {}
        self.retracted: set[int] = set()

    def read(self, number: int, document: bytes) -> None:
        self.place = f"event {number} {document[:80]!r}"
        self.rule(b"\n" not in document and b"\r" not in document, "a document has no line ends")
        event = self.json.decode(document.decode())
        self.rule(isinstance(event, dict), "a document is an object")
        self.place = f"event {number} ({event.get('type')})"
        self.check_keys(event)
        self.check_state(event)
        if self.pending:
            self.settle(event)
        else:
            self.number(event)
            self.order(event)
            self.RULES[event["type"]](self, event)
        self.pending = event if event["persistenceState"] == "pending" else {}

    def rule(self, obeyed: bool, what: str) -> None:
        assert obeyed, f"{self.place}: {what}"

    def no_number(self, name: str) -> None:
        raise AssertionError(f"{self.place}: {name} is no JSON")

    def object(self, pairs: list[tuple[str, Any]]) -> Event:
        value = dict(pairs)
        self.rule(len(value) == len(pairs), "a key stands twice")
        return value

    # What every event has

    def check_keys(self, event: Event) -> None:
        self.rule(event.get("type") in SHAPES, "there is no such type")
        required, optional = SHAPES[event["type"]]
        required = {**COMMON, **required}
        given = event.keys() - {"type"}
        self.rule(required.keys() <= given, f"{sorted(required.keys() - given)} missing")
        known = {**required, **optional, **ALWAYS}
        self.rule(given <= known.keys(), f"{sorted(given - known.keys())} unknown")
        for key in given:
            if not known[key](event[key]):  # else its text is not needed, and may be long
                self.rule(False, f"{key} cannot be {event[key]!r:.200}")

    def check_state(self, event: Event) -> None:
        state = event["persistenceState"]
        stored = {"pending", "persisted"} if self.profile == "document" else {"persisted"}
        expected = {"transient"} if event["type"] in CHUNKS else stored
        self.rule(state in expected, f"its state cannot be {state}")
        self.rule(
            ("sequenceNumber" in event) == (state == "persisted"), "numbered once it is stored"
        )
        if state == "persisted":
            after, number = self.last_sequence, event["sequenceNumber"]
            in_order = after <= number if self.later_version else after < number
            self.rule(in_order, f"sequenceNumber {number} after {after}")
            self.last_sequence = number

    def settle(self, event: Event) -> None:
        """What was pending is told again as persisted, and nothing comes between."""
        told = {key: value for key, value in event.items() if key != "sequenceNumber"}
        self.rule(told == {**self.pending, "persistenceState": "persisted"}, "not what was pending")

    def number(self, event: Event) -> None:
        self.rule(event["eventIndex"] == self.next_index, f"eventIndex is not {self.next_index}")
        self.next_index += 1
        self.rule(event["eventId"] not in self.ids, "its id was another's")
        self.ids.add(event["eventId"])
        if self.profile == "document" and event["type"] not in CHUNKS:
            self.rule(event["persistenceState"] == "pending", "first it is pending")

    def order(self, event: Event) -> None:
        begins = event["type"] == "session_start"
        self.rule(begins == (self.state == "nothing"), "session_start is first, once")
        self.rule(self.state != "over", "nothing comes after the end")
        self.state = "running"
        self.message_id = self.message_id or event["messageId"]
        self.rule(event["messageId"] == self.message_id, "another run's event")
        for index in event.get("retracted", ()):
            self.rule(index not in self.open, "what is taken back has ended")
            self.rule(index not in self.retracted, "it was taken back before")
            self.retracted.add(index)

    # Each type

    def begin(self, event: Event) -> None:
        """No rule is about it but that it is first."""

    def chunk(self, event: Event) -> None:
        kind, index = event["type"].removesuffix("_chunk"), event["blockIndex"]
        if index not in self.open:
            self.take_place(index)
        opened, text, citations = self.open.get(index, (kind, "", []))
        self.rule(opened == kind, f"this block is a {opened}")
        self.rule(bool(event["content"] or "citations" in event or not text), "it says nothing")
        citations = [*citations, *event.get("citations", ())]
        self.open[index] = (kind, text + event["content"], citations)

    def whole(self, event: Event) -> None:
        index = event["blockIndex"]
        self.rule(index in self.open, "nothing of this block was told")
        kind, text, citations = self.open.pop(index)
        self.rule(kind == event["type"], f"this block is a {kind}")
        self.rule(text == event["content"], f"its chunks are {text!r}")
        self.rule(citations == event.get("citations", []), f"its chunks cite {citations}")
        self.blocks[index] = event

    def take_place(self, index: int) -> None:
        self.rule(index not in self.placed, "this block has ended")
        self.placed.add(index)

    def use(self, event: Event) -> None:
        self.take_place(event["blockIndex"])
        call = event["tool_call_id"]
        self.rule(call not in self.calls, "this call was told before")
        self.calls[call] = event["tool_name"]
        self.blocks[event["blockIndex"]] = event

    def result(self, event: Event) -> None:
        call = event["tool_call_id"]
        self.rule(call in self.calls, "nobody made this call")
        self.rule(self.calls[call] == event["tool_name"], "the call is of another tool")
        self.results[call] = event

    def end(self, event: Event) -> None:
        self.rule(not self.open, f"still open: {sorted(self.open)}")
        self.state = "over"

    RULES: ClassVar[dict[str, Rule]] = {
        "session_start": begin,
        "thinking_chunk": chunk,
        "thinking": whole,
        "message_chunk": chunk,
        "message": whole,
        "tool_use": use,
        "tool_result": result,
        "complete": end,
        "error": end,
    }
