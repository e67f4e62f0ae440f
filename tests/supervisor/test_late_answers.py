"""Which answers are late, and from where their client reads on."""

from __future__ import annotations

import pytest

from mobox.events import InputRequest, InputResponse, LogEntry, Paused, StreamEvent, Text
from mobox.events.turn import Answer
from mobox.supervisor.late_answers import LateAnswers, answered_requests, late_answers


def log(*events: StreamEvent) -> list[LogEntry]:
    return [LogEntry(seq=seq, id=seq, event=event, ts=1) for seq, event in enumerate(events, 1)]


def asks(name: str, call: str | None = None) -> InputRequest:
    return InputRequest(id=name, kind="approval", tool_call_id=call)


def yes(name: str) -> InputResponse:
    return InputResponse(id=name, decision="approved")


def no(name: str | None = None, call: str | None = None) -> Answer:
    return Answer(decision="denied", request_id=name, tool_call_id=call)


def counted(name: str, call: str | None = None) -> Answer:
    return Answer(decision="approved", request_id=name, tool_call_id=call)


ONE = log(asks("a", "c1"), Paused(request_ids=("a",)), yes("a"), Text(id="t", content="Hi"))
TWO = log(
    asks("a"),
    asks("b"),
    Paused(request_ids=("a", "b")),
    yes("b"),
    Paused(request_ids=("a",)),
    yes("a"),
)
ROUNDS = log(
    asks("a"), Paused(request_ids=("a",)), yes("a"), asks("b"), Paused(request_ids=("b",)), yes("b")
)


@pytest.mark.parametrize(
    ("entries", "answers", "expected"),
    [
        (ONE, [no("a")], LateAnswers(2, (counted("a", "c1"),))),
        (ONE, [no(call="c1")], LateAnswers(2, (counted("a", "c1"),))),
        (ONE, [no("a"), no(call="own")], LateAnswers(2, (counted("a", "c1"),))),
        (ONE, [no("a"), no("unknown")], None),
        (ONE, [no("unknown", "c1")], None),
        (ONE, [no(call="own")], None),
        (ONE, [], None),
        (ONE[:2], [no("a")], None),
        (TWO, [no("a"), no("b")], LateAnswers(3, (counted("a"), counted("b")))),
        (TWO, [no("a")], LateAnswers(5, (counted("a"),))),
        (ROUNDS, [no("a"), no("b")], LateAnswers(5, (counted("b"),))),
        (ROUNDS, [no("a")], LateAnswers(2, (counted("a"),))),
    ],
)
def test_late_answers_are_those_to_answered_requests(
    entries: list[LogEntry], answers: list[Answer], expected: LateAnswers | None
) -> None:
    assert late_answers(answers, answered_requests(entries)) == expected


def test_of_a_request_that_was_made_twice_the_last_answer_counts() -> None:
    again = log(asks("a"), yes("a"), asks("a"), InputResponse(id="a", decision="cancelled"))
    late = late_answers([no("a")], answered_requests(again))
    assert late == LateAnswers(3, (Answer(decision="cancelled", request_id="a"),))
