"""Any events become a log, again and again the same, and nothing that was said is lost."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mobox.events import (
    Done,
    EventType,
    Paused,
    Raw,
    Retract,
    Start,
    Status,
    StreamEvent,
    Text,
    TextDelta,
    TextEnd,
    Thinking,
    ThinkingDelta,
    ThinkingEnd,
    Usage,
)
from mobox.events.blocks import Blocks
from mobox.lifecycle import Lifecycle
from support.grammar_log import legal_log
from support.strategies import Events, endings, events, log_of, runs, scopes

THOROUGH = settings(max_examples=200)
LOST = Done(reason="lost")
SPEECH = events() | runs()


@THOROUGH
@given(SPEECH, endings())
def test_any_events_in_any_order_make_a_legal_log(said: Events, done: Done | None) -> None:
    legal_log(log_of(said, done))


@THOROUGH
@example([Raw(id="", raw=None)], None)
@given(SPEECH, endings())
def test_a_log_that_is_fed_again_gives_itself(said: Events, done: Done | None) -> None:
    log = log_of(said, done)
    assert log_of(log) == log


@THOROUGH
@given(SPEECH, endings(), st.data())
def test_a_run_that_crashed_anywhere_can_be_closed_from_its_log(
    said: Events, done: Done | None, data: st.DataObject
) -> None:
    log = log_of(said, done)
    crashed_at = data.draw(st.integers(0, len(log) - 1))
    closed = log_of(log[:crashed_at], LOST)
    legal_log(closed)
    assert closed[:crashed_at] == log[:crashed_at]
    assert closed[-1] == LOST


@THOROUGH
@given(SPEECH, SPEECH)
def test_a_log_that_is_fed_again_leaves_the_lifecycle_as_it_was(
    before: Events, after: Events
) -> None:
    before = [event for event in before if not isinstance(event, Done)]  # the log has no proposals
    before = [Start(framework="test"), *before]  # nor has it the noise before the start
    lives, replayed = Lifecycle("test"), Lifecycle("test")
    log = [entry for event in before for entry in lives.feed(event)]
    for entry in log:
        replayed.feed(entry)
    assert (replayed.waiting, replayed.ended) == (lives.waiting, lives.ended)
    assert replayed.pause_again() == lives.pause_again()
    after = [event for event in after if not names_anything(event)]
    assert told_by(replayed, after) == told_by(lives, after)


@THOROUGH
@given(SPEECH, endings())
def test_no_text_is_lost_or_repeated(said: Events, done: Done | None) -> None:
    assert text_of(log_of(said, done)) == text_of(said)


@THOROUGH
@given(SPEECH, endings())
def test_no_thought_is_lost_or_repeated(said: Events, done: Done | None) -> None:
    # Between two thoughts there may be a paragraph more in the log.
    assert thoughts_of(log_of(said, done)).replace("\n", "") == thoughts_of(said).replace("\n", "")


@THOROUGH
@given(SPEECH)
def test_emitted_events_are_never_raw(said: Events) -> None:
    strays = {entry.source for entry in log_of(said) if isinstance(entry, Raw)}
    spoken = [EventType.TEXT, EventType.TEXT_DELTA, EventType.THINKING, EventType.THINKING_DELTA]
    assert not strays & {f"stray {name}" for name in spoken}


@THOROUGH
@example([Paused(request_ids=("a",)), Status(message="s"), Paused(request_ids=("a",))])
@given(SPEECH)
def test_every_event_but_a_proposal_and_a_repeated_pause_is_logged_at_once(said: Events) -> None:
    lifecycle, pause = Lifecycle(), Paused(request_ids=())
    lifecycle.feed(Start(framework="test"))
    for event in said:
        is_known = isinstance(event, Done) or (lifecycle.waiting and says_again(event, pause))
        logged = lifecycle.feed(event)
        assert bool(logged) is not is_known
        pause = next((entry for entry in logged if isinstance(entry, Paused)), pause)


def test_noise_before_the_first_word_waits_for_the_start() -> None:
    lifecycle = Lifecycle()
    noise, start = Raw(raw="loading"), Start(framework="test", model="m")
    assert lifecycle.feed(noise) == []
    assert lifecycle.feed(start) == [start, noise]


def test_noise_alone_is_logged_at_the_end() -> None:
    lifecycle = Lifecycle("test")
    lifecycle.feed(Raw(raw="loading"))
    started, noise, done = lifecycle.close()
    assert (started, noise) == (Start(framework="test"), Raw(raw="loading"))
    assert isinstance(done, Done)


@pytest.mark.parametrize("event", [Raw(raw=1), Usage(input=1), Status(message="still here")])
def test_events_without_new_content_do_not_end_the_wait(event: StreamEvent) -> None:
    lifecycle = Lifecycle()
    lifecycle.feed(Start(framework="test"))
    lifecycle.feed(Paused(request_ids=("r",)))
    lifecycle.feed(event)
    assert lifecycle.waiting
    assert lifecycle.close() == []


@THOROUGH
@given(SPEECH, scopes)
def test_open_block_can_be_derived_from_the_log(said: Events, scope: tuple[str, ...]) -> None:
    lifecycle, reader = Lifecycle(), Blocks()
    for event in said:
        for entry in lifecycle.feed(event):
            reader.turn_to(entry)
    for delta in TextDelta(scope=scope, delta="a"), ThinkingDelta(scope=scope, delta="a"):
        name = reader.name_for(delta)
        log = lifecycle.feed(delta)
        assert log[-1].id == name
        for entry in log:
            reader.turn_to(entry)


@THOROUGH
@given(SPEECH)
def test_a_reader_sees_the_end_of_each_block_before_it_is_closed(said: Events) -> None:
    reader, logged = Blocks(), set[str | None]()
    for entry in log_of(said):
        closed = reader.turn_to(entry).closed
        if isinstance(entry, TextEnd | ThinkingEnd):
            logged.discard(entry.id)
        assert closed is None or closed.id not in logged
        if isinstance(entry, Text | Thinking) and reader.open and reader.open.id == entry.id:
            logged.add(entry.id)


def says_again(event: StreamEvent, pause: Paused) -> bool:
    return (
        isinstance(event, Paused)
        and event.request_ids == pause.request_ids
        and event.resume in (None, pause.resume)
    )


def names_anything(event: StreamEvent) -> bool:
    """A framework that uses an id again is followed in its process only: the next leg has its own
    prefix, and the log names the calls apart."""
    about = {event.id, *event.scope, getattr(event, "tool_call_id", None)}
    return bool(about - {None, ""}) or isinstance(event, Retract)


def told_by(lifecycle: Lifecycle, said: Events) -> Events:
    return [entry for event in said for entry in lifecycle.feed(event)] + lifecycle.close(LOST)


def text_of(said: Events) -> str:
    return "".join(
        event.content if isinstance(event, Text) else event.delta
        for event in said
        if isinstance(event, Text | TextDelta)
    )


def thoughts_of(said: Events) -> str:
    return "".join(
        event.content if isinstance(event, Thinking) else event.delta
        for event in said
        if isinstance(event, Thinking | ThinkingDelta)
    )
