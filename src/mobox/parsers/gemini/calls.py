"""The calls of one run that have no result yet, so that results without an id find their call."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any, Final

import msgspec
from msgspec import convert

from mobox.errors import UnrecognizedLine
from mobox.events import JSON, DoneReason, StreamEvent, Usage
from mobox.events.json_text import MAX_DEPTH
from mobox.events.names import IdAllocator
from mobox.events.usage import sum_counts
from mobox.parsers.gemini import wire
from mobox.parsers.gemini.wire import PartialArg
from mobox.parsers.values import parse_or_raw


class OpenCalls:
    """Ids and names, in the order of the calls; shared by all agents of a run."""

    def __init__(self, names: IdAllocator) -> None:
        self._ids = names
        self._names: dict[str, str] = {}
        self._server: set[str] = set()
        self._known: set[str] = set()

    def __contains__(self, call: str | None) -> bool:
        return call in self._known

    def begin(self, call: str | None, name: str, *, server: bool = False) -> str:
        """Add a call; return its id, which is generated if it has none."""
        call = call or self._ids.fresh("call")
        self._ids.take(call)
        self._names[call] = name
        self._known.add(call)
        if server:
            self._server.add(call)
        return call

    def end(self, call: str | None, name: str | None, *, last: bool = False) -> str | None:
        """The call of a result: by its id, else the first open one of its name."""
        if not call:
            names = reversed(self._names) if last else iter(self._names)
            call = next((each for each in names if name in (None, self._names[each])), None)
        if call is not None:
            self._names.pop(call, None)
        return call

    def reopen(self, call: str, name: str) -> None:
        """A result was only partial: reopen the call."""
        self._names[call] = name

    def name_of(self, call: str) -> str | None:
        """The tool of an open call."""
        return self._names.get(call)

    @property
    def functions(self) -> list[str]:
        """The open calls that the caller has to run."""
        return [call for call in self._names if call not in self._server]

    @property
    def server(self) -> list[str]:
        """The open calls that the provider runs."""
        return [call for call in self._names if call in self._server]


# Arguments that come as patches of a value, and the JSON text that they add up to.
#
# A patch names a path (`$.recipe.steps[0]`) and a value; a string may come in deltas. While patches
# come in the order of the JSON text, each adds to it. A patch of an earlier path would have to
# change text that was emitted: from then on only the value is kept, and no more text is emitted.

Path = tuple[str | int, ...]

_STEP: Final = re.compile(
    r"""\.([^.\[\]]+) | \[(\d{1,6})\] | \[ (?: '([^']*)' | "([^"]*)" ) \]""", re.VERBOSE
)


class _Frame:
    """An open container of the text."""

    def __init__(self, key: str | int, is_list: bool) -> None:
        self.key = key
        self.closing = "]" if is_list else "}"
        self._is_list = is_list
        self._written: set[str | int] = set()

    def can_hold(self, key: str | int) -> bool:
        """Whether `key` can be written next."""
        if self._is_list:
            return key == len(self._written) and isinstance(key, int)
        return isinstance(key, str) and key not in self._written

    def enter(self, key: str | int) -> str:
        """The text before the value of `key`."""
        comma = "," if self._written else ""
        self._written.add(key)
        return comma if isinstance(key, int) else f"{comma}{_json(key)}:"


