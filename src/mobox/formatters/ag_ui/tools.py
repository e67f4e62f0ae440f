"""The tool calls of one run: each is an assistant message of its own, its result the next one."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final, NamedTuple

import msgspec

from mobox.events import (
    JSON,
    UNKNOWN_TOOL,
    ToolResult,
    ToolUseDelta,
    ToolUseEnd,
    ToolUseStart,
)
from mobox.formatters.ag_ui.documents import (
    Documents,
    Profile,
    WireIds,
    custom,
    delta_prefix,
    encode,
    encrypted,
    event,
    mobox_metadata,
)
from mobox.formatters.values import FAILED_OUTCOMES, call_error

# The arguments of a call as JSON text, also if the call was interrupted

_ESCAPES: Final = (
    *("", "\\", "0", "00", "000", "0000"),
    *("0\\udc00", "00\\udc00", "\\udc00", "udc00", "dc00", "c00"),  # half of a character
)
_FILLERS: Final = (
    *("", "null", ":null", '"":null', "0", "e", "ue", "rue", "se", "lse", "alse", "l", "ll", "ull"),
    *(escape + end for end in ('"', '":null') for escape in _ESCAPES),
)
"""Possible endings of the last token of a truncated text, before its brackets close."""
_decode: Final = msgspec.json.Decoder().decode  # as strict as the JSON.parse of a page
_CLOSERS: Final = {"{": "}", "[": "]"}


def arguments_text(value: JSON, invalid: str | None) -> str:
    """The arguments that a client has at the end of a call's input."""
    if invalid is not None:
        return invalid + completion(invalid)
    return encode({} if value is None else value).decode()


def completion(text: str) -> str:
    """The suffix that makes JSON of a truncated text; nothing if there is none.

    Clients parse the arguments of a call: half of an object would raise an error there.
    """
    if _is_json(text):
        return ""
    brackets = _open_brackets(text)
    for filler in _FILLERS:
        if _is_json(text + filler + brackets):
            return filler + brackets
    return ""


def is_same(streamed: str, complete: str) -> bool:
    """Whether two texts are the same JSON."""
    if streamed == complete:
        return True
    try:
        return bool(_decode(streamed) == _decode(complete))
    except (ValueError, RecursionError):
        return False


def _open_brackets(text: str) -> str:
    """The closing brackets that `text` lacks."""
    closers: list[str] = []
    in_string = escaped = False
    for character in text:
        if in_string:
            in_string = escaped or character != '"'
            escaped = character == "\\" and not escaped
        elif character == '"':
            in_string = True
        elif character in _CLOSERS:
            closers.append(_CLOSERS[character])
        elif closers and character == closers[-1]:
            closers.pop()
    return "".join(reversed(closers))


def _is_json(text: str) -> bool:
    try:
        _decode(text)
    except (ValueError, RecursionError):
        return False
    return True


# The result of a call, as the content of a tool message

_MEDIA_TYPE: Final = re.compile(r"(image|audio|video)/[\w.+-]+")


def result_content(result: ToolResult, profile: Profile) -> JSON:
    """A string; if it has images and the client supports them, a list of parts."""
    output = result.output
    if result.status in FAILED_OUTCOMES:
        return call_error(result)
    if isinstance(output, str):
        return output
    parts = [_part(block) for block in output] if isinstance(output, list) else []
    if not parts or None in parts:
        return encode(output).decode()
    texts = [part["text"] for part in parts if part is not None and part["type"] == "text"]
    if len(texts) == len(parts):
        return "\n".join(texts)
    return parts if profile.media_results else encode(output).decode()


def result_metadata(result: ToolResult) -> dict[str, JSON] | None:
    """The status of a failed call: a tool message has no field for it that events can set.

    Also the form of the content before it was made text, so that a page can show either:
    `json` for the JSON of a value, `lines` for a list of texts, with the line count of each.
    """
    status = result.status if result.status != "ok" else None
    form = {} if result.status in FAILED_OUTCOMES else _form(result.output)
    return mobox_metadata({"status": status, **form})


