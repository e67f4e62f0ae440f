"""What a run has asked and nobody has answered."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from msgspec.structs import replace

from mobox.events import (
    JSON,
    InputRequest,
    InputResponse,
    Paused,
    StreamEvent,
    ToolResult,
)
from mobox.storage.log import Log, RunId
from mobox.turn import Answer

__all__ = ["Asked", "Reply", "asked_by"]


class Reply(NamedTuple):
    """An answer to a request that is open: as the log tells it, and as the agent is told."""

    event: InputResponse
    answer: Answer


class Asked:
    """The open requests of one run, as far as its log was seen."""

    def __init__(self) -> None:
        self._open: dict[str, InputRequest] = {}
        self._resume: JSON = None

    def see(self, event: StreamEvent) -> None:
        """Take the next event of the log."""
        match event:
            case InputRequest(id=str(name)):
                self._open[name] = event
            case InputResponse(id=str(name)):
                self._open.pop(name, None)
            case ToolResult(id=str(name), partial=False):
                self._forget_call(name)
            case Paused(resume=resume):
                self._resume = resume
            case _:
                pass

    def _forget_call(self, call: str) -> None:
        self._open = {n: asked for n, asked in self._open.items() if asked.tool_call_id != call}

    @property
    def resume(self) -> JSON:
        """What the agent wants to have back when it goes on."""
        if self._resume is not None:
            return self._resume
        given = (asked.resume for asked in self._open.values() if asked.resume is not None)
        return next(given, None)

    def match(self, answers: Iterable[Answer]) -> list[Reply]:
        """The answers that are to something: clients repeat old ones, and those to other calls."""
        replies: dict[str, Reply] = {}
        for answer in answers:
            name = self._name_of(answer)
            if name is not None:
                value = answer.reason if answer.value is None else answer.value
                event = InputResponse(id=name, decision=answer.decision, value=value)
                replies.setdefault(name, Reply(event, replace(answer, request_id=name)))
        return list(replies.values())

    def _name_of(self, answer: Answer) -> str | None:
        if answer.request_id is not None:
            return answer.request_id if answer.request_id in self._open else None
        calls = (n for n, asked in self._open.items() if asked.tool_call_id == answer.tool_call_id)
        return next(calls, None) if answer.tool_call_id is not None else None

    def cancelled(self) -> list[InputResponse]:
        """What the log says when nobody will answer any more."""
        return [InputResponse(id=name, decision="cancelled") for name in self._open]


async def asked_by(log: Log, run_id: RunId) -> Asked:
    """What the run has asked so far."""
    asked = Asked()
    after = 0
    while page := await log.read(run_id, after):
        for entry in page:
            asked.see(entry.event)
        after = page[-1].seq
    return asked
