"""What a run has asked, what was answered, and what an agent is told of it."""

from __future__ import annotations

import pytest

from mobox.errors import DecisionNotAllowed, InvalidRequest
from mobox.events import InputRequest, InputResponse, Paused, Start, StreamEvent, ToolResult
from mobox.events.turn import Answer
from mobox.storage import open_storage
from mobox.supervisor.input_requests import InputRequests, input_requests_of
from supervisor.stage import submit

APPROVAL = InputRequest(id="r1", kind="approval", tool_call_id="call_1")
QUESTION = InputRequest(id="r2", kind="question", prompt="Which?")
BOTH = Paused(request_ids=("r1", "r2"), resume={"at": 1})


def asked(*events: StreamEvent) -> InputRequests:
    seen = InputRequests()
    seen.see_all(events)
    return seen


def names(seen: InputRequests, *answers: Answer) -> list[str | None]:
    return [reply.event.id for reply in seen.match(answers)]


def test_an_answer_is_to_the_request_it_names() -> None:
    seen = asked(APPROVAL, QUESTION)
    assert names(seen, Answer(decision="answered", request_id="r2", value="oak")) == ["r2"]


def test_an_answer_that_names_a_call_is_to_the_request_about_it() -> None:
    seen = asked(APPROVAL, QUESTION)
    (reply,) = seen.match([Answer(decision="denied", tool_call_id="call_1", reason="too risky")])
    assert reply.event == InputResponse(id="r1", decision="denied", reason="too risky")
    assert reply.answer == Answer(
        request_id="r1",
        tool_call_id="call_1",
        decision="denied",
        reason="too risky",
    )


@pytest.mark.parametrize(
    "answer",
    [
        Answer(decision="approved"),
        Answer(decision="approved", request_id="r3"),
        Answer(decision="approved", tool_call_id="call_2"),
        Answer(decision="approved", request_id="r3", tool_call_id="call_1"),
    ],
)
def test_an_answer_to_nothing_is_none(answer: Answer) -> None:
    assert names(asked(APPROVAL, QUESTION), answer) == []


def test_a_repeated_answer_is_not_to_a_later_request_of_the_same_id() -> None:
    other = InputRequest(id="r1", kind="approval", tool_call_id="call_2")
    old = Answer(decision="approved", request_id="r1", tool_call_id="call_1")
    seen = asked(APPROVAL, InputResponse(id="r1", decision="approved"), other)
    assert names(seen, old) == []
    assert names(seen, old, Answer(decision="denied", tool_call_id="call_2")) == ["r1"]
    assert names(seen, Answer(decision="approved", request_id="r1")) == ["r1"]


def test_what_an_agent_withdraws_does_not_count_as_the_answer_of_a_person() -> None:
    automatic = InputResponse(id="r1", decision="approved", automatic=True)
    seen = asked(APPROVAL, automatic, APPROVAL, InputResponse(id="r1", decision="cancelled"))
    assert seen.automatic == 1
    seen.see_all([APPROVAL, InputResponse(id="r1", decision="denied")])
    assert seen.automatic == 0


@pytest.mark.parametrize(
    "end", [InputResponse(id="r1", decision="denied"), ToolResult(id="call_1")], ids=repr
)
def test_what_is_answered_or_done_is_asked_no_more(end: StreamEvent) -> None:
    assert names(asked(APPROVAL, end), Answer(decision="approved", request_id="r1")) == []


def test_a_part_of_a_result_leaves_the_request_open() -> None:
    seen = asked(APPROVAL, ToolResult(id="call_1", partial=True))
    assert names(seen, Answer(decision="approved", request_id="r1")) == ["r1"]


def test_the_first_of_two_answers_to_one_request_counts() -> None:
    yes = Answer(decision="approved", request_id="r1")
    no = Answer(decision="denied", tool_call_id="call_1")
    (reply,) = asked(APPROVAL).match([yes, no])
    assert reply.event.decision == "approved"


def test_while_others_are_waited_for_the_run_goes_on_waiting() -> None:
    seen = asked(APPROVAL, QUESTION, BOTH)
    first = seen.events_of(seen.match([Answer(decision="approved", request_id="r1")]))
    assert first == [
        InputResponse(id="r1", decision="approved"),
        Paused(request_ids=("r2",), resume={"at": 1}),
    ]
    seen.see_all(first)
    last = seen.events_of(seen.match([Answer(decision="answered", request_id="r2", value="oak")]))
    assert last == [InputResponse(id="r2", decision="answered", value="oak")]
    assert seen.resume == {"at": 1}


def test_a_request_that_the_pause_does_not_name_is_not_waited_for() -> None:
    seen = asked(APPROVAL, QUESTION, Paused(request_ids=("r1",)))
    replies = seen.match([Answer(decision="approved", request_id="r1")])
    assert seen.events_of(replies) == [InputResponse(id="r1", decision="approved")]


def test_all_answers_are_told_again_the_last_one_to_each() -> None:
    no, yes = (InputResponse(id="r1", decision=each) for each in ("denied", "approved"))
    which = InputResponse(id="r2", decision="answered", value="oak")
    assert asked(APPROVAL, no, QUESTION, which, APPROVAL, yes).answers == (
        Answer(request_id="r1", tool_call_id="call_1", decision="approved"),
        Answer(request_id="r2", decision="answered", value="oak"),
    )


YES, OAK = InputResponse(id="r1", decision="approved"), InputResponse(id="r2", decision="answered")