def _form(output: JSON) -> dict[str, JSON]:
    if isinstance(output, str):
        return {}
    parts = [_part(block) for block in output] if isinstance(output, list) else []
    if not parts or None in parts:
        return {"json": True}
    texts = [block["text"] for block in output if block["type"] == "text"]
    if len(texts) != len(parts) or parts != output:
        return {}
    return {"lines": [text.count("\n") + 1 for text in texts]}


def _part(block: JSON) -> dict[str, JSON] | None:
    """A block of a result as frameworks write it: text, or an image or sound with its bytes."""
    if not isinstance(block, dict):
        return None
    if block.get("type") == "text" and isinstance(block.get("text"), str):
        return {"type": "text", "text": block["text"]}
    source = block.get("source")
    about = source if isinstance(source, dict) else block
    media = about.get("media_type") or about.get("mimeType")
    kind = _MEDIA_TYPE.fullmatch(media) if isinstance(media, str) else None
    if kind is None or not isinstance(about.get("data"), str):
        return None
    media_source = {"type": "data", "value": about["data"], "mimeType": media}
    return {"type": kind[1], "source": media_source}


class Corrections(NamedTuple):
    """The documents to send, and whether they correct earlier ones, which needs a snapshot."""

    documents: Documents
    corrects: bool = False


class _Call:
    """State of a call for its later events."""

    __slots__ = ("answered", "message", "owner", "prefix", "start", "streams", "wire")

    def __init__(self, start: ToolUseStart, ids: WireIds) -> None:
        self.start = start
        self.wire = ids.of(start.id)
        self.message = ids.next_message(start.id)
        self.owner = ids.owner(start.scope)
        self.prefix = delta_prefix("TOOL_CALL_ARGS", "toolCallId", self.wire)
        self.streams = True  # its input is not complete
        self.answered = False

    def begin(self) -> bytes:
        return event(
            "TOOL_CALL_START",
            toolCallId=self.wire,
            toolCallName=self.start.name,
            # Without one, the client uses the call's id for the message.
            parentMessageId=self.message if self.message != self.wire else None,
            subagentRunId=self.owner,
            metadata=self._metadata(),
        )

    def end(self, invalid: str | None = None) -> bytes:
        metadata = self._metadata(invalid) if invalid is not None else None
        return event("TOOL_CALL_END", toolCallId=self.wire, metadata=metadata)

    def _metadata(self, invalid: str | None = None) -> dict[str, JSON] | None:
        start = self.start
        return tool_metadata(start.kind, start.server, start.display, invalid)


def tool_metadata(
    kind: str, server: bool, display: str | None, invalid: str | None
) -> dict[str, JSON] | None:
    """Metadata of a call that the client has no field for; none for a plain function.

    `invalid` is an input that is not JSON, with the suffix that was added to make it JSON.
    """
    return mobox_metadata(
        {
            "kind": kind if kind != "function" else None,
            "server": server or None,
            "display": display,
            "invalid": True if invalid is not None else None,
            "added": (completion(invalid) or None) if invalid is not None else None,
        }
    )


