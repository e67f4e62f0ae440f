"""How long an agent worked before a text."""

from __future__ import annotations

from mobox.events import InputRequest, InputResponse, Start, StreamEvent, Text, TextEnd, Thinking
from mobox.events.transcript import Transcript


def worked(*log: tuple[StreamEvent, int | None]) -> list[int | None]:
    """The work before each text of such a log."""
    transcript = Transcript()
    for event, ts in log:
        transcript.add(event, ts)
    parts = transcript.message("run").parts
    return [part.worked_ms for part in parts if hasattr(part, "worked_ms")]


def test_counts_from_the_start_and_from_the_end_of_the_text_before() -> None:
    first, second = Text(id="a", content="One"), Text(id="b", content="Two")
    log = [(Start(framework="emitted"), 100), (first, 350), (TextEnd(id="a"), 900), (second, 1000)]
    assert worked(*log) == [250, 100]


def test_waiting_for_a_person_is_no_work() -> None:
    first, second = (InputRequest(id=name, kind="approval") for name in "ab")
    answers = [InputResponse(id=name, decision="approved") for name in "ab"]
    asked = [(first, 200), (second, 250), (answers[0], 400), (answers[1], 1200)]
    assert worked(
        (Start(framework="emitted"), 100), *asked, (Text(id="t", content="So"), 1300)
    ) == [200]


def test_an_answer_to_nothing_changes_nothing() -> None:
    answer = InputResponse(id="x", decision="approved")
    assert worked(
        (Start(framework="emitted"), 100), (answer, 300), (Text(id="t", content="So"), 400)
    ) == [300]


def test_texts_of_subagents_are_work() -> None:
    inner = Text(id="i", scope=("sub",), content="Inside")
    log = [(Start(framework="emitted"), 0), (inner, 10), (TextEnd(id="i", scope=("sub",)), 50)]
    assert worked(*log, (Thinking(id="h", content="Hm"), 60), (Text(id="t"), 80)) == [None, 80]


def test_without_times_nothing_is_known() -> None:
    assert worked((Start(framework="emitted"), None), (Text(id="t", content="So"), None)) == [None]