def given(*events: StreamEvent) -> tuple[list[str | None], list[str | None]]:
    """The requests that the answers to the last pause are to, and those to earlier ones."""
    seen = asked(*events)
    earlier = [answer.request_id for answer in seen.earlier_answers]
    return [answer.request_id for answer in seen.answers], earlier


def test_answers_are_those_to_the_last_pause_in_the_order_of_its_requests() -> None:
    left = Paused(request_ids=("r1",))
    assert given(APPROVAL, QUESTION, BOTH, OAK, left, YES) == (["r1", "r2"], [])
    third = [InputRequest(id="r3"), Paused(request_ids=("r3",))]
    assert given(APPROVAL, QUESTION, BOTH, OAK, left, YES, *third) == ([], ["r2", "r1"])
    no = InputResponse(id="r3", decision="denied")
    assert given(APPROVAL, QUESTION, BOTH, OAK, left, YES, *third, no) == (["r3"], ["r2", "r1"])


def test_a_request_that_is_still_open_belongs_to_the_next_pause_too() -> None:
    one, both = Paused(request_ids=("r1",)), Paused(request_ids=("r1", "r2"))
    assert given(APPROVAL, one, QUESTION, both, YES, OAK) == (["r1", "r2"], [])
    assert given(APPROVAL, one, YES, QUESTION, Paused(request_ids=("r2",)), OAK) == (["r2"], ["r1"])


def test_what_is_asked_again_has_no_answer_yet() -> None:
    assert given(APPROVAL, Paused(request_ids=("r1",)), YES, APPROVAL) == ([], [])


def test_every_answer_names_its_call_also_if_it_is_given_twice() -> None:
    seen = asked(APPROVAL, YES, InputResponse(id="r1", decision="denied", value="no"))
    assert seen.answers == (
        Answer(request_id="r1", tool_call_id="call_1", decision="denied", reason="no"),
    )


def test_what_a_tool_of_the_page_gave_is_its_value_also_if_it_failed() -> None:
    seen = asked(InputRequest(id="r", kind="tool", tool_call_id="c"))
    (failed,) = seen.match([Answer(decision="denied", request_id="r", value="no GPS")])
    assert failed.event == InputResponse(id="r", decision="denied", value="no GPS")
    (result,) = (e for e in seen.closing_events([failed.answer]) if isinstance(e, ToolResult))
    assert (result.output, result.status) == ("no GPS", "error")
    why = Answer(decision="denied", request_id="r", reason="no GPS")
    assert ToolResult(id="c", output="no GPS", status="error") in seen.closing_events([why])


def test_what_was_given_with_the_pause_comes_back_else_what_came_with_the_request() -> None:
    with_resume = InputRequest(id="r1", resume={"from": "request"})
    assert asked(with_resume, Paused(request_ids=("r1",))).resume == {"from": "request"}
    pause = Paused(request_ids=("r1",), resume={"from": "pause"})
    assert asked(with_resume, pause).resume == {"from": "pause"}
    assert asked(with_resume, pause, QUESTION, Paused(request_ids=("r2",))).resume is None


def test_what_nobody_will_answer_is_cancelled() -> None:
    seen = asked(APPROVAL, QUESTION, InputResponse(id="r2", decision="answered"))
    assert seen.closing_events() == [InputResponse(id="r1", decision="cancelled")]


async def test_a_log_tells_what_was_asked_however_long_it_is() -> None:
    store = await open_storage("memory:")
    begun = (await store.begin_turn("ann", submit(), "demo", "emitted")).run
    many: list[StreamEvent] = [InputRequest(id=f"r{n}", kind="question") for n in range(600)]
    await store.append(begun.id, begun.epoch, [Start(framework="emitted"), *many], 0)
    assert len((await input_requests_of(store, begun.id)).closing_events()) == 600
    await store.close()


OFFERED = InputRequest(id="r1", tool_call_id="call_1", allowed=("edit", "respond"))


def checked(request: InputRequest, answer: Answer) -> None:
    seen = asked(request)
    seen.check(seen.match([answer]))


@pytest.mark.parametrize(
    ("request_", "answer", "allowed"),
    [
        (APPROVAL, Answer(decision="edited", request_id="r1", value={}), ["approved", "denied"]),
        (APPROVAL, Answer(decision="answered", request_id="r1"), ["approved", "denied"]),
        (OFFERED, Answer(decision="approved", request_id="r1"), ["edited", "answered"]),
        (OFFERED, Answer(decision="denied", tool_call_id="call_1"), ["edited", "answered"]),
    ],
)
def test_a_decision_that_is_not_allowed_is_refused(
    request_: InputRequest, answer: Answer, allowed: list[str]
) -> None:
    with pytest.raises(DecisionNotAllowed, match="'r1'") as refused:
        checked(request_, answer)
    assert refused.value.allowed == [*allowed, "cancelled"]


@pytest.mark.parametrize(
    "answer",
    [
        Answer(decision="edited", request_id="r1", value={"path": "b"}),
        Answer(decision="answered", request_id="r1", value="Nothing there."),
        Answer(decision="cancelled", request_id="r1"),
    ],
)
def test_what_is_allowed_is_taken(answer: Answer) -> None:
    checked(OFFERED, answer)


def test_an_edit_has_the_changed_input() -> None:
    with pytest.raises(InvalidRequest, match="value"):
        checked(OFFERED, Answer(decision="edited", request_id="r1"))


def test_a_run_that_ends_takes_no_decision_that_is_not_allowed() -> None:
    settled = asked(OFFERED).closing_events([Answer(decision="approved", request_id="r1")])
    assert settled == [InputResponse(id="r1", decision="cancelled")]
