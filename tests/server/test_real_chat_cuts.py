"""Connections of the real AI SDK clients that break off: at every frame, nothing is lost.

The agent waits at a gate, so that a run is known to be going on while pages are left and reloaded.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from server.chat_clients import Chat, Cut, Frontend, Json
from server.scripted_agent import Gate, a_day_of_work, emit, prompt, text

AT_THE_GATE = "At the gate"
DEATHS = ("network error", "terminated", "Load failed", "end")

# The client with its profile, and of how many frames one is a place to break off.
EVERY_FRAME = [("ai-v6 v6", 1), ("ai v7", 1), ("ai v6", 7), ("ai-v5 v5", 11)]
SOME_FRAMES = [("ai-v6 v6", 13), ("ai v7", 13), ("ai v6", 23), ("ai-v5 v5", 23)]
IN_PAGE = [("ai-v6 v6", 7), ("ai v7", 7), ("ai v6", 13)]  # 5 repeats what it has


@dataclass
class Held:
    """A run that goes on until the gate is opened."""

    page: Chat  # that began it
    run: str
    frames: int  # that can be read of it by now


def begin(frontend: Frontend, chat_id: str, gate: Gate) -> Held:
    """Two turns: what comes first, and what comes again."""
    steps = [*a_day_of_work(2), emit("status", message=AT_THE_GATE), gate.step, text("The end.")]
    page = frontend.open(chat_id)
    page.begin("sendMessage", {"text": prompt(*steps)})
    gate.wait()
    run = frontend.stored(chat_id)["activeRun"]["id"]
    return Held(page, run, frames_to_the_gate(frontend, chat_id))


def frames_to_the_gate(frontend: Frontend, chat_id: str) -> int:
    frames = 0
    with frontend.following(chat_id) as lines:
        for line in lines:
            frames += line.startswith("data:")
            if '"data-status"' in line and AT_THE_GATE in line:
                return frames
    raise AssertionError("the run ended before its gate")


def finished(frontend: Frontend, chat_id: str) -> tuple[list[Json], int]:
    """The messages of a chat after a day of work, and in how many frames the last one comes."""
    report = frontend.open(chat_id).send(prompt(*a_day_of_work()))
    assert frontend.stored(chat_id)["messages"] == report.messages
    return report.messages, report.requests[0]["frames"]


@pytest.mark.parametrize(("frontend", "step"), EVERY_FRAME, indirect=["frontend"])
def test_a_page_left_at_any_frame_and_reloaded_while_the_run_goes_on(
    frontend: Frontend, chat_id: str, gate: Gate, step: int
) -> None:
    held = begin(frontend, chat_id, gate)
    assert held.frames > 120
    pages = []
    for frames in range(1, held.frames + 1, step):
        left = frontend.open(chat_id)
        assert left.resume(Cut(frames, "end")).requests[0]["frames"] == frames
        page = frontend.reload(chat_id)
        page.begin("resumeStream")
        page.read(frames)
        pages.append(page)
    assert frontend.stored(chat_id)["activeRun"] == {
        "id": held.run,
        "status": "running",
        "agent": "scripted",
    }
    gate.open()
    uncut = held.page.settle()
    assert (uncut.status, uncut.invalid) == ("ready", None)
    assert uncut.messages == frontend.stored(chat_id)["messages"]
    for page in pages:
        report = page.settle()
        assert (report.status, report.error, report.messages) == ("ready", None, uncut.messages)
        page.close()


@pytest.mark.parametrize(("frontend", "step"), SOME_FRAMES, indirect=["frontend"])
def test_a_page_left_at_any_frame_and_reloaded_when_the_run_is_over(
    frontend: Frontend, chat_id: str, step: int
) -> None:
    messages, total = finished(frontend, chat_id)
    for frames in range(1, total + 1, step):
        frontend.open(chat_id, run=messages[1]["id"]).resume(Cut(frames, "end"))
        report = frontend.reload(chat_id).resume()
        assert (report.status, report.error, report.messages) == ("ready", None, messages)


@pytest.mark.parametrize(("frontend", "step"), EVERY_FRAME[2:], indirect=["frontend"])
def test_the_page_that_sent_is_left_while_the_run_goes_on(
    frontend: Frontend, chat_id: str, gate: Gate, step: int
) -> None:
    for frames in (1, 2, 3, 40 + step, 200):
        chat = f"{chat_id}-{frames}"
        steps = [*a_day_of_work(), gate.step, text("The end.")]
        left = frontend.open(chat).send(prompt(*steps), Cut(frames))
        assert (left.status, left.requests[0]["frames"]) == ("error", frames)
        page = frontend.reload(chat)
        page.begin("resumeStream")
        page.read(frames)
        gate.open()
        report = page.settle()
        assert (report.status, report.error) == ("ready", None)
        assert report.messages == frontend.stored(chat)["messages"]
        *_, last, step_start = report.messages[-1]["parts"]
        assert (last["type"], step_start["type"]) == ("text", "step-start")


@pytest.mark.parametrize(("frontend", "step"), IN_PAGE, indirect=["frontend"])
def test_a_connection_that_dies_at_any_frame_under_a_page(
    frontend: Frontend, chat_id: str, step: int
) -> None:
    messages, total = finished(frontend, chat_id)
    for frames in range(1, total + 1, step):
        page = frontend.open(chat_id, messages=messages[:1], run=messages[1]["id"])
        page.resume(Cut(frames, DEATHS[frames % len(DEATHS)]))
        report = page.resume()
        assert (report.status, report.error, report.messages) == ("ready", None, messages)


@pytest.mark.parametrize("frames", [1, 5, 60, 150, 250])
def test_a_connection_that_dies_under_the_page_that_sent(
    frontend: Frontend, chat_id: str, gate: Gate, frames: int
) -> None:
    page = frontend.open(chat_id)
    page.send(prompt(*a_day_of_work(), gate.step, text("The end.")), Cut(frames))
    page.begin("resumeStream")
    page.read(frames)
    gate.open()
    report = page.settle()
    assert (report.status, report.error) == ("ready", None)
    assert report.messages == frontend.stored(chat_id)["messages"]


# Between the two questions of a page that is loaded, for the history and for the stream


def test_a_run_that_ends_between_history_and_stream_is_not_lost(
    frontend: Frontend, chat_id: str, gate: Gate
) -> None:
    first = frontend.open(chat_id)
    first.begin("sendMessage", {"text": prompt(text("One"), gate.step, text(" two"))})
    gate.wait()
    page = frontend.reload(chat_id)
    gate.open()
    messages = first.settle().messages
    assert page.resume().messages == messages


@pytest.mark.parametrize("frontend", ["ai-v5 v5", "ai-v6-strict v6"], indirect=True)
def test_clients_that_would_repeat_a_message_name_its_run(
    frontend: Frontend, chat_id: str, gate: Gate
) -> None:
    first = frontend.open(chat_id)
    first.begin("sendMessage", {"text": prompt(text("One"), gate.step, text(" two"))})
    gate.wait()
    page = frontend.reload(chat_id, run=frontend.stored(chat_id)["activeRun"]["id"])
    gate.open()
    messages = first.settle().messages
    assert page.resume().messages == messages
    assert frontend.stream(chat_id, strict="1").status_code == 204


@pytest.mark.parametrize("frontend", ["ai-v5 v5"], indirect=True)
def test_version_5_does_not_get_a_finished_run_again(frontend: Frontend, chat_id: str) -> None:
    messages = frontend.open(chat_id).send(prompt(text("One"))).messages
    assert frontend.stream(chat_id).status_code == 204
    report = frontend.reload(chat_id).resume()
    assert report.messages == messages
    assert report.requests[0]["status"] == 204