class PartialArguments:
    """The arguments of one call."""

    def __init__(self, value: JSON = None) -> None:
        self._value: dict[str, JSON] = value if isinstance(value, dict) else {}
        self._frames: list[_Frame] = []
        self._string: tuple[Path, list[str]] | None = None  # a string that is being streamed
        self._in_order = not self._value

    @property
    def value(self) -> JSON:
        """The arguments so far."""
        self._end_string()
        return self._value

    def add(self, patch: PartialArg) -> str:
        """The text that `patch` adds; raises `UnrecognizedLine` for an impossible path."""
        path = _path(patch.json_path)
        if self._string is not None and self._string[0] == path and patch.string_value is not None:
            return self._more(patch.string_value, bool(patch.will_continue))
        closing = '"' if self._string is not None else ""
        self._end_string()
        self._put(path, _value(patch))
        text = closing + self._reach(path) if self._in_order else ""
        if patch.string_value is not None and patch.will_continue:
            self._string = (path, [patch.string_value])
            return text + _json(patch.string_value)[:-1] if self._in_order else ""
        return text + _json(_value(patch)) if self._in_order else ""

    def end(self) -> str:
        """The text that is missing at the end."""
        if not self._in_order:
            return ""
        closing = '"' if self._string is not None else ""
        self._end_string()
        ends = "".join(frame.closing for frame in reversed(self._frames))
        return closing + (ends if self._frames else "{}")

    def _more(self, piece: str, goes_on: bool) -> str:
        assert self._string is not None  # only called for one
        self._string[1].append(piece)
        if not goes_on:
            self._end_string()
        return _json(piece)[1:-1] + ("" if goes_on else '"') if self._in_order else ""

    def _end_string(self) -> None:
        if self._string is not None:
            path, pieces = self._string
            self._string = None
            self._put(path, "".join(pieces))

    def _put(self, path: Path, value: JSON) -> None:
        place: Any = self._value
        for key, following in pairwise(path):
            place = _step_into(place, key, [] if isinstance(following, int) else {})
        _step_into(place, path[-1], value, replace=True)

    def _reach(self, path: Path) -> str:
        """The text between what was written last and the value at `path`."""
        text = ""
        if not self._frames:
            text, self._frames = "{", [_Frame("", is_list=False)]
        shared = 1
        while shared < min(len(path), len(self._frames)) and (
            self._frames[shared].key == path[shared - 1]
        ):
            shared += 1
        while len(self._frames) > shared:
            text += self._frames.pop().closing
        for key, following in pairwise(path[shared - 1 :]):
            text += self._enter(key) + ("[" if isinstance(following, int) else "{")
            self._frames.append(_Frame(key, isinstance(following, int)))
        return text + self._enter(path[-1])

    def _enter(self, key: str | int) -> str:
        frame = self._frames[-1]
        self._in_order = self._in_order and frame.can_hold(key)
        return frame.enter(key)


def _path(text: str) -> Path:
    if not text.startswith("$"):
        raise UnrecognizedLine
    steps: list[str | int] = []
    end = 1
    for found in _STEP.finditer(text):
        if found.start() != end:
            raise UnrecognizedLine
        end = found.end()
        name, index, single, double = found.groups()
        words = next((w for w in (name, single, double) if w is not None), "")
        steps.append(int(index) if index is not None else words)
    if end != len(text) or not steps or len(steps) > MAX_DEPTH // 2 or isinstance(steps[0], int):
        raise UnrecognizedLine
    return tuple(steps)


def _step_into(place: Any, key: str | int, value: JSON, replace: bool = False) -> Any:
    """The value at `key`; `value` if there is none yet or it is replaced."""
    if isinstance(place, list) and isinstance(key, int) and key <= len(place):
        if key == len(place):
            place.append(value)
        elif replace:
            place[key] = value
        return place[key]
    if isinstance(place, dict) and isinstance(key, str):
        if replace:
            place[key] = value
        return place.setdefault(key, value)
    raise UnrecognizedLine


def _value(patch: PartialArg) -> JSON:
    """The value of a patch; null if it has none."""
    values = (patch.string_value, patch.number_value, patch.bool_value)
    return next((value for value in values if value is not None), None)


def _json(value: JSON) -> str:
    return msgspec.json.encode(value).decode()


# Finish reasons and usage

VENDOR: Final = "google"
"""The key of `provider` under which this vendor's state is kept."""

_REASONS: Final[dict[str, DoneReason]] = {
    **dict.fromkeys(
        ("STOP", "OTHER", "CONTINUATION", "FINISH_REASON_UNSPECIFIED", "NO_IMAGE", "IMAGE_OTHER"),
        "stop",
    ),
    **dict.fromkeys(
        (
            *("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"),
            *("IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "MODEL_ARMOR"),
            *("JAILBREAK", "BLOCK_REASON_UNSPECIFIED"),
        ),
        "content_filter",
    ),
    **dict.fromkeys(
        ("MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL"), "error"
    ),
    "MAX_TOKENS": "length",
    "TOO_MANY_TOOL_CALLS": "max_turns",
}
"""The API's finish and block reasons."""


def reason_of(word: str) -> DoneReason | None:
    """Our name of the API's reason; `None` if it is not a reason, but another error."""
    return _REASONS.get(word)


def used(usage: JSON, name: str, scope: tuple[str, ...], model: str | None) -> list[StreamEvent]:
    """The usage of one answer; the API counts thoughts apart, here they are output."""
    return parse_or_raw(lambda: [_use_of(usage, name, scope, model)], usage, scope) if usage else []


def _use_of(usage: JSON, name: str, scope: tuple[str, ...], model: str | None) -> Usage:
    counts = convert(usage, wire.Usage)
    return Usage(
        id=name,
        scope=scope,
        input=sum_counts(counts.prompt_token_count, counts.tool_use_prompt_token_count),
        output=sum_counts(counts.candidates_token_count, counts.thoughts_token_count),
        cache_read=counts.cached_content_token_count,
        reasoning=counts.thoughts_token_count,
        total=counts.total_token_count,
        model=model,
        service_tier=counts.service_tier,
    )
