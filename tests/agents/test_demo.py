"""The demo agent: every command runs as a process and makes a legal run, the same each time.

`pytest --regold tests/agents` rewrites the golden files: review the diff as code.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mobox import LogEntry, Recorder, StreamEvent, get_formatter
from mobox.capture.catalog import load_agent
from mobox.capture.execution import Outcome
from mobox.capture.process import ProcessExecution, job_of
from mobox.events import (
    Done,
    Error,
    InputRequest,
    InputResponse,
    Paused,
    Status,
    TextDelta,
    ToolResult,
    ToolUseStart,
    decode_many,
    encode_many,
)
from mobox.events.turn import Answer, Decision, Frontend, FrontendTool, PromptText, Turn
from mobox.formatters import format_all
from mobox.sandbox import get_sandbox
from mobox.sandbox.kept_process import AGENT_PATH
from support.grammar_ai_sdk import check_ai_sdk, chunks_of
from support.grammar_log import legal_log

HERE = Path(__file__).parent
DEMO = HERE.parent.parent / "agents" / "demo"

LIMIT = 60
PROMPTS = [
    "step", "tool", "text hello there", "text", "code x = 1", "code", "error", "think", "todo",
    "subagent", "chart", "cite", "file", "slow", "crash", "flood 3", "all", "Hello! Who are you?",
    "page",
]  # fmt: skip
ENDS = {"error": "error", "crash": "error"}

each_prompt = pytest.mark.parametrize("prompt", PROMPTS)

OnEvents = Callable[[ProcessExecution, list[StreamEvent]], None]


def nothing(execution: ProcessExecution, events: list[StreamEvent]) -> None:
    """Only listen."""


async def execute(
    recorder: Recorder, turn: Turn, state: Path, on_events: OnEvents = nothing
) -> tuple[list[LogEntry], Outcome]:
    """One process of the demo; `on_events` may answer its requests."""
    log: list[LogEntry] = []
    job = job_of(load_agent(DEMO), state)
    async with (
        asyncio.timeout(LIMIT),
        ProcessExecution.start(job, turn, get_sandbox("process")) as execution,
    ):
        async for data in execution.batches():
            log += (entries := recorder.read(data))
            on_events(execution, [entry.event for entry in entries])
        return log, await execution.outcome()


def turn_of(prompt: str) -> Turn:
    return Turn(prompt=(PromptText(text=prompt),))


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOBOX_DEMO_SPEED", "0")


def run_of(
    prompt: str, state: Path, on_events: OnEvents = nothing
) -> tuple[list[LogEntry], Outcome]:
    recorder = Recorder("emitted")
    log, outcome = asyncio.run(execute(recorder, turn_of(prompt), state, on_events))
    failure = outcome.failure()
    log += recorder.feed([failure] if failure else [])
    return log + recorder.close(Done(reason="error") if failure else None), outcome


def checked(log: list[LogEntry]) -> list[LogEntry]:
    """A log that is legal, and that every client of the AI SDK can read."""
    legal_log([entry.event for entry in log])
    for profile in ("v5", "v6", "v7"):
        check_ai_sdk(format_all(get_formatter("ai-sdk", "msg_1", profile), log), profile)
    return log


def golden_file(prompt: str) -> Path:
    name = "-".join("".join(c if c.isalnum() else " " for c in prompt.lower()).split())
    return HERE / "golden" / f"{name}.events.jsonl"


@each_prompt
def test_a_command_emits_the_golden_events(prompt: str, tmp_path: Path, regold: bool) -> None:
    log, _ = run_of(prompt, tmp_path / "state")
    made = encode_many(LogEntry(e.seq, e.id, e.ts, _without_paths(e.event)) for e in checked(log))
    if regold:
        golden_file(prompt).parent.mkdir(exist_ok=True)
        golden_file(prompt).write_bytes(made)
    assert decode_many(made) == decode_many(golden_file(prompt).read_bytes())
    assert log[-1].event == Done(reason="error" if prompt in ENDS else "stop")


def _without_paths(event: StreamEvent) -> StreamEvent:
    """A traceback contains file paths, which differ between machines."""
    if isinstance(event, Error) and event.stderr_tail:
        return Error(message=event.message, code=event.code, exit_code=event.exit_code)
    return event


def test_every_golden_file_has_its_command() -> None:
    assert set((HERE / "golden").iterdir()) == {golden_file(prompt) for prompt in PROMPTS}


def test_every_command_is_tested() -> None:
    code = "import run_agent; print(*run_agent.COMMANDS)"
    path = f"{AGENT_PATH}:{DEMO}"
    argv = [sys.executable, "-B", "-c", code]
    listed = subprocess.run(argv, env={"PYTHONPATH": path}, capture_output=True, check=True)
    assert set(listed.stdout.decode().split()) <= {
        prompt.split()[0] for prompt in [*PROMPTS, "approve", "ask", "hang"]
    }


def test_a_crash_brings_its_traceback(tmp_path: Path) -> None:
    log, outcome = run_of("crash", tmp_path / "state")
    assert outcome.exit_code == 1
    (reported, error) = [entry.event for entry in log if isinstance(entry.event, Error)]
    assert (reported.code, reported.message) == (
        "crashed",
        "RuntimeError: the demo crashed on purpose",
    )
    assert "RuntimeError: the demo crashed on purpose" in (error.stderr_tail or "")


def test_a_flood_is_read_whole(tmp_path: Path) -> None:
    log, _ = run_of("flood", tmp_path / "state")
    assert sum(isinstance(entry.event, TextDelta) for entry in checked(log)) == 20_000


def test_a_demo_that_hangs_can_be_stopped(tmp_path: Path) -> None:
    stops: list[asyncio.Task[Outcome]] = []

    def on_events(execution: ProcessExecution, events: list[StreamEvent]) -> None:
        if any(isinstance(event, Status) for event in events):
            stops.append(asyncio.create_task(execution.stop()))

    log, outcome = run_of("hang", tmp_path / "state", on_events)
    assert outcome.stopped
    checked(log)


DECISIONS: dict[Decision, str] = {
    "approved": "ok",
    "edited": "ok",
    "answered": "ok",
    "denied": "denied",
    "cancelled": "denied",
}


@pytest.mark.parametrize("decision", DECISIONS)
def test_approval_is_answered_to_the_waiting_process(decision: Decision, tmp_path: Path) -> None:
    def on_events(execution: ProcessExecution, events: list[StreamEvent]) -> None:
        for paused in [event for event in events if isinstance(event, Paused)]:
            answer = Answer(decision=decision)
            execution.answer(paused.request_ids[0], answer)

    log, _ = run_of("approve", tmp_path / "state", on_events)
    assert result_of(checked(log)) == DECISIONS[decision]


@pytest.mark.parametrize("decision", DECISIONS)
async def test_an_approval_is_answered_to_the_next_process(
    decision: Decision, tmp_path: Path
) -> None:
    recorder = Recorder("emitted")
    pauses: list[Paused] = []

    def give_up(execution: ProcessExecution, events: list[StreamEvent]) -> None:
        pauses.extend(event for event in events if isinstance(event, Paused))
        if pauses:
            execution.kill()

    first, _ = await execute(recorder, turn_of("approve"), tmp_path / "state", give_up)
    assert recorder.close() == []  # it waits
    legal_log([entry.event for entry in first])
    (request,) = pauses[0].request_ids
    answer = Answer(decision=decision, request_id=request)
    response = InputResponse(id=request, decision=answer.decision)
    first += recorder.feed([response])
    turn = Turn(answers=(answer,), resume=pauses[0].resume)
    second, _ = await execute(recorder, turn, tmp_path / "state")
    log = checked(first + second + recorder.close())
    assert result_of(log) == DECISIONS[decision]
    assert log[-1].event == Done(reason="stop")
    assert not [entry for entry in log if entry.event.type == "raw"]


ANSWERS = [
    (
        Answer(decision="answered", value={"answers": {"Where to?": "Bern"}}),
        "Noted:\n\n- Where to? **Bern**\n",
    ),
    (Answer(decision="answered", value="Bern"), "Noted:\n\n- Bern\n"),
    (Answer(decision="cancelled"), "Then it will be a surprise."),
]


@pytest.mark.parametrize(("answer", "expected"), ANSWERS)
def test_a_question_with_choices_and_free_text_is_answered(
    answer: Answer, expected: str, tmp_path: Path
) -> None:
    def on_events(execution: ProcessExecution, events: list[StreamEvent]) -> None:
        for paused in [event for event in events if isinstance(event, Paused)]:
            execution.answer(paused.request_ids[0], answer)

    log, _ = run_of("ask", tmp_path / "state", on_events)
    (request,) = [e.event for e in checked(log) if isinstance(e.event, InputRequest)]
    assert request.kind == "question"
    choice, free = request.options["questions"]
    assert [option["label"] for option in choice["options"]] == ["Bern", "Lugano", "Zermatt"]
    assert "options" not in free
    assert "".join(e.event.delta for e in log if isinstance(e.event, TextDelta)) == expected


async def test_a_question_is_answered_to_the_next_process(tmp_path: Path) -> None:
    answer = Answer(
        decision="answered", value={"answers": {"Where to?": "Lugano"}}, request_id="question_1"
    )
    turn = Turn(answers=(answer,), resume={"command": "ask"})
    log, _ = await execute(Recorder("emitted"), turn, tmp_path / "state")
    text = "".join(entry.event.delta for entry in log if isinstance(entry.event, TextDelta))
    assert text == "Noted:\n\n- Where to? **Lugano**\n"
    assert not [entry for entry in log if isinstance(entry.event, InputRequest)]


@pytest.mark.parametrize("command", ["page", "page locate"])
async def test_a_tool_of_the_page_is_called(tmp_path: Path, command: str) -> None:
    tools = (FrontendTool(name="locate"), FrontendTool(name="shout"))
    turn = Turn(prompt=(PromptText(text=command),), frontend=Frontend(tools=tools))
    recorder = Recorder("emitted")

    def on_events(execution: ProcessExecution, events: list[StreamEvent]) -> None:
        for paused in [event for event in events if isinstance(event, Paused)]:
            answer = Answer(decision="answered", value="Bern")
            execution.answer(paused.request_ids[0], answer)

    log, _ = await execute(recorder, turn, tmp_path / "state", on_events)
    log = checked(log + recorder.close())
    assert [e.event.name for e in log if isinstance(e.event, ToolUseStart)] == ["locate"]
    assert result_of(log) == "ok"
    text = "".join(entry.event.delta for entry in log if isinstance(entry.event, TextDelta))
    assert text == "The page returned: Bern"


async def test_result_of_a_frontend_tool_is_sent_to_the_next_process(tmp_path: Path) -> None:
    answer = Answer(decision="denied", value="no", request_id="result_of_call_page")
    turn = Turn(answers=(answer,), resume={"command": "page"})
    log, _ = await execute(Recorder("emitted"), turn, tmp_path / "state")
    text = "".join(entry.event.delta for entry in log if isinstance(entry.event, TextDelta))
    assert text == "The page could not do that."


def result_of(log: list[LogEntry]) -> str:
    (result,) = [entry.event for entry in log if isinstance(entry.event, ToolResult)]
    return result.status


def test_everything_shows_every_kind_of_part(tmp_path: Path) -> None:
    log, _ = run_of("all", tmp_path / "state")
    chunks = chunks_of(format_all(get_formatter("ai-sdk", "msg_1", "v6"), log))
    shown = {chunk["type"] for chunk in chunks}
    assert {
        "text-delta", "reasoning-delta", "tool-input-delta", "tool-output-available", "source-url",
        "file", "data-todos", "data-usage", "data-chart", "finish",
    } <= shown  # fmt: skip
