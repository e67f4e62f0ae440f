"""The three panes: what is shown where, and that a page can show it."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mobox.errors import UnknownProfile
from mobox.events import (
    Done,
    Error,
    EventType,
    File,
    InputRequest,
    InputResponse,
    LogEntry,
    Paused,
    Raw,
    Result,
    Retract,
    Source,
    Start,
    Status,
    StepStart,
    StreamEvent,
    SubagentStart,
    Text,
    TextDelta,
    TextEnd,
    Thinking,
    ThinkingDelta,
    ThinkingEnd,
    TodoCreate,
    TodoItem,
    TodoUpdate,
    ToolResult,
    ToolUseDelta,
    ToolUseEnd,
    ToolUseStart,
)
from mobox.formatters import format_all, get_formatter
from mobox.formatters.panes import POLICIES, PanesFormatter
from mobox.formatters.panes.calls import StreamedCode
from support.grammar_panes import Message, Panes, check_panes
from support.recordings import RECORDINGS, each_recording, name_of, recorded_log
from support.strategies import logs, numbered

each_policy = pytest.mark.parametrize("policy", POLICIES)

LOST = "The server stopped while the agent was working. Everything up to here is saved."


def recorded(name: str) -> list[LogEntry]:
    [recording] = [path for path in RECORDINGS if name_of(path) == name]
    return recorded_log(recording)


def documents(log: list[LogEntry], policy: str = "document") -> list[bytes]:
    return format_all(get_formatter("panes", "run", policy), log)


def panes_of(log: list[LogEntry], policy: str = "document") -> Panes:
    over = isinstance(log[-1].event, Done)
    return check_panes(documents(log, policy), policy, over=over)


def said(*events: StreamEvent, policy: str = "document") -> Panes:
    """The panes of a run that says this."""
    log = numbered([Start(framework="test"), *events, Done(reason="stop")])
    return panes_of(log, policy)


def contents(panes: Panes, component: str, **metadata: Any) -> list[str]:
    """What stands in a pane, of the messages that say this of themselves."""
    return [
        message["content"]
        for message in panes.shown(component)
        if metadata.items() <= message["metadata"].items()
    ]


def text_of(log: list[LogEntry]) -> str:
    """What the root agent answered, without what it took back."""
    events = [entry.event for entry in log if not entry.event.scope]
    retracted = {name for event in events if isinstance(event, Retract) for name in event.blocks}
    return "".join(
        event.content if isinstance(event, Text) else event.delta
        for event in events
        if isinstance(event, Text | TextDelta) and event.id not in retracted
    )


def call(kind: Any, given: Any, result: Any, **more: Any) -> list[StreamEvent]:
    return [
        ToolUseStart(id="c", name="tool", kind=kind),
        ToolUseEnd(id="c", input=given),
        ToolResult(id="c", output=result, **more),
    ]


# Legal


@each_recording
@each_policy
def test_a_page_can_show_every_recording(recording: Path, policy: str) -> None:
    log = recorded_log(recording)
    spoken = "".join(
        message["content"]
        for message in panes_of(log, policy).shown("chat")
        if message["role"] == "assistant" and not message["metadata"].keys() & {"title", "scope"}
    )
    results = [e.event.text or "" for e in log if isinstance(e.event, Result)]
    assert spoken.startswith(text_of(log))
    assert spoken.removeprefix(text_of(log)) in ("", *results)


@each_policy
@given(log=logs())
def test_a_page_can_show_whatever_is_logged(policy: str, log: list[LogEntry]) -> None:
    panes_of(log, policy)


@given(log=logs(), data=st.data())
def test_client_resumed_in_the_middle_has_what_all_have(
    log: list[LogEntry], data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(log)))
    formatter = PanesFormatter("run")
    before = Panes()
    for document in format_all(formatter, log[:cut]):
        before.read(document)
    after = Panes()
    for document in [*formatter.resume(), *format_all(formatter, log[cut:])]:
        after.read(document)
    whole = panes_of(log)
    assert {**before.messages, **after.messages}.keys() == whole.messages.keys()
    for name, message in after.messages.items():
        assert lasting(message) == lasting(whole.messages[name])


def lasting(message: Message) -> Message:
    """What a page shows of a message, whenever and in how many pieces that was told."""
    metadata = {name: each for name, each in message["metadata"].items() if name != "streaming"}
    kept = {name: each for name, each in message.items() if name != "timestamp"}
    return {**kept, "metadata": metadata}


def test_every_event_has_its_row() -> None:
    assert PanesFormatter.WRITERS.keys() == set(EventType)


def test_a_policy_that_is_not_known_is_refused() -> None:
    with pytest.raises(UnknownProfile, match="chat, document"):
        PanesFormatter("run", "terminal")


# The recordings that the panes are for


@each_policy
@pytest.mark.parametrize(
    ("recording", "code", "output"),
    [
        ("claude/codeexec", "print(6*7)", "42\n"),
        ("openai/responses_hosted", "print(1+1)", "2\n"),
        ("gemini/hosted", "print(1+1)", "2\n"),
        ("adk/hosted", "print(1+1)", "2\n"),
        (
            "smolagents/code_nostream",
            "x = get_weather(city='Lisbon')\nprint(x)",
            "21C in Lisbon",
        ),
    ],
)
def test_code_is_in_the_webide_and_its_output_in_the_terminal(
    recording: str, code: str, output: str, policy: str
) -> None:
    panes = panes_of(recorded(recording), policy)
    invocation = {"event_type": "tool_invocation", "language": "python"}
    assert contents(panes, "webide", **invocation)[0] == code
    logs = {"event_type": "tool_output", "title": "📝 Execution Logs"}
    names = [
        m["metadata"]["tool_name"] for m in panes.shown("webide") if "tool_name" in m["metadata"]
    ]
    assert contents(panes, "terminal", **logs, tool_name=names[0])[0] == output


def test_code_is_shown_while_it_is_written() -> None:
    told = [json.loads(document) for document in documents(recorded("openai/responses_hosted"))]
    streamed = [
        message["content"]
        for message in told
        if message["metadata"]["component"] == "webide" and message["metadata"]["streaming"]
    ]
    assert streamed == ["print(", "1+1)"]


def test_a_smolagents_run_ends_with_its_final_answer() -> None:
    panes = panes_of(recorded("smolagents/code_planning"))
    assert contents(panes, "chat", is_final_answer=True) == ["21C"]
    assert contents(panes, "chat", title="🗺️ Planning") == ["1. look up\n2. answer"]
    assert contents(panes, "webide", event_type="action_output") == ["21C"]
    assert [m["step_number"] for m in panes.shown("webide")] == [1, 2, 2]


def test_an_execution_that_failed_goes_where_errors_go() -> None:
    words = "Code execution failed at line '1/0' due to: ZeroDivisionError: division by zero"
    for policy, pane in (("document", "terminal"), ("chat", "chat")):
        panes = panes_of(recorded("smolagents/code_error"), policy)
        assert contents(panes, pane, title="💥 Error") == [words]


# What goes where


@pytest.mark.parametrize(
    ("events", "document", "chat"),
    [
        ([Text(id="t", content="Hi"), TextEnd(id="t")], "chat", "chat"),
        ([Thinking(id="t", content="Hi"), ThinkingEnd(id="t")], "chat", "chat"),
        ([TodoCreate(items=(TodoItem(content="Hi"),))], "chat", "chat"),
        ([SubagentStart(id="s", agent="Hi")], "chat", "chat"),
        ([Source(title="Hi")], "chat", "chat"),
        ([InputRequest(id="r", prompt="Hi")], "chat", "chat"),
        ([Start(framework="t"), Status(message="Hi")], "terminal", "terminal"),
        ([Status(message="Hi", kind="progress")], "terminal", "terminal"),
        ([Error(message="Hi")], "terminal", "chat"),
        ([Raw(raw="Hi")], "terminal", None),
        ([File(media_type="image/png", name="Hi")], "chat", "chat"),
        (call("code", {"code": "x"}, "Hi"), "terminal", "terminal"),
        (call("shell", {"command": "x"}, "Hi"), "terminal", "terminal"),
        (call("function", {}, "Hi"), "terminal", "chat"),
        (call("search", {}, "Hi"), "terminal", "chat"),
        (call("code", {"code": "Hi"}, "x"), "webide", "webide"),
        (call("code", {"code": "x"}, "y", structured="Hi"), "webide", "webide"),
        (call("code", {"code": "x"}, "Hi", status="error"), "terminal", "chat"),
        ([*call("code", {}, ""), File(id="c", media_type="a/b", name="Hi")], "webide", "webide"),
    ],
)
def test_policy_decides_where_something_is_shown(
    events: list[StreamEvent], document: str, chat: str | None
) -> None:
    for policy, pane in (("document", document), ("chat", chat)):
        panes = said(*events, policy=policy)
        found = {
            c for c in ("chat", "webide", "terminal") if any("Hi" in t for t in contents(panes, c))
        }
        assert found == ({pane} if pane else set())


def test_the_query_is_in_the_chat() -> None:
    log = numbered([Start(framework="test", prompt_preview="Why?"), Done(reason="stop")])
    [query, _] = panes_of(log).messages.values()
    assert (query["role"], query["content"], query["metadata"]["component"]) == (
        "user", "Why?", "chat",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({"command": "ls -l"}, "$ ls -l"),
        ({"action": {"commands": ["ls", "pwd"]}}, "$ ls\n$ pwd"),
        ({"action": {"type": "exec", "command": ["ls", "-l"]}}, "$ ls -l"),
        ({"commands": []}, '$ {"commands":[]}'),
        ({"command": [1]}, '$ {"command":[1]}'),
        ("ls", "$ ls"),
    ],
)
def test_a_shell_shows_its_commands(given: Any, shown: str) -> None:
    assert contents(
        said(*call("shell", given, None)), "terminal", event_type="tool_invocation"
    ) == [shown]


@pytest.mark.parametrize(
    ("given", "code", "language"),
    [
        ({"code": "x"}, "x", "python"),
        ({"code": "x", "language": "JAVASCRIPT"}, "x", "javascript"),
        ({"operation": {"diff": "+a"}}, "+a", "diff"),
        ({"code": 1}, '{"code":1}', "python"),
        ("x = 1", "x = 1", "python"),
        (None, "", "python"),
    ],
)
def test_code_is_found_in_what_the_tool_was_given(given: Any, code: str, language: str) -> None:
    panes = said(*call("code", given, None))
    assert contents(panes, "webide", language=language) == [code]


@pytest.mark.parametrize(
    ("output", "shown"),
    [
        ("plain", "plain"),
        (None, ""),
        ({"stdout": "a\n", "stderr": "b"}, "a\nb"),
        ([{"logs": "a"}, {"logs": "b\n"}, {"logs": "c"}], "a\nb\nc"),
        ({"output": [{"stdout": "a", "stderr": ""}]}, "a"),
        ({"n": 1}, '{"n":1}'),
        (3, "3"),
    ],
)
def test_printed_text_is_found_in_the_output(output: Any, shown: str) -> None:
    panes = said(*call("code", {"code": "x"}, output))
    assert contents(panes, "terminal", event_type="tool_output") == [shown]


def test_an_output_as_deep_as_a_well_is_shown_too() -> None:
    deep: Any = "x"
    for _ in range(400):
        deep = [deep]
    [shown] = contents(said(*call("code", {}, deep)), "terminal", event_type="tool_output")
    assert shown.strip("[]") == '"x"'


def test_partial_output_grows_and_what_is_another_takes_its_place() -> None:
    start, end, *_ = call("shell", {"command": "x"}, "")
    parts = [ToolResult(id="c", output=text, partial=True) for text in ("a", "ab", "c", "cd")]
    log = [Start(framework="t"), start, end, *parts, ToolResult(id="c", output="cd!")]
    told = [json.loads(d) for d in documents(numbered([*log, Done(reason="stop")]))]
    outputs = [m for m in told if m["metadata"].get("event_type") == "tool_output"]
    assert [(m["content"], m["metadata"]["streaming"]) for m in outputs] == [
        ("a", False), ("b", True), ("c", False), ("d", True), ("cd!", False),
    ]  # fmt: skip
    assert [m["metadata"]["status"] for m in outputs] == ["pending"] * 4 + ["done"]


def test_output_that_turns_out_to_be_an_error_is_closed_where_it_began() -> None:
    start, end, *_ = call("code", {"code": "x"}, "")
    part = ToolResult(id="c", output="1\n", partial=True)
    panes = said(start, end, part, ToolResult(id="c", output="boom", status="error"), policy="chat")
    assert contents(panes, "terminal", event_type="tool_output") == ["1\n"]
    assert contents(panes, "chat", event_type="tool_output", title="💥 Error") == ["boom"]


def test_denied_call_is_marked_as_denied() -> None:
    panes = said(*call("function", {}, None, status="denied"))
    assert contents(panes, "terminal", title="💥 Error") == ["The call was denied."]


def test_python_in_a_text_is_copied_to_the_webide() -> None:
    text = (
        "So:\n```python\nprint(1)\n```\nand\n```js\nno()\n```\nand\n```py\nx\n```\n```python\nopen"
    )
    panes = said(Text(id="t", content=text), TextEnd(id="t"))
    assert contents(panes, "webide", language="python") == ["print(1)\n", "x\n"]
    assert contents(panes, "chat", is_final_answer=True) == [text]


def test_fences_without_end_take_no_time() -> None:
    text = "```python\n" * 50_000
    assert contents(said(Text(id="t", content=text), TextEnd(id="t")), "webide") == []


def test_retracted_content_is_gone_with_its_copies() -> None:
    text = "```python\nprint(1)\n```"
    panes = said(
        Text(id="t", content=text), TextEnd(id="t"), *call("code", {"code": "y"}, "z")[:2],
        Retract(blocks=("t", "c")), ToolResult(id="c", output="late"),
    )  # fmt: skip
    assert (contents(panes, "chat"), contents(panes, "webide")) == ([], [])
    assert contents(panes, "terminal") == ["Finished: stop"]


def test_a_plan_is_one_message_that_changes() -> None:
    items = (TodoItem(content="look", status="completed"), TodoItem(content="write"))
    panes = said(TodoCreate(items=items[1:]), TodoUpdate(items=items))
    assert contents(panes, "chat", title="📋 Plan") == ["- [x] look\n- [ ] write"]


def test_a_request_is_pending_until_it_is_answered() -> None:
    start = [Start(framework="t"), InputRequest(id="r", kind="question", prompt="Sure?")]
    waiting = panes_of(numbered([*start, Paused(request_ids=("r",))]))
    [asked] = waiting.messages.values()
    assert asked["metadata"]["request"] == {"id": "r", "kind": "question"}
    assert asked["metadata"]["status"] == "pending"
    answered = InputResponse(id="r", decision="answered")
    panes = panes_of(numbered([*start, answered, Done(reason="stop")]))
    assert contents(panes, "chat", decision="answered", status="done") == ["Sure?"]


@pytest.mark.parametrize("decision", ["edited", "answered"])
def test_changes_and_answers_are_sent(decision: Literal["edited", "answered"]) -> None:
    asked = InputRequest(id="r", prompt="Sure?", allowed=("edit", "respond"))
    panes = said(asked, InputResponse(id="r", decision=decision, value={"path": "b"}))
    [message] = [each for each in panes.messages.values() if "request" in each["metadata"]]
    assert message["metadata"]["request"]["allowed"] == ["edit", "respond"]
    assert message["metadata"]["value"] == {"path": "b"}


def test_whole_thoughts_are_paragraphs_of_one_message() -> None:
    thoughts = [Thinking(id="t", content=content) for content in ("one", "", "two")]
    panes = said(*thoughts, ThinkingEnd(id="t"))
    assert contents(panes, "chat", title="💭 Thinking") == ["one\n\ntwo"]


def test_blocks_started_by_a_later_version_are_shown() -> None:
    log: list[StreamEvent] = [
        Raw(raw={}),
        TextDelta(id="a", delta="He"),
        TextDelta(id="a", delta="y"),
    ]
    log += [ThinkingDelta(id="b", delta="Hm"), TextEnd(id="c"), ThinkingEnd(id="c")]
    panes = said(*log, TextEnd(id="a"), ThinkingEnd(id="b"))
    assert contents(panes, "chat") == ["Hey", "Hm"]


def test_retracted_call_does_not_appear_again() -> None:
    start, end, result = call("code", {"code": "x"}, "late")
    more = ToolUseDelta(id="c", delta='{"code":"x"}')
    panes = said(start, Retract(blocks=("c",)), more, end, result)
    assert contents(panes, "webide") + contents(panes, "terminal") == ["Finished: stop"]


def test_a_result_that_comes_again_takes_the_place_of_the_first() -> None:
    again = ToolResult(id="c", output="b", structured=2)
    panes = said(*call("code", {"code": "x"}, "a", structured=1), again)
    assert contents(panes, "terminal", event_type="tool_output") == ["b"]
    assert contents(panes, "webide", event_type="action_output") == ["2"]


# The answer and the end


def test_text_before_a_call_is_not_the_answer() -> None:
    text = [Text(id="t", content="Let me look"), TextEnd(id="t")]
    panes = said(*text, *call("search", {}, "found"))
    assert contents(panes, "chat", is_final_answer=True) == []
    panes = said(*text, *call("search", {}, "found"), Result(text="It is 42"))
    assert contents(panes, "chat", is_final_answer=True) == ["It is 42"]


def test_a_subagent_gives_no_final_answer() -> None:
    panes = said(Text(id="t", scope=("a",), content="Hi"), TextEnd(id="t", scope=("a",)))
    assert contents(panes, "chat", scope=["a"], is_final_answer=False) == ["Hi"]


@pytest.mark.parametrize(
    ("events", "words"),
    [
        ([], [LOST]),
        ([Error(message="no more disk")], ["no more disk"]),
    ],
)
def test_failed_run_has_its_reason_once(events: list[StreamEvent], words: list[str]) -> None:
    panes = panes_of(numbered([Start(framework="t"), *events, Done(reason="lost")]))
    assert contents(panes, "terminal", title="💥 Error") == words
    assert contents(panes, "terminal", reason="lost") == ["Finished: lost"]


def test_stderr_is_in_the_terminal() -> None:
    panes = said(Error(message="died", stderr_tail="Traceback"), policy="chat")
    assert contents(panes, "terminal", title="📄 stderr") == ["Traceback"]


def test_steps_without_a_number_are_counted() -> None:
    steps = [StepStart(id="a"), Status(message="one"), StepStart(id="b"), Status(message="two")]
    inner = StepStart(id="n", kind="node", number=9)
    panes = said(*steps[:2], inner, *steps[2:])
    assert [m.get("step_number") for m in panes.messages.values()] == [1, 2, 2]


def test_no_url_runs_in_the_page() -> None:
    panes = said(
        Source(url="javascript:alert(1)"),
        File(media_type="text/html", url="javascript:alert(1)"),
        File(media_type='a/b;"', base64="aGk="),
        File(media_type="image/png", base64="aGk="),
    )
    urls = [message["metadata"].get("url") for message in panes.shown("chat")]
    assert urls == [None, None, None, "data:image/png;base64,aGk="]


# Code that is still written


@given(
    code=st.text(max_size=30),
    before=st.dictionaries(st.sampled_from("abc"), st.text(max_size=5) | st.integers(), max_size=2),
    ascii_only=st.booleans(),
    cuts=st.lists(st.integers(0, 60), max_size=8),
)
def test_code_that_streams_comes_out_as_it_will_be(
    code: str, before: dict[str, Any], ascii_only: bool, cuts: list[int]
) -> None:
    text = json.dumps({**before, "code": code, "z": 1}, ensure_ascii=ascii_only)
    places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    streamed = StreamedCode()
    pieces = [streamed.feed(text[a:b]) for a, b in pairwise(places)]
    assert "".join(pieces) == code


@pytest.mark.parametrize(
    "deltas",
    [
        ['{"a":{"code":"x"}}'],
        ['["code"]'],
        ['{"x":"' + "a" * 5000, '","code":"y"}'],
        ['{"code":1}'],
    ],
)
def test_code_that_is_hard_to_find_waits_for_the_end(deltas: list[str]) -> None:
    streamed = StreamedCode()
    assert "".join(map(streamed.feed, deltas)) == ""


def test_code_that_is_no_json_waits_for_the_end() -> None:
    streamed = StreamedCode()
    assert [streamed.feed('{"code":"a\x00b'), streamed.feed('c"}')] == ["", ""]


def test_half_a_character_is_not_shown() -> None:
    streamed = StreamedCode()
    assert streamed.feed('{"code":"a\\ud83d') == "a"
    assert streamed.feed('\\ude42b"}') == "🙂b"
    assert streamed.feed("more") == ""


def test_input_of_an_unstarted_call_is_shown() -> None:
    panes = said(ToolUseDelta(id="c", delta="{}"), ToolUseEnd(id="c", input={"q": 1}))
    assert contents(panes, "terminal", tool_name="unknown") == ['{"q":1}']


# The grammar itself


def message(number: int = 1, content: str = "x", **metadata: Any) -> bytes:
    about = {"component": "chat", "streaming": False, "is_final_answer": False, "status": "done"}
    told = {"message_id": f"run:{number}", "role": "assistant", "metadata": about | metadata}
    return json.dumps({**told, "content": content}).encode()


PENDING = message(status="pending")
PIECE = message(status="pending", streaming=True)
END = message(9, component="terminal", reason="stop")
TOOL: dict[str, Any] = {"tool_name": "t", "title": "T"}


@pytest.mark.parametrize(
    ("documents", "rule"),
    [
        ([message()], "the end is missing"),
        ([END, message()], "nothing comes after the end"),
        ([PENDING, END], "never completed"),
        ([message(component="browser"), END], "no such pane"),
        ([message(status="doing"), END], "no such status"),
        ([message(event_type="tool"), END], "no such event_type"),
        ([message(event_type="tool_call"), END], "of which tool"),
        ([message(event_type="tool_call", **TOOL), END], "tools are not said"),
        ([message(streaming=True), END], "a piece is not the end"),
        ([message(title=None), END], "title is None"),
        ([message(colour="red"), END], "colour"),
        ([message(is_final_answer=True), END], "an answer is said"),
        ([message(), PIECE, END], "does not grow"),
        ([PIECE, message(content="y"), END], "the sum of its pieces"),
        ([message(), message(component="webide"), END], "stays in its pane"),
        ([message(retracted=True), message(), END], "gone"),
        ([message().replace(b"{", b"{\n"), END], "no line ends"),
    ],
)
def test_the_grammar_refuses(documents: list[bytes], rule: str) -> None:
    with pytest.raises(AssertionError, match=rule):
        check_panes(documents)


def test_the_grammar_knows_the_policy_and_who_waits() -> None:
    check_panes([message(event_type="tool_call", **TOOL), END], "chat")
    with pytest.raises(AssertionError, match="errors are said"):
        check_panes([message(component="terminal", title="💥 Error"), END], "chat")
    check_panes([PENDING], over=False)
    with pytest.raises(AssertionError, match="has ended"):
        check_panes([END], over=False)
