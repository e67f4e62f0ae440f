"""A run's log as a script: the model answers again as it did in that run."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
import yaml

from mobox import LogEntry, Recorder, StreamEvent
from mobox.events import (
    Done,
    Error,
    File,
    Source,
    StepStart,
    SubagentEnd,
    SubagentStart,
    Text,
    TextDelta,
    TextEnd,
    ToolResult,
    ToolUseEnd,
    ToolUseStart,
    Usage,
)
from mobox.models.simulator import Scenario, Script, from_log, parse_script, script
from models.simulator.asking import WIRES, Wire, ask, events
from models.simulator.scenarios import PIXEL, SCENARIOS
from support.recordings import each_recording, recorded_log

each_wire = pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)
PROMPT = "What is the weather?"
KEPT = (
    "text", "think", "tool", "cite", "code", "file", "usage", "max", "refuse", "malformed",
)  # fmt: skip
LOST = {
    ("anthropic", "file"),  # only an id of the file is sent
    ("anthropic", "refuse"),  # the words of a refusal are beside the message
    ("chat", "code"),  # it has no tools of the provider's
    ("gemini", "refuse"),
    ("gemini", "malformed"),  # no call is sent
    ("interactions", "refuse"),  # it is a failed interaction with a text
}
"""What a wire format does not tell our parser."""


def log_of(given: Iterable[StreamEvent], framework: str = "emitted") -> list[LogEntry]:
    recorder = Recorder(framework)
    return [entry for event in given for entry in recorder.feed([event])] + recorder.close()


def say(name: str, text: str, *scope: str) -> list[StreamEvent]:
    return [
        Text(id=name, scope=scope),
        TextDelta(id=name, scope=scope, delta=text),
        TextEnd(id=name, scope=scope),
    ]


def call(name: str, tool: str, *scope: str) -> list[StreamEvent]:
    return [
        ToolUseStart(id=name, scope=scope, name=tool),
        ToolUseEnd(id=name, scope=scope, input={"q": name}),
    ]


def result(name: str, *scope: str) -> StreamEvent:
    return ToolResult(id=name, scope=scope, output="fine", status="ok")


def turns_of(*given: StreamEvent) -> list[list[script.Step]]:
    scenario = from_log(log_of(given)).scenario("run")
    return [list(turn) for turn in scenario.turns]


@pytest.mark.parametrize(
    ("wire", "name"),
    [(wire, name) for wire in WIRES for name in KEPT if (wire.name, name) not in LOST],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
async def test_answer_is_the_same_to_the_byte(wire: Wire, name: str) -> None:
    scenario = parse_script(SCENARIOS).scenario(name)
    body = wire.body(PROMPT, stream=True)
    first = await ask(wire, body, Script({"only": scenario}, "only"), stream=True)
    recorder = Recorder(wire.framework)
    log = [entry for each in events(first) for entry in recorder.feed([each])] + recorder.close()
    again = await ask(wire, body, from_log(log), stream=True)
    assert again.text == first.text


@each_recording
def test_script_of_every_recording_can_be_printed_and_read(recording: Path) -> None:
    made = from_log(recorded_log(recording))
    assert parse_script(yaml.safe_dump(made.document())) == made


def test_turn_starts_after_a_result() -> None:
    asked = [*say("t1", "I look."), *call("c1", "search"), *call("c2", "search")]
    turns = turns_of(*asked, result("c1"), result("c2"), *say("t2", "Found."), Done(reason="stop"))
    assert turns == [
        [
            script.Text("I look."),
            script.Tool("search", {"q": "c1"}, id="c1"),
            script.Tool("search", {"q": "c2"}, id="c2"),
        ],
        [script.Text("Found.")],
    ]


def test_turn_starts_where_the_log_says_so() -> None:
    steps = [StepStart(id=f"s{n}", kind="turn", number=n) for n in (1, 2)]
    turns = turns_of(steps[0], *say("t1", "One."), steps[1], *say("t2", "Two."))
    assert turns == [[script.Text("One.")], [script.Text("Two.")]]


def test_tokens_of_each_turn_are_kept() -> None:
    def used(name: str, count: int, *scope: str) -> StreamEvent:
        return Usage(id=name, scope=scope, input=count, output=1, cache_read=2)

    turns = turns_of(
        used("m1", 5),
        *call("c1", "search"),
        used("m1", 10),
        result("c1"),
        used("m2", 20),  # the next message has begun, without a block yet
        *say("t1", "Found."),
        used("m2", 30),
        used("m3", 40, "a1"),
        Usage(per="run", input=99, output=9),
        Done(reason="stop"),
    )
    assert [turn[-1] for turn in turns] == [script.Usage(10, 1, 2), script.Usage(30, 1, 2)]
    assert [len(turn) for turn in turns] == [2, 2]


def test_subagent_has_a_scenario_that_its_task_chooses() -> None:
    made = from_log(
        log_of(
            [
                *call("c1", "task"),
                SubagentStart(id="a1", agent="researcher", task="Find bees."),
                *call("c2", "search", "a1"),
                result("c2", "a1"),
                *say("t1", "Bees found.", "a1"),
                SubagentEnd(id="a1", status="ok"),
                result("c1"),
                *say("t2", "Done."),
                Done(reason="stop"),
            ]
        )
    )
    assert made.scenario("run").turns == [
        [script.Tool("task", {"q": "c1"}, id="c1")],
        [script.Text("Done.")],
    ]
    assert made.scenario("subagent-1") == Scenario(
        [[script.Tool("search", {"q": "c2"}, id="c2")], [script.Text("Bees found.")]],
        when="Find bees.",
    )
    assert made.choose("Please: Find bees. Now.") == "subagent-1"
    assert made.choose("Anything") == "run"


def test_files_of_a_tool_are_not_the_models() -> None:
    image = File(id="c1", media_type="image/png", base64=PIXEL)
    drawn = File(id="f1", media_type="image/png", base64=PIXEL)
    turns = turns_of(*call("c1", "plot"), image, result("c1"), drawn, Done(reason="stop"))
    assert turns == [
        [script.Tool("plot", {"q": "c1"}, id="c1")],
        [script.File("image/png", PIXEL)],
    ]


def test_one_place_with_two_sources_is_cited_once() -> None:
    where = {"start_index": 0, "end_index": 4}
    sources = [Source(id="t1", url=f"https://example.org/{n}", location=where) for n in (1, 2)]
    turns = turns_of(*say("t1", "Bees fly."), *sources, Done(reason="stop"))
    assert turns == [[script.Cite("Bees", "https://example.org/1"), script.Text(" fly.")]]


@pytest.mark.parametrize(
    ("code", "status"),
    [("rate_limited", 429), ("overloaded", 529), ("auth", 401), ("context_length", 400)],
)
def test_error_of_a_provider_fails_again(code: str, status: int) -> None:
    end = [Error(message="No.", code=code), Done(reason="error")]
    fail = script.Fail(status, "No.")
    assert turns_of(*end) == [[fail]]
    assert turns_of(*say("t1", "Half"), *end) == [[script.Text("Half"), fail]]
    asked = [*call("c1", "search"), result("c1")]
    assert turns_of(*asked, *end) == [[script.Tool("search", {"q": "c1"}, id="c1")], [fail]]


def test_error_of_the_agent_is_not_the_models() -> None:
    end = [Error(message="No.", code="crashed"), Done(reason="error")]
    assert turns_of(*say("t1", "Half"), *end) == [[script.Text("Half")]]


def test_limit_and_refusal_end_the_last_turn() -> None:
    text = say("t1", "Half")
    assert turns_of(*text, Done(reason="length"))[-1][-1] == script.MaxTokens()
    assert turns_of(*text, Done(reason="refusal"))[-1][-1] == script.Refuse()
    assert turns_of(Done(reason="content_filter")) == [[script.Refuse()]]
