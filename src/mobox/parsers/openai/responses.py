"""Parses the Responses API's stream: responses, one after the other, made of items.

Rule 1: a response is a turn of the agent's loop (STEP); START and DONE belong to the run.
Rule 2: an event is recognized by its `type` alone; an unknown one is RAW.
Rule 3: a response that neither completed nor failed was interrupted. If another follows it in the
        same run, it is being sent again (RETRACT).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar

from msgspec import convert

from mobox.errors import NotUnderstood
from mobox.events import (
    JSON,
    Done,
    Events,
    Outcome,
    Retract,
    Scope,
    Status,
    StepEnd,
    StepStart,
)
from mobox.parsers.kept import or_raw
from mobox.parsers.openai import wire
from mobox.parsers.openai.delta_fast_path import FastPath, of_event
from mobox.parsers.openai.deltas import Deltas
from mobox.parsers.openai.items import Items
from mobox.parsers.openai.names import Names
from mobox.parsers.openai.token_usage import done_of, error_of, used

__all__ = ["Responses"]

Handler = Callable[["Responses", wire.Event], Events]


class Responses:
    """The responses of one agent."""

    def __init__(self, names: Names, scope: Scope = (), *, hands_off: bool = False) -> None:
        self.items = Items(names, scope, hands_off=hands_off)
        self._deltas = Deltas(self.items, scope)
        self.model: str | None = None
        """The model."""
        self._names = names
        self._scope = scope
        self._response: str | None = None
        self._raw_id: str | None = None
        self._count = 0
        self._end: str | None = None  # the API's status of the last response
        self._failed = False

    @property
    def done(self) -> Done | None:
        """How the last response ended; `None` while it has not."""
        if self._end is None:
            return None
        return done_of(self._end, called=bool(self.items.calls), refused=self.items.parts.refused)

    @property
    def failed(self) -> bool:
        """The last response ended with an error, which was emitted."""
        return self._failed

    def knows(self, kind: str) -> bool:
        """Whether an event of this type belongs to a response, even if it is unknown."""
        return kind in self.EVENTS or kind.startswith("response.")

    def read(self, raw: dict[str, JSON]) -> Events:
        """Parse one event."""
        self._deltas.place = None
        event = convert(raw, wire.Event)
        if event.type in Deltas.EVENTS:
            return self._deltas.read(event)
        if event.type not in self.EVENTS:
            raise NotUnderstood(event.type)
        return self.EVENTS[event.type](self, event)

    def stretch(self, raw: dict[str, JSON], *, wrapped: bool) -> FastPath | None:
        """The fast path for lines like this one, which was just parsed."""
        if self._deltas.place is None or self._scope:
            return None
        event_class, name = self._deltas.place
        places = ("output_index", "content_index", "summary_index")
        index, content, summary = (raw.get(place) for place in places)
        return of_event((raw["type"], index, content, summary), event_class, name, wrapped)

    def whole(self, item: dict[str, JSON]) -> Events:
        """Parse an item that was not streamed."""
        return self.items.finish(None, item)

    def break_off(self) -> None:
        """The response was interrupted; the next one sends it again."""
        self._failed = True

    # Responses

    def _created(self, event: wire.Event) -> Events:
        response = event.response or wire.Response()
        if self._response is not None and response.id == self._raw_id and self._end is None:
            return []
        before = self._leave("interrupted")
        if self._broke_off and self.items.parts.block_ids:
            blocks = tuple(self.items.parts.block_ids)
            before.append(Retract(scope=self._scope, blocks=blocks, reason="retry"))
        self._count += 1
        self._raw_id = response.id
        self._response = self._names.unique(response.id, "response")
        self.model = response.model or self.model
        self._end, self._failed = None, False
        self.items.begin()
        step = StepStart(id=self._response, scope=self._scope, number=self._count)
        return [*before, step]

    @property
    def _broke_off(self) -> bool:
        return self._failed or (self._count > 0 and self._end is None)

    def _queued(self, event: wire.Event) -> Events:
        return [*self._created(event), self._progress("Waiting for the model")]

    def _completed(self, event: wire.Event) -> Events:
        response = event.response or wire.Response()
        events = [] if self.items else [
            event
            for index, item in enumerate(response.output or ())
            for event in or_raw(partial(self.items.finish, index, item), item, self._scope)
        ]  # fmt: skip
        self._end, self._failed = response.status or "completed", False
        return [*events, *self._use(response), *self._leave("ok")]

    def _incomplete(self, event: wire.Event) -> Events:
        response = event.response or wire.Response()
        reason = (response.incomplete_details or {}).get("reason")
        self._end = reason if isinstance(reason, str) else "length"
        return [*self._use(response), *self._leave("ok")]

    def _failure(self, event: wire.Event) -> Events:
        response = event.response or wire.Response()
        is_reported, self._failed, self._end = self._failed, True, "failed"
        errors = [] if is_reported else [error_of(response.error, self._scope)]
        return [*self._use(response), *errors, *self._leave("error")]

    def _error(self, event: wire.Event) -> Events:
        self._failed = True
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

    def _progress(self, message: str) -> Status:
        return Status(scope=self._scope, message=message, kind="progress")

    EVENTS: ClassVar[dict[str, Handler]] = {
        "response.created": _created,
        "response.queued": _queued,
        "response.in_progress": _created,
        "response.completed": _completed,
        "response.incomplete": _incomplete,
        "response.failed": _failure,
        "error": _error,
    }
