"""Answers that come too late: another client, or the same one, was first.

They change nothing. Their client gets the answer that counted, and what followed it.

Rule 1: all of its answers are late, or none is: an answer to a request that the log does not have
        is a mistake, and one to an open request counts as any other.
Rule 2: outputs of calls without a request are not answers: clients send those of the agent's own
        tools too.
Rule 3: the client has the log up to the pause at which it was asked. Of its requests, those that
        were answered before the last of them was made belong to an earlier pause.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from mobox.events import InputRequest, InputResponse, LogEntry
from mobox.events.turn import Answer
from mobox.storage.log import Log, RunId, pages


class AnsweredRequest(NamedTuple):
    """A request of the log, the answer that counted, and the entries of both."""

    requested: int
    answered: int
    answer: Answer


class LateAnswers(NamedTuple):
    """The answers that counted instead, and the entry after which the client reads on."""

    after: int
    answers: tuple[Answer, ...]


def answered_requests(entries: Iterable[LogEntry]) -> dict[str, AnsweredRequest]:
    """The requests that have an answer, by their ids; of a repeated one, the last."""
    requests: dict[str, tuple[int, str | None]] = {}
    found: dict[str, AnsweredRequest] = {}
    for entry in entries:
        match entry.event:
            case InputRequest(id=str(name), tool_call_id=call):
                requests[name] = (entry.seq, call)
            case InputResponse(id=str(name)) as event:
                requested, call = requests.get(name, (0, None))
                answer = Answer(
                    request_id=name,
                    tool_call_id=call,
                    decision=event.decision,
                    value=event.value,
                    reason=event.reason,
                )
                found[name] = AnsweredRequest(requested, entry.seq, answer)
            case _:
                pass
    return found


def late_answers(
    answers: Iterable[Answer], answered: Mapping[str, AnsweredRequest]
) -> LateAnswers | None:
    """The answers that counted instead of these; `None` if these are not late."""
    calls = {each.answer.tool_call_id: name for name, each in answered.items()}
    names = [each.request_id or calls.get(each.tool_call_id) for each in answers]
    wanted = dict.fromkeys(name for name in names if name is not None)
    if not wanted or not wanted.keys() <= answered.keys():
        return None
    last_requested = max(answered[name].requested for name in wanted)
    counted = [answered[name] for name in wanted if answered[name].answered > last_requested]
    after = min(each.answered for each in counted) - 1
    return LateAnswers(after, tuple(each.answer for each in counted))


async def answered_requests_of(log: Log, run_id: RunId) -> dict[str, AnsweredRequest]:
    """The answered requests of a run."""
    entries = [
        entry
        async for page in pages(log, run_id)
        for entry in page
        if isinstance(entry.event, InputRequest | InputResponse)
    ]
    return answered_requests(entries)
