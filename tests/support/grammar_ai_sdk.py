"""What the AI SDK's client accepts, written from the client's code and not from our formatter.

The keys are those of `uiMessageChunkSchema` in the strictest release of each profile (5.0.60,
6.0.37, 7.0.169), the order is that of its `processUIMessageStream`; where the client would show
something odd instead of failing (two parts for one call, a part that streams for ever), that is
illegal too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from typing import Any, ClassVar, NoReturn

Check = Callable[[Any], bool]
Keys = dict[str, Check]
Chunk = dict[str, Any]
Rule = Callable[["Stream", Chunk], None]

DONE = b"[DONE]"


def check_ai_sdk(
    documents: Sequence[bytes],
    profile: str = "v6",
    continues: Collection[str] = (),
    *,
    any_ids: bool = False,
) -> None:
    """Fail unless `documents` are one whole response.

    `continues` are the tool calls of the same message which an earlier response has told. With
    `any_ids`, calls may have ids that are not unique in a chat.
    """
    stream = Stream(profile, continues)
    stream.any_ids = any_ids
    for number, document in enumerate(documents, 1):
        stream.read(number, document)
    assert stream.state == "over", f"after chunk {len(documents)}: [DONE] is missing"


def chunks_of(documents: Sequence[bytes]) -> list[Chunk]:
    """The chunks of a whole response, without [DONE]."""
    return [json.loads(document) for document in documents if document != DONE]


# Values


def is_string(value: Any) -> bool:
    return isinstance(value, str)


def is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def is_anything(value: Any) -> bool:
    """Only what the schema calls `unknown` may be null."""
    return True


def is_metadata(value: Any) -> bool:
    """A map of maps: provider, name, JSON value."""
    if not isinstance(value, dict) or has_constructor(value):
        return False
    return all(isinstance(bag, dict) for bag in value.values())


def has_constructor(value: Any) -> bool:
    """To the schema library that is no plain object, at whatever depth."""
    if isinstance(value, dict):
        return "constructor" in value or any(map(has_constructor, value.values()))
    return isinstance(value, list) and any(map(has_constructor, value))


def one_of(*words: str) -> Check:
    return lambda value: value in words


# Keys: those that must be there, then those that may

ID: Keys = {"id": is_string}
CALL: Keys = {"toolCallId": is_string}
NAMED_CALL: Keys = {**CALL, "toolName": is_string}
METADATA: Keys = {"providerMetadata": is_metadata}
HOW: Keys = {"dynamic": is_flag, "providerExecuted": is_flag}
SAYS: Keys = {"messageMetadata": is_anything}
LINK: Keys = {"url": is_string, "mediaType": is_string}

V5: dict[str, tuple[Keys, Keys]] = {
    "start": ({"messageId": is_string}, SAYS),
    "text-start": (ID, METADATA),
    "text-delta": ({**ID, "delta": is_string}, METADATA),
    "text-end": (ID, METADATA),
    "reasoning-start": (ID, METADATA),
    "reasoning-delta": ({**ID, "delta": is_string}, METADATA),
    "reasoning-end": (ID, METADATA),
    "tool-input-start": (NAMED_CALL, HOW),
    "tool-input-delta": ({**CALL, "inputTextDelta": is_string}, {}),
    "tool-input-available": ({**NAMED_CALL, "input": is_anything}, {**HOW, **METADATA}),
    "tool-input-error": (
        {**NAMED_CALL, "input": is_anything, "errorText": is_string},
        {**HOW, **METADATA},
    ),
    "tool-output-available": ({**CALL, "output": is_anything}, {**HOW, "preliminary": is_flag}),
    "tool-output-error": ({**CALL, "errorText": is_string}, HOW),
    "source-url": ({"sourceId": is_string, "url": is_string}, {"title": is_string, **METADATA}),
    "source-document": (
        {"sourceId": is_string, "mediaType": is_string, "title": is_string},
        {"filename": is_string, **METADATA},
    ),
    "file": (LINK, METADATA),
    "data": ({"data": is_anything}, {**ID, "transient": is_flag}),
    "start-step": ({}, {}),
    "finish-step": ({}, {}),
    "message-metadata": (SAYS, {}),
    "finish": ({}, SAYS),
    "abort": ({}, {}),
    "error": ({"errorText": is_string}, {}),
}

REASONS = ("stop", "length", "content-filter", "tool-calls", "error", "other")
V6 = V5 | {
    "tool-approval-request": ({"approvalId": is_string, **CALL}, {}),
    "tool-output-denied": (CALL, {}),
    "finish": ({}, {**SAYS, "finishReason": one_of(*REASONS)}),
    "abort": ({}, {"reason": is_string}),
}
V7 = V6 | {
    "tool-input-start": (NAMED_CALL, {**HOW, **METADATA}),
    "tool-output-available": (
        {**CALL, "output": is_anything},
        {**HOW, "preliminary": is_flag, **METADATA},
    ),
    "tool-output-error": ({**CALL, "errorText": is_string}, {**HOW, **METADATA}),
    "tool-approval-request": (
        {"approvalId": is_string, **CALL},
        {"reason": is_string, "isAutomatic": is_flag, "signature": is_string},
    ),
    "tool-approval-response": (
        {"approvalId": is_string, "approved": is_flag},
        {"reason": is_string, "providerExecuted": is_flag, **METADATA},
    ),
    "reasoning-file": (LINK, METADATA),
    "custom": ({"kind": is_string}, METADATA),
    "reset-step": ({}, {}),
    "finish": ({}, {**SAYS, "finishReason": one_of(*REASONS, "interrupted")}),
}

PROFILES = {"v5": V5, "v6": V6, "v7": V7, "page": V7}
VARIANTS = {"": (True, False), "-static": (False,), "-dynamic": (True,)}
"""What `dynamic` may be, by the end of a profile's name."""

