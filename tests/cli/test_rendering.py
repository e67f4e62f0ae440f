"""Runs as text: golden files of recordings of every framework, and what holds for all of them.

`make golden` rewrites the files: review the diff as you would look at a terminal.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from mobox.cli.terminal.order import LONGEST
from mobox.cli.terminal.rendering import Renderer
from mobox.cli.terminal.style import ASCII, Style, terminal_style
from mobox.events import (
    Done,
    Error,
    InputRequest,
    LogEntry,
    Retract,
    Start,
    Status,
    StreamEvent,
    SubagentEnd,
    SubagentStart,
    Text,
    TextDelta,
    TodoItem,
    TodoUpdate,
    ToolResult,
    ToolUseEnd,
    ToolUseStart,
)
from support.recordings import FOLDER, RECORDINGS, each_recording, name_of, timed_log

GOLDEN = Path(__file__).parent / "golden"
SHOWN = (
    *("adk/confirmation", "adk/parallel", "adk/tool_error"),
    *("claude/agent_cut", "claude/agent_perm", "claude/agent_sub_async_all"),
    *("claude/agent_sub_sync_fwd", "claude/agent_todowrite", "claude/wire_everything"),
    *("deepagents/parts", "emitted/every_event", "emitted/every_line", "emitted/placeholders"),
    *("gemini/hosted", "langchain/parts_hitl", "langchain/parts_tools", "openai/responses_hosted"),
    *("openai-agents/handoff", "openai-agents/nested", "smolagents/gen_error"),
    "smolagents/managed",
)
NAMED = {name_of(path): path for path in RECORDINGS}
COLOURS = Style(colour=True, width=60, moves=True)


def rendered(log: list[LogEntry], style: Style, logs: str = "mobox logs run_1") -> str:
    renderer = Renderer(style, logs)
    return renderer.feed(log) + renderer.flush()


def log_of(*events: StreamEvent, every: int = 0) -> list[LogEntry]:
    return [LogEntry(n, n, n * every, event) for n, event in enumerate(events, 1)]


# Golden files


@pytest.mark.parametrize("name", SHOWN)
def test_recording_looks_as_it_did(name: str, regold: bool) -> None:
    golden = GOLDEN / f"{name.replace('/', '_')}.txt"
    made = rendered(timed_log(NAMED[name]), Style(width=80))
    if regold:
        golden.write_text(made, "utf-8")
    assert made.splitlines() == golden.read_text("utf-8").splitlines()


@pytest.mark.parametrize("name", ["claude/agent_todowrite", "emitted/every_event"])
def test_colours_look_as_they_did(name: str, regold: bool) -> None:
    golden = GOLDEN / f"{name.replace('/', '_')}.colours.txt"
    made = rendered(timed_log(NAMED[name]), COLOURS).replace("\x1b", "ESC")
    if regold:
        golden.write_text(made, "utf-8")
    assert made.splitlines() == golden.read_text("utf-8").splitlines()


def test_every_golden_file_is_of_a_recording(regold: bool) -> None:
    known = {f"{name.replace('/', '_')}" for name in SHOWN}
    files = {path for path in GOLDEN.iterdir() if path.name.partition(".")[0] not in known}
    if regold:
        for stale in files:
            stale.unlink()
    assert set() == files
    assert {NAMED[name].parent.name for name in SHOWN} == {p.name for p in FOLDER.iterdir()} - {
        "PROVENANCE.md"
    }


# What holds for all


@each_recording
def test_entries_one_by_one_give_the_same_text(recording: Path) -> None:
    log, renderer = timed_log(recording), Renderer(COLOURS, "mobox logs run_1")
    one_by_one = "".join(renderer.feed([entry]) for entry in log) + renderer.flush()
    assert one_by_one == rendered(log, COLOURS)


@each_recording
def test_no_word_of_an_answer_is_lost(recording: Path) -> None:
    log = timed_log(recording)
    for style in (Style(), COLOURS):
        shown = iter(rendered(log, style).split())
        missing = [word for word in words_of(log) if word not in shown]
        assert missing == []


def words_of(log: list[LogEntry]) -> list[str]:
    """The complete words of the root agent's blocks; those of placeholders are replaced."""
    blocks: dict[str | None, str] = {}
    for entry in log:
        event = entry.event
        if isinstance(event, Text | TextDelta) and not event.scope:
            piece = event.content if isinstance(event, Text) else event.delta
            blocks[event.id] = blocks.get(event.id, "") + piece
    words = [word for text in blocks.values() for word in text.split()[1:-1]]
    return [word for word in words if "<<" not in word and ">>" not in word]


@each_recording
def test_plain_text_has_no_escape_sequences(recording: Path) -> None:
    made = rendered(timed_log(recording), Style())
    assert [c for c in made if not c.isprintable() and c not in "\n\t\xa0"] == []


# Single rules


def test_subagents_that_alternate_are_shown_one_after_the_other() -> None:
    both = [
        event
        for n in range(3)
        for scope in (("a",), ("b",))
        for event in (Status(message=f"{scope[0]}{n}", scope=scope),)
    ]
    log = log_of(
        SubagentStart(id="a", agent="one"), SubagentStart(id="b", agent="two"), *both,
        SubagentEnd(id="b"), SubagentEnd(id="a"),
    )  # fmt: skip
    assert rendered(log, Style()) == (
        "● one\n  · a0\n  · a1\n  · a2\n  └ finished\n● two\n  · b0\n  · b1\n  · b2\n  └ finished\n"
    )


