"""The real Agents SDK, run against a scripted endpoint: its objects come out as a run of ours."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from mobox import Recorder, StreamEvent, get_parser
from mobox.capture.jsonlines import JsonLines
from mobox.events import (
    Done,
    InputRequest,
    InputResponse,
    Paused,
    Raw,
    Result,
    SubagentEnd,
    SubagentStart,
    Text,
    TextDelta,
    ToolResult,
    ToolUseEnd,
    Usage,
)
from mobox.lifecycle import Lifecycle
from support.grammar_log import legal_log

SCRIPT = Path(__file__).parent / "openai_agents_run.py"
Events = list[StreamEvent]


def run(python: Path, what: str, given: bytes = b"") -> bytes:
    command = [str(python), "-W", "ignore", str(SCRIPT), what]
    done = subprocess.run(command, input=given, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return done.stdout


def recorded(lines: bytes) -> Events:
    recorder = Recorder("openai-agents")
    return [entry.event for entry in recorder.read(lines) + recorder.close()]


def text_of(log: Events, scope: tuple[str, ...] = ()) -> str:
    said = [event for event in log if event.scope == scope]
    texts = [event.content for event in said if isinstance(event, Text)]
    return "".join(texts + [event.delta for event in said if isinstance(event, TextDelta)])


def test_an_agent_that_is_a_tool_is_nested(frameworks: Path) -> None:
    log = recorded(run(frameworks, "nested"))
    legal_log(log)
    [result] = [event for event in log if isinstance(event, Result)]
    assert text_of(log) == result.text == "The specialist says 21C."
    call = "call_ask_specialist"
    assert text_of(log, (call,)) == "It is 21C."
    results = {event.id: event for event in log if isinstance(event, ToolResult)}
    assert results["call_get_weather"].output == "21C in Lisbon"
    assert results["call_get_weather"].scope == (call,)
    assert results[call].output == "It is 21C."
    subagents = [event for event in log if isinstance(event, SubagentStart | SubagentEnd)]
    assert [(event.id, event.agent) for event in subagents] == [(call, "specialist")] * 2
    [total] = [event for event in log if isinstance(event, Usage) and event.per == "run"]
    assert (total.input, total.output, total.cache_read) == (40, 20, 16)
    assert log[-1] == Done(reason="stop", native="completed")
    assert [event for event in log if isinstance(event, Raw)] == []


def test_a_run_goes_on_from_its_state_when_a_person_has_approved(frameworks: Path) -> None:
    log = recorded(run(frameworks, "ask"))
    [request] = [event for event in log if isinstance(event, InputRequest)]
    assert request.tool_call_id == "call_delete_file"
    paused = log[-1]
    assert isinstance(paused, Paused)
    assert paused.request_ids == (request.id,)

    lifecycle = Lifecycle("openai-agents")
    lifecycle.feed_all([*log, InputResponse(id=request.id, decision="approved")])
    parser, lines = get_parser("openai-agents", "2."), JsonLines()
    body = run(frameworks, "approve", json.dumps(paused.resume).encode() + b"\n")
    said = [event for raw in lines.feed(body) + lines.close() for event in parser.feed(raw)]
    leg = lifecycle.feed_all([*said, *parser.close()]) + lifecycle.close()
    legal_log([*log, InputResponse(id=request.id, decision="approved"), *leg])
    assert [event.output for event in leg if isinstance(event, ToolResult)] == ["deleted /tmp/x"]
    assert [event for event in leg if isinstance(event, ToolUseEnd | Raw)] == []
    assert text_of(leg) == "It is gone."
    assert leg[-1] == Done(reason="stop", native="completed")