class Tools:
    """Every call of the run so far."""

    def __init__(self, ids: WireIds, profile: Profile) -> None:
        self._ids = ids
        self._profile = profile
        self._calls: dict[str | None, _Call] = {}
        self._forgotten: set[str | None] = set()

    def __contains__(self, own: str | None) -> bool:
        return own in self._calls

    def has_result(self, own: str | None) -> bool:
        """Whether this call needs no result any more."""
        return own in self._forgotten or (own in self._calls and self._calls[own].answered)

    @property
    def pending(self) -> list[str]:
        """The complete calls without a result, by their ids on the wire."""
        calls = self._calls.values()
        return [call.wire for call in calls if not call.streams and not call.answered]

    def forget(self, names: Collection[str]) -> Documents:
        """These calls were retracted: their later events are ignored."""
        gone = {own: self._calls.pop(own) for own in names if own in self._calls}
        self._forgotten |= gone.keys()
        return [call.end() for call in gone.values() if call.streams]

    def was_started(self, own: str | None) -> bool:
        """Whether a call of that id was ever started, even if it was retracted since."""
        return own in self._calls or own in self._forgotten

    def streams(self, own: str | None) -> bool:
        """Whether a call's input is not complete."""
        return own in self._calls and self._calls[own].streams

    def is_forgotten(self, own: str | None) -> bool:
        """Whether the call was retracted."""
        return own in self._forgotten

    def before(self, log_event: ToolUseDelta | ToolUseEnd | ToolResult) -> Documents:
        """A missing start of a call: RAW if a later version logged it."""
        if log_event.id in self._calls:
            return []
        return self.start(ToolUseStart(id=log_event.id, scope=log_event.scope, name=UNKNOWN_TOOL))

    def start(self, log_event: ToolUseStart) -> Documents:
        call = self._calls[log_event.id] = _Call(log_event, self._ids)
        return [call.begin(), *encrypted("tool-call", call.wire, log_event.provider)]

    def prefix_of(self, own: str | None) -> bytes:
        """The prefix of the event for an input delta."""
        return self._calls[own].prefix

    def end(self, log_event: ToolUseEnd, streamed: str) -> Corrections:
        """The input is complete: `streamed` of it was sent in deltas."""
        call = self._calls[log_event.id]
        call.streams = False
        whole = arguments_text(log_event.input, log_event.invalid)
        rest = completion(streamed) if streamed else whole
        more = [call.prefix + encode(rest) + b"}"] if rest else []
        end = call.end(log_event.invalid)
        return Corrections([*more, end], corrects=not is_same(streamed + rest, whole))

    def result(self, log_event: ToolResult) -> Corrections:
        """The result of a call."""
        call = self._calls[log_event.id]
        corrects, call.answered = call.answered, not log_event.partial
        if log_event.partial:
            about = {"toolCallId": call.wire, "output": log_event.output}
            return Corrections([custom("mobox.tool_output", about)], corrects)
        if corrects:  # a second result would be a second message
            return Corrections([], corrects=True)
        result = event(
            "TOOL_CALL_RESULT",
            messageId=self._ids.result(log_event.id),
            toolCallId=call.wire,
            content=result_content(log_event, self._profile),
            role="tool",
            subagentRunId=call.owner,
            metadata=result_metadata(log_event),
        )
        return Corrections([result])

    def suspend(self) -> Documents:
        """The ends of inputs that are still streamed, where the response ends but they do not."""
        return [call.end() for call in self._calls.values() if call.streams]

    def reopen(self) -> Documents:
        """The starts of inputs that are still streamed, for a response that starts here."""
        return [call.begin() for call in self._calls.values() if call.streams]


class References:
    """Resolves placeholders in a run's texts to the ids of tool calls on the wire.

    An agent writes its own id of a call. On the wire that id is prefixed with the run's, so a
    client that looks up a placeholder's call by id needs the same id in the text.
    """

    def __init__(self, ids: WireIds, tools: Tools) -> None:
        self._ids = ids
        self._tools = tools
        self._unknown: set[str] = set()  # strings of placeholders that name no call, or not yet

    def resolve(self, word: str) -> str | None:
        """The id on the wire of the call that a string of a placeholder names, if any."""
        if self._tools.was_started(word):
            return self._ids.of(word)
        self._unknown.add(word)
        return None

    def came_late(self, call: str | None) -> bool:
        """Whether a placeholder was sent before its call, and so without the id on the wire."""
        if call not in self._unknown or not self._tools.was_started(call):
            return False
        self._unknown.discard(call)
        return True