AFTER: dict[str, tuple[str, ...]] = {
    "nothing": ("start",),
    "finish": ("[DONE]",),
    "abort": ("[DONE]",),
    "error": ("finish", "[DONE]"),
    "over": (),
}
"""What may come next where not everything may."""


class Call:
    """A tool call, as far as it has been told."""

    def __init__(self, chunk: Chunk | None, step: int) -> None:
        self.name = chunk["toolName"] if chunk else None
        self.how = {key: chunk.get(key, False) for key in HOW} if chunk else {}
        self.step = step
        self.state = "streaming" if chunk else "earlier"  # available or failed, asked, told


class Stream:
    """How far a response has been read."""

    def __init__(self, profile: str, continues: Collection[str]) -> None:
        version = profile.removesuffix("-static").removesuffix("-dynamic")
        self.shapes = PROFILES[version]
        self.dynamic = VARIANTS[profile.removeprefix(version)]
        self.is_page = profile == "page"
        self.json = json.JSONDecoder(parse_constant=self.no_number, object_pairs_hook=self.object)
        self.state = "nothing"
        self.message = ""
        self.any_ids = False
        self.step = 0
        self.in_step = False
        self.open: set[tuple[str, str]] = set()
        self.calls = {name: Call(None, 0) for name in continues}
        self.approvals: set[str] = set()
        self.place = ""

    def read(self, number: int, document: bytes) -> None:
        chunk = {"type": "[DONE]"} if document == DONE else self.decode(number, document)
        kind = chunk["type"]
        self.place = f"chunk {number} ({kind})"
        expected = AFTER.get(self.state)
        self.rule(
            kind in expected if expected is not None else kind not in ("start", "[DONE]"),
            f"after {self.state} comes only {expected}; start and [DONE] come once",
        )
        if kind == "[DONE]":
            self.state = "over"
            return
        kind = "data" if kind.startswith("data-") else kind
        self.check_keys(kind, chunk)
        self.state = kind if kind in AFTER else "running"
        self.RULES.get(kind, Stream.anything)(self, chunk)

    def rule(self, obeyed: bool, what: str) -> None:
        assert obeyed, f"{self.place}: {what}"

    # One document

    def decode(self, number: int, document: bytes) -> Chunk:
        self.place = f"chunk {number} {document[:80]!r}"
        self.rule(b"\n" not in document and b"\r" not in document, "a document has no line ends")
        try:
            text = document.decode()
        except UnicodeDecodeError:
            self.rule(False, "a document is UTF-8")
        try:
            chunk = self.json.decode(text)
        except json.JSONDecodeError as error:
            self.rule(False, f"a document is JSON: {error}")
        self.rule(isinstance(chunk, dict), "a document is an object")
        self.rule(isinstance(chunk.get("type"), str), "a chunk has a type")
        assert isinstance(chunk, dict)
        return chunk

    def no_number(self, name: str) -> NoReturn:
        raise AssertionError(f"{self.place}: {name} is no JSON")

    def object(self, pairs: list[tuple[str, Any]]) -> Chunk:
        value = dict(pairs)
        self.rule(len(value) == len(pairs), "a key stands twice")
        self.rule("__proto__" not in value, "a key __proto__")
        maker = value.get("constructor")
        self.rule(not (isinstance(maker, dict) and "prototype" in maker), "constructor.prototype")
        return value

    def check_keys(self, kind: str, chunk: Chunk) -> None:
        self.rule(kind in self.shapes, "the client does not know this type")
        required, optional = self.shapes[kind]
        given = chunk.keys() - {"type"}
        self.rule(required.keys() <= given, f"{sorted(required.keys() - given)} missing")
        known = {**required, **optional}
        self.rule(given <= known.keys(), f"{sorted(given - known.keys())} unknown")
        for key in given:
            if not known[key](chunk[key]):  # else its text is not needed, and may be long
                self.rule(False, f"{key} cannot be {chunk[key]!r}")

    # The order

    def anything(self, chunk: Chunk) -> None:
        """No rule is about it."""

    def begin(self, chunk: Chunk) -> None:
        self.message = chunk["messageId"]

    def named_data(self, chunk: Chunk) -> None:
        is_approval = "allowed" in chunk["data"] if chunk["type"] == "data-input" else True
        self.rule(is_approval or self.is_page, "a request that most clients do not show")
        self.rule(chunk["type"] != "data-", "data without a name")

    def start_part(self, chunk: Chunk) -> None:
        part = self.part_of(chunk)
        self.rule(part not in self.open, f"{part} is open already")
        self.open.add(part)

    def in_part(self, chunk: Chunk) -> None:
        self.rule(self.part_of(chunk) in self.open, f"{self.part_of(chunk)} is not open")

    def end_part(self, chunk: Chunk) -> None:
        self.in_part(chunk)
        self.open.remove(self.part_of(chunk))

    def part_of(self, chunk: Chunk) -> tuple[str, str]:
        return chunk["type"].partition("-")[0], chunk["id"]

    def start_step(self, chunk: Chunk) -> None:
        self.rule(not self.in_step, "a step is open already")
        self.nothing_open(chunk)
        for name, call in self.calls.items():
            self.rule(call.state != "streaming", f"the client would make two parts of {name}")
        self.in_step = True
        self.step += 1

    def finish_step(self, chunk: Chunk) -> None:
        self.rule(self.in_step, "no step is open")
        self.nothing_open(chunk)
        self.in_step = False

    def reset_step(self, chunk: Chunk) -> None:
        self.rule(self.in_step, "no step is open")
        self.open.clear()
        self.calls = {n: call for n, call in self.calls.items() if call.step != self.step}

    def end(self, chunk: Chunk) -> None:
        self.nothing_open(chunk)
        self.rule(not self.in_step, "the step is still open")

    def nothing_open(self, chunk: Chunk) -> None:
        self.rule(not self.open, f"still open: {sorted(self.open)}")

    # Tool calls

    def start_input(self, chunk: Chunk) -> None:
        is_own = self.any_ids or chunk["toolCallId"].startswith(f"{self.message}:")
        self.rule(is_own, "the id of a call begins with the id of its message")
        self.rule(chunk["toolCallId"] not in self.calls, "this call has started before")
        kind = chunk.get("dynamic", False)
        is_asking = chunk["toolName"] == "ask_user" and ":@ask" in chunk["toolCallId"]
        self.rule(is_asking or kind in self.dynamic, f"dynamic is {kind} in another profile")
        self.rule(not (is_asking and self.is_page), "our page shows requests as data")
        self.calls[chunk["toolCallId"]] = Call(chunk, self.step)

    def add_input(self, chunk: Chunk) -> None:
        call = self.call_of(chunk)
        self.rule(call.state in ("streaming", "earlier"), "this input does not stream")

    def end_input(self, chunk: Chunk) -> None:
        if chunk["toolCallId"] not in self.calls:
            self.start_input(chunk)
        self.add_input(chunk)
        call = self.call_of(chunk)
        self.rule(call.name in (chunk["toolName"], None), f"the call began as {call.name}")
        call.state = "available" if chunk["type"] == "tool-input-available" else "failed"

    def ask(self, chunk: Chunk) -> None:
        call = self.call_of(chunk)
        can_wait = call.state in ("available", "asked", "earlier")
        self.rule(can_wait, f"approval of a call that is {call.state}")
        self.approvals.add(chunk["approvalId"])
        call.state = "asked"

    def answer(self, chunk: Chunk) -> None:
        self.rule(chunk["approvalId"] in self.approvals, "nobody asked")

    def add_output(self, chunk: Chunk) -> None:
        call = self.call_of(chunk)
        self.rule(call.state != "streaming", "an output before the input")
        call.state = "told"

    def call_of(self, chunk: Chunk) -> Call:
        self.rule(chunk["toolCallId"] in self.calls, "nobody started this call")
        call = self.calls[chunk["toolCallId"]]
        for key in call.how.keys() & self.shapes[chunk["type"]][1].keys():
            self.rule(chunk.get(key, False) == call.how[key], f"{key} was {call.how[key]}")
        return call

    RULES: ClassVar[dict[str, Rule]] = {
        "start": begin,
        "data": named_data,
        "text-start": start_part,
        "text-delta": in_part,
        "text-end": end_part,
        "reasoning-start": start_part,
        "reasoning-delta": in_part,
        "reasoning-end": end_part,
        "start-step": start_step,
        "finish-step": finish_step,
        "reset-step": reset_step,
        "finish": end,
        "abort": end,
        "error": end,
        "tool-input-start": start_input,
        "tool-input-delta": add_input,
        "tool-input-available": end_input,
        "tool-input-error": end_input,
        "tool-approval-request": ask,
        "tool-approval-response": answer,
        "tool-output-available": add_output,
        "tool-output-error": add_output,
        "tool-output-denied": add_output,
    }