def test_subagent_does_not_wait_longer_than_the_limit() -> None:
    start = [SubagentStart(id="a", agent="one"), SubagentStart(id="b", agent="two")]
    late = [Status(message=f"a{n}", scope=("a",)) for n in range(3)]
    renderer = Renderer(Style())
    assert "two" not in renderer.feed(log_of(*start, *late, every=LONGEST // 5))
    assert renderer.waiting_agents == 1
    later = LogEntry(9, 9, 3 * LONGEST, Status(message="a9", scope=("a",)))
    assert renderer.feed([later]) == "● two\n↳ one\n  · a9\n"
    assert renderer.waiting_agents == 0


def test_two_blocks_do_not_tear_each_others_lines() -> None:
    deltas = [
        TextDelta(id=name, scope=scope, delta=f"{name}{n} ")
        for n in range(3)
        for name, scope in (("r", ()), ("s", ("a",)))
    ]
    log = log_of(Text(id="r"), SubagentStart(id="a", agent="one"), *deltas)
    assert rendered(log, Style()) == "● one\n\nr0 r1 r2 \n\n↳ one\n  s0 s1 s2 \n"


def test_result_names_its_call_if_it_is_not_below_it() -> None:
    calls = [
        each
        for n in ("a", "b")
        for each in (ToolUseStart(id=n, name=f"f_{n}"), ToolUseEnd(id=n, input={"x": n}))
    ]
    results = [ToolResult(id="a", output="1"), ToolResult(id="b", output="2", status="error")]
    assert rendered(log_of(*calls, *results), Style()) == (
        '● f_a "a"\n● f_b "b"\n  └ f_a: 1\n  └ failed: 2\n'
    )


def test_plan_is_replaced_in_place_only_if_it_was_shown_last() -> None:
    plans = [
        TodoUpdate(items=(TodoItem(content="x", status=s),))
        for s in ("pending", "pending", "in_progress", "completed")
    ]
    moving = Style(moves=True, width=40)
    assert rendered(log_of(*plans), moving) == "○ x\n\x1b[1A\x1b[J▸ x\n\x1b[1A\x1b[J✔ x\n"
    assert rendered(log_of(*plans), Style()) == "○ x\n\n▸ x\n\n✔ x\n"
    between = log_of(*plans[1:3], Status(message="hm"), plans[3])
    assert rendered(between, moving).count("\x1b[J") == 1


def test_request_with_an_empty_prompt_has_words() -> None:
    for prompt in (None, "", " \n "):
        request = InputRequest(id="question_1", kind="question", prompt=prompt)
        assert rendered(log_of(request), Style()) == "? The agent has a question.\n"


def test_error_after_which_the_run_goes_on_is_a_notice() -> None:
    failing = [Start(framework="x"), Error(message="busy", code="overloaded")]
    goes_on = rendered(log_of(*failing, Text(content="Hi"), Done(reason="stop")), Style())
    assert goes_on == "· busy\n\nHi\n\n0.0 s\n"
    fails = rendered(log_of(*failing, Done(reason="error")), Style())
    assert fails == "✗ busy\n  overloaded · mobox logs run_1\n0.0 s\n"


def test_run_that_fails_without_an_error_says_so() -> None:
    assert (
        rendered(log_of(Done(reason="error")), Style()) == "✗ The run failed.\n  mobox logs run_1\n"
    )
    assert "process that executed this run" in rendered(log_of(Done(reason="lost")), Style())


def test_text_goes_on_after_a_retraction_on_a_line_of_its_own() -> None:
    log = log_of(Text(id="a", content="One"), Retract(blocks=("a",)), Text(id="b", content="Once"))
    assert rendered(log, Style()) == "One\n\n· The answer broke off and is sent again\n\nOnce\n"


def test_answer_can_be_left_out() -> None:
    renderer = Renderer(Style(), shows_answer=False)
    log = log_of(
        Status(message="x"),
        Text(id="a", content="secret"),
        Text(id="b", content="sub", scope=("s",)),
    )
    assert renderer.feed(log) + renderer.flush() == "· x\n↳ subagent\n  sub\n"


def test_symbols_fit_the_encoding() -> None:
    style = terminal_style(True, "ISO-8859-1", 80, {"TERM": "xterm"})
    assert style.symbols is ASCII
    text = rendered(timed_log(NAMED["claude/agent_todowrite"]), style)
    text.replace("…", "").encode("latin-1")
    assert "* " in text


@pytest.mark.parametrize(
    ("is_terminal", "env", "expected"),
    [
        (True, {"TERM": "xterm"}, (True, 80, True)),
        (True, {"TERM": "xterm", "NO_COLOR": "1"}, (False, 80, True)),
        (True, {"TERM": "xterm", "NO_COLOR": ""}, (True, 80, True)),
        (True, {"TERM": "dumb"}, (False, 80, False)),
        (True, {}, (False, 80, False)),
        (False, {"TERM": "xterm"}, (False, None, False)),
    ],
)
def test_style_of_a_stream(
    is_terminal: bool, env: dict[str, str], expected: tuple[bool, int | None, bool]
) -> None:
    style = terminal_style(is_terminal, "utf-8", 80, env)
    assert (style.colour, style.width, style.moves) == expected
