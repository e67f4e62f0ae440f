"""What AG-UI's clients accept, written from their code and not from our formatter.

The keys are those of the schemas of `@ag-ui/core` 1.0.0, the order is that of `verifyEvents`. Where
the client would show something odd instead of failing (a message twice, arguments that are not
JSON, a run that never ends), that is illegal too; and so is what clients older than 1.0 refuse, in
the profile that is for them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NoReturn

Check = Callable[[Any], bool]
Keys = dict[str, Check]
Event = dict[str, Any]
Rule = Callable[["Run", Event], None]


def check_ag_ui(documents: Sequence[bytes], profile: str = "1.0") -> None:
    """Fail unless `documents` are one whole response."""
    run = Run(profile)
    for number, document in enumerate(documents, 1):
        run.read(number, document)
    assert run.state == "over", f"after event {len(documents)}: the run has no end"


def events_of(documents: Sequence[bytes]) -> list[Event]:
    """The events of a response."""
    return [json.loads(document) for document in documents]


# Values


def is_string(value: Any) -> bool:
    return isinstance(value, str)


def is_object(value: Any) -> bool:
    return isinstance(value, dict)


def is_anything(value: Any) -> bool:
    """Only these may be null."""
    return True


def is_something(value: Any) -> bool:
    return value is not None


def is_said(value: Any) -> bool:
    """A piece of text; 0.0.47 and older refuse an empty one."""
    return isinstance(value, str) and bool(value)


def one_of(*words: str) -> Check:
    return lambda value: value in words


def list_of(check: Check) -> Check:
    return lambda value: isinstance(value, list) and all(map(check, value))


def shape(required: Keys, optional: Keys) -> Check:
    """An object of these keys and no others."""

    def check(value: Any) -> bool:
        if not isinstance(value, dict) or not required.keys() <= value.keys():
            return False
        known = {**required, **optional}
        return all(key in known and known[key](value[key]) for key in value)

    return check


def is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53


TOKENS = shape(
    {},
    {
        "provider": is_string,
        "model": is_string,
        **dict.fromkeys(("inputTokens", "outputTokens", "totalTokens"), is_count),
        **dict.fromkeys(("reasoningTokens", "cachedInputTokens"), is_count),
        "cacheWriteInputTokens": is_count,
    },
)
INTERRUPT = shape(
    {"id": is_string, "reason": is_string},
    {
        "message": is_string,
        "toolCallId": is_string,
        "responseSchema": is_object,
        "expiresAt": is_string,
        "subagentRunId": is_string,
        "metadata": is_object,
    },
)
PENDING: Keys = {"pendingToolCallIds": list_of(is_string)}
SUCCESS = shape({"type": one_of("success")}, {})
ASKS = shape(
    {
        "type": one_of("interrupt"),
        "interrupts": lambda value: list_of(INTERRUPT)(value) and bool(value),
    },
    {},
)
OUTCOMES = {
    "1.0": [
        shape({"type": one_of("success")}, PENDING),
        ASKS,
        shape({"type": one_of("cancelled")}, {}),
    ],
    "pre-1.0": [SUCCESS, ASKS],
}

TEXT_PART = shape({"type": one_of("text"), "text": is_string}, {"metadata": is_object})
DATA = shape({"type": one_of("data"), "value": is_string, "mimeType": is_string}, {})
URL = shape({"type": one_of("url"), "value": is_string}, {"mimeType": is_string})
MEDIA_PART = shape(
    {
        "type": one_of("image", "audio", "video", "document"),
        "source": lambda value: DATA(value) or URL(value),
    },
    {"metadata": is_object},
)


def is_part(value: Any) -> bool:
    return TEXT_PART(value) or MEDIA_PART(value)


def is_content(value: Any) -> bool:
    return isinstance(value, str) or list_of(is_part)(value)


RESULTS = {"1.0": is_content, "pre-1.0": is_string}

OPERATION: dict[str, Keys] = {
    "add": {"value": is_anything},
    "replace": {"value": is_anything},
    "remove": {},
}


def is_pointer(value: Any) -> bool:
    return isinstance(value, str) and value[:1] in ("", "/")


def is_operation(value: Any) -> bool:
    more = OPERATION.get(value.get("op", "")) if isinstance(value, dict) else None
    if more is None:
        return False
    return shape({"op": is_string, "path": is_pointer, **more}, {})(value)


COMMON: Keys = {"id": is_string}
ALWAYS: Keys = {"metadata": is_object, "subagentRunId": is_string}
FUNCTION = shape({"name": is_string, "arguments": is_string}, {})
TOOL_CALL = shape(
    {"id": is_string, "type": one_of("function"), "function": FUNCTION},
    {"encryptedValue": is_string, "metadata": is_object},
)
MESSAGES: dict[str, Check] = {
    "user": shape({**COMMON, "role": is_string, "content": is_content}, ALWAYS),
    "assistant": shape(
        {**COMMON, "role": is_string},
        {**ALWAYS, "content": is_string, "toolCalls": list_of(TOOL_CALL)},
    ),
    "tool": shape(
        {**COMMON, "role": is_string, "toolCallId": is_string, "content": is_content}, ALWAYS
    ),
    "reasoning": shape(
        {**COMMON, "role": is_string, "content": is_string}, {**ALWAYS, "encryptedValue": is_string}
    ),
    "activity": shape(
        {**COMMON, "role": is_string, "activityType": is_string, "content": is_object}, ALWAYS
    ),
}


def is_message(value: Any) -> bool:
    return isinstance(value, dict) and MESSAGES.get(value.get("role", ""), is_nothing)(value)


def is_nothing(value: Any) -> bool:
    return False


# Keys: those that must be there, then those that may

WHO: Keys = {"subagentRunId": is_string}
MESSAGE: Keys = {"messageId": is_string}
CALL: Keys = {"toolCallId": is_string}
RUN: Keys = {"threadId": is_string, "runId": is_string}
USAGE: Keys = {"usage": list_of(TOKENS)}
AGENT: Keys = {"subagentRunId": is_string}
PARENTS: Keys = dict.fromkeys(("parentSubagentRunId", "parentToolCallId"), is_string)

SHAPES: dict[str, tuple[Keys, Keys]] = {
    "RUN_STARTED": (RUN, {"protocolVersion": one_of("1.0"), "parentRunId": is_string}),
    "RUN_FINISHED": (RUN, {"result": is_something, "outcome": is_object, **USAGE}),
    "RUN_ERROR": ({"message": is_string}, {"code": is_string, **USAGE}),
    "STEP_STARTED": ({"stepName": is_string}, WHO),
    "STEP_FINISHED": ({"stepName": is_string}, WHO),
    "TEXT_MESSAGE_START": (MESSAGE, {**WHO, "role": one_of("assistant")}),
    "TEXT_MESSAGE_CONTENT": ({**MESSAGE, "delta": is_said}, WHO),
    "TEXT_MESSAGE_END": (MESSAGE, WHO),
    "TOOL_CALL_START": (
        {**CALL, "toolCallName": is_string},
        {**WHO, "parentMessageId": is_string},
    ),
    "TOOL_CALL_ARGS": ({**CALL, "delta": is_said}, WHO),
    "TOOL_CALL_END": (CALL, WHO),
    "TOOL_CALL_RESULT": (
        {**MESSAGE, **CALL, "content": is_anything},
        {**WHO, "role": one_of("tool")},
    ),
    "STATE_SNAPSHOT": ({"snapshot": is_anything}, WHO),
    "STATE_DELTA": ({"delta": list_of(is_operation)}, WHO),
    "MESSAGES_SNAPSHOT": ({"messages": list_of(is_message)}, {}),
    "ACTIVITY_SNAPSHOT": ({**MESSAGE, "activityType": is_string, "content": is_object}, WHO),
    "REASONING_START": (MESSAGE, WHO),
    "REASONING_MESSAGE_START": ({**MESSAGE, "role": one_of("reasoning")}, WHO),
    "REASONING_MESSAGE_CONTENT": ({**MESSAGE, "delta": is_said}, WHO),
    "REASONING_MESSAGE_END": (MESSAGE, WHO),
    "REASONING_END": (MESSAGE, WHO),
    "REASONING_ENCRYPTED_VALUE": (
        {
            "subtype": one_of("message", "tool-call"),
            "entityId": is_string,
            "encryptedValue": is_string,
        },
        WHO,
    ),
    "CUSTOM": ({"name": is_string, "value": is_anything}, WHO),
}
SUBAGENTS: dict[str, tuple[Keys, Keys]] = {
    "SUBAGENT_STARTED": ({**AGENT, "name": is_string}, {"description": is_string, **PARENTS}),
    "SUBAGENT_FINISHED": (
        AGENT,
        {"result": is_something, "outcome": shape({"type": one_of("success", "suspended")}, {})},
    ),
    "SUBAGENT_ERROR": ({**AGENT, "message": is_string}, {"code": is_string}),
}
PROFILES = {"1.0": SHAPES | SUBAGENTS, "pre-1.0": SHAPES}


class Run:
    """How far a response has been read."""

    def __init__(self, profile: str) -> None:
        self.profile = profile
        self.json = json.JSONDecoder(parse_constant=self.no_number, object_pairs_hook=self.object)
        self.state = "nothing"
        self.place = ""
        self.ids: dict[str, str] = {}
        self.open: set[tuple[str, ...]] = set()
        self.owners: dict[tuple[str, str], str | None] = {}
        self.messages: set[str] = set()
        self.arguments: dict[str, str] = {}
        self.answered: set[str] = set()
        self.started: set[str] = set()

    def read(self, number: int, document: bytes) -> None:
        event = self.decode(number, document)
        kind = event["type"]
        self.place = f"event {number} ({kind})"
        self.rule(self.state != "over", "nothing comes after the end")
        self.rule(
            (self.state == "nothing") == (kind == "RUN_STARTED"), "RUN_STARTED is first, once"
        )
        self.check_keys(kind, event)
        self.state = "running"
        self.RULES.get(kind, Run.anything)(self, event)

    def rule(self, obeyed: bool, what: str) -> None:
        assert obeyed, f"{self.place}: {what}"

    # One document

    def decode(self, number: int, document: bytes) -> Event:
        self.place = f"event {number} {document[:80]!r}"
        self.rule(b"\n" not in document and b"\r" not in document, "a document has no line ends")
        event = self.json.decode(document.decode())
        self.rule(isinstance(event, dict), "a document is an object")
        self.rule(isinstance(event.get("type"), str), "an event has a type")
        assert isinstance(event, dict)
        return event

    def no_number(self, name: str) -> NoReturn:
        raise AssertionError(f"{self.place}: {name} is no JSON")

    def object(self, pairs: list[tuple[str, Any]]) -> Event:
        value = dict(pairs)
        self.rule(len(value) == len(pairs), "a key stands twice")
        return value

    def check_keys(self, kind: str, event: Event) -> None:
        shapes = PROFILES[self.profile]
        self.rule(kind in shapes, "the client does not know this type")
        required, optional = shapes[kind]
        given = event.keys() - {"type"}
        self.rule(required.keys() <= given, f"{sorted(required.keys() - given)} missing")
        known = {**required, **optional, "metadata": is_object}
        self.rule(given <= known.keys(), f"{sorted(given - known.keys())} unknown")
        for key in given:
            if not known[key](event[key]):  # else its text is not needed, and may be long
                self.rule(False, f"{key} cannot be {event[key]!r:.200}")

    # The order

    def anything(self, event: Event) -> None:
        """No rule is about it."""

    def begin(self, event: Event) -> None:
        self.ids = {key: event[key] for key in RUN}
        self.rule(("protocolVersion" in event) == (self.profile == "1.0"), "its version")

    def finish(self, event: Event) -> None:
        self.rule({key: event[key] for key in RUN} == self.ids, "another run ends")
        self.rule(not self.open, f"still open: {sorted(self.open)}")
        outcome = event.get("outcome")
        known = outcome is None or any(check(outcome) for check in OUTCOMES[self.profile])
        self.rule(known, f"the client does not know the outcome {outcome}")
        self.state = "over"

    def fail(self, event: Event) -> None:
        self.rule(not self.open, f"still open: {sorted(self.open)}")
        self.state = "over"

    def start_step(self, event: Event) -> None:
        self.rule(self.step_of(event) not in self.open, "this step is open already")
        self.open.add(self.step_of(event))

    def end_step(self, event: Event) -> None:
        self.rule(self.step_of(event) in self.open, "this step is not open")
        self.open.remove(self.step_of(event))

    def step_of(self, event: Event) -> tuple[str, ...]:
        return "step", event["stepName"], event.get("subagentRunId", "")

    def start_item(self, event: Event) -> None:
        item = self.item_of(event)
        self.rule(item not in self.open, f"{item} is open already")
        self.own(item[0], event)
        self.open.add(item)

    def in_item(self, event: Event) -> None:
        self.rule(self.item_of(event) in self.open, f"{self.item_of(event)} is not open")
        self.own(self.item_of(event)[0], event)

    def end_item(self, event: Event) -> None:
        self.in_item(event)
        self.open.remove(self.item_of(event))

    def item_of(self, event: Event) -> tuple[str, str]:
        kind = event["type"].rpartition("_")[0]
        return kind, event["toolCallId" if kind == "TOOL_CALL" else "messageId"]

    def own(self, kind: str, event: Event) -> None:
        """Whose it is, the opening says; who says otherwise later is refused."""
        kind = "REASONING" if kind.startswith("REASONING") else kind
        key = (kind, str(event.get("toolCallId") or event.get("messageId")))
        owner = self.owners.setdefault(key, event.get("subagentRunId"))
        self.rule(event.get("subagentRunId", owner) == owner, f"{key} is of {owner}")

    def start_message(self, event: Event) -> None:
        self.start_item(event)
        self.messages.add(event["messageId"])

    # Tool calls

    def start_call(self, event: Event) -> None:
        self.start_item(event)
        call = event["toolCallId"]
        self.rule(call not in self.started, "this call has started before")
        self.started.add(call)
        self.arguments.setdefault(call, "")
        self.messages.add(event.get("parentMessageId") or call)

    def add_arguments(self, event: Event) -> None:
        self.in_item(event)
        self.arguments[event["toolCallId"]] += event["delta"]

    def result(self, event: Event) -> None:
        call = event["toolCallId"]
        self.rule(call in self.arguments, "nobody started this call")
        self.rule(("TOOL_CALL", call) not in self.open, "a result before the input is complete")
        self.rule(call not in self.answered, "the client would have two results")
        self.rule(event["messageId"] not in self.messages, "there is such a message already")
        self.rule(RESULTS[self.profile](event["content"]), "no such content")
        self.answered.add(call)
        self.messages.add(event["messageId"])

    # Snapshots and what belongs to a message

    def replace_messages(self, event: Event) -> None:
        ids = [message["id"] for message in event["messages"]]
        self.rule(len(ids) == len(set(ids)), "a message stands twice")
        self.messages = set(ids)
        calls = [call for message in event["messages"] for call in message.get("toolCalls", [])]
        self.arguments |= {call["id"]: call["function"]["arguments"] for call in calls}
        self.answered = {m["toolCallId"] for m in event["messages"] if m["role"] == "tool"}
        for message in event["messages"]:
            self.own_again(message)

    def own_again(self, message: Event) -> None:
        owner = message.get("subagentRunId")
        kinds = {"reasoning": "REASONING", "activity": "ACTIVITY"}
        self.owners[kinds.get(message["role"], "TEXT_MESSAGE"), message["id"]] = owner
        for call in message.get("toolCalls", []):
            self.owners["TOOL_CALL", call["id"]] = owner

    def encrypted(self, event: Event) -> None:
        known = self.messages if event["subtype"] == "message" else self.arguments.keys()
        self.rule(event["entityId"] in known, "there is nothing that it could belong to")

    def activity(self, event: Event) -> None:
        self.messages.add(event["messageId"])

    # Subagents

    def start_agent(self, event: Event) -> None:
        name, parent = event["subagentRunId"], event.get("parentSubagentRunId")
        self.rule(("agent", name) not in self.owners, "a subagent is started once")
        self.rule(parent is None or ("agent", parent) in self.owners, "nobody started its parent")
        self.owners["agent", name] = parent
        self.open.add(("agent", name))

    def end_agent(self, event: Event) -> None:
        agent = ("agent", event["subagentRunId"])
        self.rule(agent in self.open, "this subagent does not run")
        self.open.remove(agent)

    RULES: ClassVar[dict[str, Rule]] = {
        "RUN_STARTED": begin,
        "RUN_FINISHED": finish,
        "RUN_ERROR": fail,
        "STEP_STARTED": start_step,
        "STEP_FINISHED": end_step,
        "TEXT_MESSAGE_START": start_message,
        "TEXT_MESSAGE_CONTENT": in_item,
        "TEXT_MESSAGE_END": end_item,
        "REASONING_START": start_item,
        "REASONING_MESSAGE_START": start_message,
        "REASONING_MESSAGE_CONTENT": in_item,
        "REASONING_MESSAGE_END": end_item,
        "REASONING_END": end_item,
        "REASONING_ENCRYPTED_VALUE": encrypted,
        "TOOL_CALL_START": start_call,
        "TOOL_CALL_ARGS": add_arguments,
        "TOOL_CALL_END": end_item,
        "TOOL_CALL_RESULT": result,
        "MESSAGES_SNAPSHOT": replace_messages,
        "ACTIVITY_SNAPSHOT": activity,
        "SUBAGENT_STARTED": start_agent,
        "SUBAGENT_FINISHED": end_agent,
        "SUBAGENT_ERROR": end_agent,
    }
