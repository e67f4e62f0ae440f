"""OpenAI: chat completions and their dialects, Responses, the Agents SDK, and simplified lines."""

from __future__ import annotations

from contextlib import suppress

import msgspec

from mobox.errors import NotJson, UnrecognizedLine
from mobox.events import JSON, Events, Paused, Raw, Start, json_text
from mobox.parsers import EventParser
from mobox.parsers.formats import Format, has_keys, kind_in, kind_starts_with
from mobox.parsers.openai import wire
from mobox.parsers.openai.agents import Agents
from mobox.parsers.openai.chat import Chat
from mobox.parsers.openai.plans import Plans
from mobox.parsers.openai.responses import Responses
from mobox.parsers.openai.wire import Names
from mobox.parsers.values import ALREADY_REPORTED, exception_class, is_exception

# The formats of the lines of OpenAI's and compatible APIs.


def _chunk(line: JSON) -> float:
    return 1.0 if isinstance(line, dict) and isinstance(line.get("choices"), list) else 0.0


def _error(line: JSON) -> float:
    return 0.4 if isinstance(line, dict) and line.keys() in ({"error"}, {"error", "user_id"}) else 0


FORMATS: tuple[Format, ...] = (
    Format("OpenAI's chat completion chunks", (_chunk, _error), kind=("object", "error")),
    Format(
        "OpenAI's Responses events",
        (kind_starts_with("type", "response."), kind_in("type", ("error",), "sequence_number")),
        kind=("type", "item.type"),
    ),
    Format(
        "simplified lines for OpenAI",
        (kind_in("type", ("delta", "tool_call"), "data", confidence=0.8),),
    ),
)

AGENTS_FORMATS: tuple[Format, ...] = (
    Format(
        "the OpenAI Agents SDK's stream events",
        (
            kind_in("type", ("raw_response_event",), "data"),
            kind_in("type", ("run_item_stream_event",), "item"),
            kind_in("type", ("agent_updated_stream_event",), "new_agent"),
            has_keys("event", "agent", "tool_call"),
            has_keys("__result__"),
        ),
        kind=(
            "type",
            "event",
            "event.type",
            "data.type",
            "data.item.type",
            "item.type",
            "__result__",
        ),
    ),
)


_SIMPLIFIED = {"delta": "text", "tool_call": "tool_use"}
"""The simplified lines under OpenAI's names."""


_decode_chunk = msgspec.json.Decoder(wire.DeltaChunk).decode
_decode_event = msgspec.json.Decoder(wire.DeltaEvent).decode
_decode_wrapped = msgspec.json.Decoder(wire.WrappedDelta).decode


class OpenAIParser(EventParser):
    """One run of an agent that emits OpenAI's formats."""

    framework = "openai"
    formats = FORMATS

    def __init__(self, prefix: str = "") -> None:
        super().__init__(prefix)
        names = Names(prefix)
        self._chat = Chat(names)
        self._responses = Responses(names)
        self._agents = Agents(self.framework, names, self._responses)
        self._plans = Plans()
        self._started = False

    def feed_line(self, line: bytes) -> Events:
        """Parse one line. One that is only a delta of the open block is decoded into its type."""
        events: Events | None = None
        if not self._started:
            pass  # START comes first
        elif b'"choices"' in line:
            events = self._feed_typed(_decode_chunk, self._chat.read_delta, line)
        elif self._agents.started:
            events = self._feed_typed(_decode_wrapped, self._agents.read_delta, line)
        else:
            events = self._feed_typed(_decode_event, self._responses.read_delta, line)
        return super().feed_line(line) if events is None else events

    def feed(self, raw: JSON) -> Events:
        if type(raw) is dict and is_exception(raw):
            return self._raised(raw, super().feed(raw))
        events = self._plans.follow(super().feed(raw))
        if type(raw) is dict and raw.get("type") == "tool_result":  # of a client's own loop
            for event in events:
                self._responses.items.calls.pop(event.id or "", None)
        return events

    def read(self, raw: JSON) -> Events:
        if not isinstance(raw, dict):
            raise UnrecognizedLine
        kind = raw.get("type")
        if isinstance(kind, str) and kind in _SIMPLIFIED and type(raw.get("data")) is dict:
            return self._simplified(kind, raw)
        if self._agents.knows(raw):
            self._started = True  # the SDK names the agent
            return self._agents.read(raw)
        if isinstance(kind, str) and self._responses.knows(kind):
            return self._read_response(raw)
        if isinstance(raw.get("choices"), list):
            events = self._chat.read(raw)
            return [*self._start(self._chat.model), *events] if events else []
        # An error in place of a chunk; some servers write the error itself.
        problem = raw if raw.get("object") == "error" else raw.get("error")
        if problem is None or (problem is not raw and "type" in raw):
            raise UnrecognizedLine
        return self._chat.fail(problem)

    def close(self) -> Events:
        if self._agents.started:
            return self._agents.close()
        if self._responses.items.approvals:
            return []
        ends = self._chat.close()
        done = self._chat.done or self._responses.done
        return ends if done is None else [*ends, done]

    def _read_response(self, raw: dict[str, JSON]) -> Events:
        events = self._responses.read(raw)
        waiting = tuple(self._responses.items.approvals)
        if waiting and raw["type"] == "response.completed":
            events.append(Paused(request_ids=waiting))
        return [*self._start(self._responses.model), *events]

    def _start(self, model: str | None) -> Events:
        if self._started:
            return []
        self._started = True
        return [Start(framework=self.framework, model=model)]

    def _raised(self, raw: dict[str, JSON], error_events: Events) -> Events:
        """An exception left the SDK: the current response is interrupted."""
        name = exception_class(raw)
        known = self._agents.started and self._responses.failed
        self._chat.break_off()
        events: Events = [Raw(raw=raw, source=ALREADY_REPORTED)] if known else error_events
        if self._agents.started and name is not None:
            return [*events, self._agents.raised(name)]
        if not self._agents.started:
            self._responses.failed = True  # the next response sends it again
        return events

    def _simplified(self, kind: str, raw: dict[str, JSON]) -> Events:
        """A simplified line under OpenAI's name for it, with its arguments as JSON text."""
        data = dict(raw["data"])
        if isinstance(arguments := data.get("arguments"), str):
            with suppress(NotJson):  # then they stay text
                data["arguments"] = json_text.decode_json(arguments.encode())
        return self._emitted.read({**raw, "type": _SIMPLIFIED[kind], "data": data})


class OpenAIAgentsParser(OpenAIParser):
    """One run of an agent that is built with the Agents SDK; its lines are recognized by shape."""

    framework = "openai-agents"
    formats = AGENTS_FORMATS
