"""shared.emitter: what an agent says, and that nothing it says can break it."""

from __future__ import annotations

import ast
import dataclasses
import datetime
import decimal
import enum
import inspect
import json
import math
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any, NoReturn

import pytest

from mobox import emit, emitter, get_parser
from mobox.agent_path.shared import control, output
from mobox.agent_path.shared import emitter as shared_emitter
from mobox.events import EventType, Raw
from mobox.parsers.emitted.lines import LINES
from mobox.sandbox.kept_process import AGENT_PATH

SHARED = AGENT_PATH / "shared"


def said(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def run(code: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run an agent that has nothing but the folder on its path."""
    return subprocess.run(
        [sys.executable, "-S", "-c", textwrap.dedent(code)],
        env={"PYTHONPATH": str(AGENT_PATH), **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )


# The documents' snippets, made whole


SNIPPETS = {
    "000 L401, an agent": (
        """
        from shared.emitter import emit, emit_text, emit_done

        emit("start", {"model": "your-model"})
        emit_text("Hello world")
        emit("tool_use", {"id": "...", "name": "...", "input": {...}})
        emit_done()
        """,
        [
            {"type": "start", "data": {"model": "your-model"}},
            {"type": "text", "data": {"content": "Hello world"}},
            {"type": "tool_use", "data": {"id": "...", "name": "...", "input": ["Ellipsis"]}},
            {"type": "done", "data": {}},
        ],
    ),
    "000 L495, the flow": (
        """
        from shared.emitter import *

        emit_status("Starting agent...")
        emit_subagent_start("researcher", "task")
        emit_subagent_complete("researcher", "...")
        emit_think("Key findings so far...")
        emit_text("Here is the report...")
        """,
        [
            {"type": "status", "data": {"message": "Starting agent..."}},
            {"type": "subagent_start", "data": {"agent": "researcher", "task": "task"}},
            {"type": "subagent_complete", "data": {"agent": "researcher", "summary": "..."}},
            {"type": "think", "data": {"thought": "Key findings so far..."}},
            {"type": "text", "data": {"content": "Here is the report..."}},
        ],
    ),
    "003 L66, todos": (
        """
        from shared.emitter import emit_todo_create, emit_todo_update, emit_todo_done

        items = [{"content": "Research topic A", "status": "pending"}]
        emit_todo_create(items)
        emit_todo_update(items)
        emit_todo_done("Research topic A", 0)
        """,
        [
            {
                "type": kind,
                "data": {"items": [{"content": "Research topic A", "status": "pending"}]},
            }
            for kind in ("todo_create", "todo_update")
        ]
        + [{"type": "todo_done", "data": {"item": "Research topic A", "index": 0}}],
    ),
    "003 L83, the think tool": (
        """
        import uuid
        from shared.emitter import emit

        tool = lambda function: function

        @tool
        def think_tool(thought: str) -> str:
            emit("think", {"id": f"think_{uuid.uuid4().hex[:8]}"[:6], "thought": thought})
            return "Thought recorded..."

        think_tool("Three sources agree.")
        """,
        [{"type": "think", "data": {"id": "think_", "thought": "Three sources agree."}}],
    ),
}


@pytest.mark.parametrize(("code", "lines"), SNIPPETS.values(), ids=SNIPPETS)
def test_a_snippet_of_the_documents_runs(code: str, lines: list[Any]) -> None:
    done = run(code)
    assert (done.returncode, done.stderr) == (0, "")
    assert [json.loads(line) for line in done.stdout.splitlines()] == lines


# Every function


ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "emit_chart": ({"series": []},),
    "emit_custom": ("name", 1),
    "emit_error": ("it failed",),
    "emit_file": ("text/plain", b"hi"),
    "emit_input_request": (),
    "emit_paused": ("request_1",),
    "emit_search": ("query", "news"),
    "emit_search_result": ([{"title": "t", "url": "https://example.org"}],),
    "emit_source": ("https://example.org", "t"),
    "emit_state": ({},),
    "emit_step_end": ("step_1",),
    "emit_step_start": ("name",),
    "emit_subagent_complete": ("agent", "summary"),
    "emit_subagent_spawn": ("agent", "task"),
    "emit_subagent_start": ("agent", "task"),
    "emit_todo_create": (["a"],),
    "emit_todo_done": ("a", 0),
    "emit_todo_update": (["a"],),
    "emit_tool_result": ("call_1", "output"),
    "emit_tool_use": ("name", {"a": 1}),
    "emit_usage": (1, 2),
    "emit_usage_total": (1, 2),
}
OBJECTS = {"emit_managed", "emit_object"}
FUNCTIONS = [name for name in emitter.__all__ if name.startswith("emit_") and name not in OBJECTS]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_emits_a_fully_parsed_line(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    function = getattr(emitter, name)
    function(*ARGUMENTS.get(name, () if name in PLAIN else ("words",)))
    (line,) = said(capsys)
    assert set(line) == {"type", "data"}
    assert line["type"] in LINES or line["type"] in set(EventType)
    for event in get_parser("emitted").feed(line):
        assert not isinstance(event, Raw)
        assert event.provider is None or name in SAY_MORE


SAY_MORE = {"emit_search_result", "emit_subagent_spawn"}
"""A count, and fields that a STATUS does not have, which are kept."""
PLAIN = {"emit_start", "emit_result", "emit_done"}


def test_every_line_of_the_documents_has_its_function() -> None:
    others = {"tool_call_start": "emit_tool_use", "todos": "emit_todo_create"}
    assert {others.get(line, f"emit_{line}") for line in LINES} <= set(emitter.__all__)


def test_mobox_emitter_has_every_name_of_shared_emitter() -> None:
    defined = {
        name
        for name, value in vars(shared_emitter).items()
        if inspect.isfunction(value) and value.__module__ == shared_emitter.__name__
    }
    assert {name for name in defined if not name.startswith("_")} <= set(shared_emitter.__all__)
    for name in shared_emitter.__all__:
        assert getattr(emitter, name) is getattr(shared_emitter, name)
    assert set(emitter.__all__) == set(shared_emitter.__all__)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_mobox_emit_makes_the_line_of_every_function(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ARGUMENTS.get(name, () if name in PLAIN else ("words",))
    made = getattr(emit, name.removeprefix("emit_"))(*given)
    getattr(emitter, name)(*given)
    (line,) = said(capsys)
    assert line["type"] == made["type"]
    assert line["data"].keys() == made["data"].keys()


def test_extra_fields_are_allowed_and_kept(capsys: pytest.CaptureFixture[str]) -> None:
    emitter.emit_text("hi", scope=["call_1"], mood="good", id=None)
    emitter.emit_subagent_start("researcher")
    assert [line["data"] for line in said(capsys)] == [
        {"content": "hi", "scope": ["call_1"], "mood": "good"},
        {"agent": "researcher"},
    ]


def test_a_custom_value_may_have_an_id(capsys: pytest.CaptureFixture[str]) -> None:
    emitter.emit_custom("progress", None)
    emitter.emit_custom("progress", 1, id="p", scope=["call_1"])
    emitter.emit_chart([1], id=7)
    lines = said(capsys)
    assert [line["data"] for line in lines] == [
        {"name": "progress", "value": None},
        {"name": "progress", "value": 1, "id": "p", "scope": ["call_1"]},
        {"name": "chart", "value": [1], "id": "7"},
    ]
    parser = get_parser("emitted")
    assert [event.id for line in lines for event in parser.feed(line)] == [None, "p", "7"]


@pytest.mark.parametrize(
    "open_it", [emitter.emit_tool_use, emitter.emit_search, emitter.emit_step_start]
)
def test_opened_block_has_an_id(open_it: Any, capsys: pytest.CaptureFixture[str]) -> None:
    first, second, third = open_it("a"), open_it("a"), open_it("a", id="mine")
    assert first != second
    assert third == "mine"
    assert [line["data"]["id"] for line in said(capsys)] == [first, second, third]


def test_an_exception_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    emitter.emit_error(LookupError("not here"), retryable=True)
    emitter.emit_error(LookupError())
    emitter.emit_error({"odd": 1})
    assert [line["data"] for line in said(capsys)] == [
        {"message": "not here", "code": "LookupError", "retryable": True},
        {"message": "LookupError", "code": "LookupError"},
        {"message": "{'odd': 1}"},
    ]


# Values that JSON does not have


class Colour(enum.Enum):
    RED = 1


class Broken:
    def __repr__(self) -> NoReturn:
        raise RuntimeError

    def model_dump(self, mode: str) -> NoReturn:
        raise RuntimeError


class Model:
    def model_dump(self, mode: str) -> dict[str, str]:
        return {"mode": mode}


@dataclasses.dataclass
class Point:
    x: int
    y: Any


class Keys(dict[Any, Any]):
    pass


ROUND: list[Any] = [1]
ROUND.append({"again": ROUND, "and again": ROUND})
DEEP: list[Any] = []
for _ in range(5000):
    DEEP = [DEEP]

VALUES: dict[str, tuple[Any, Any]] = {
    "exception": (ValueError("no"), {"type": "ValueError", "message": "no"}),
    "date": (datetime.date(2026, 1, 2), "2026-01-02"),
    "path": (Path("/tmp"), "/tmp"),
    "decimal": (decimal.Decimal("1.5"), "Decimal('1.5')"),
    "enum": (Colour.RED, "<Colour.RED: 1>"),
    "class": (Point, repr(Point)),
    "bytes": (b"\xff", "b'\\xff'"),
    "set": ({1}, [1]),
    "dataclass": (Point(1, {2}), {"x": 1, "y": [2]}),
    "model": (Model(), {"mode": "json"}),
    "broken": (Broken(), "<Broken>"),
    "nan": ([math.nan, math.inf, 1.5], [None, None, 1.5]),
    "keys": ({(1, 2): 3, None: 4, 5: 6}, {"(1, 2)": 3, "None": 4, "5": 6}),
    "huge": (10**5000, hex(10**5000)),
    "circle": (ROUND, [1, {"again": "…", "and again": "…"}]),
    "surrogate": ("\ud800", "\ud800"),
    "line ends": ("a\r\n\u2028b", "a\r\n\u2028b"),
}


@pytest.mark.parametrize(("value", "told"), VALUES.values(), ids=VALUES)
def test_any_value_can_be_sent(value: Any, told: Any) -> None:
    line = output.encode({"type": "custom", "data": {"value": value}})
    assert line.isascii()
    assert line.index(b"\n") == len(line) - 1
    assert json.loads(line, parse_constant=lambda name: pytest.fail(name))["data"]["value"] == told


def test_deep_nesting_is_cut() -> None:
    line = output.encode(DEEP)
    assert line == b"[" * 101 + b'"\\u2026"' + b"]" * 101 + b"\n"


# Objects of SDKs


def test_object_is_emitted_with_its_class_and_an_exception_as_raised(
    capsys: pytest.CaptureFixture[str],
) -> None:
    emitter.emit_object(Point(1, [Point(2, None)]))
    emitter.emit_object(Model())
    emitter.emit_object(KeyError("k"))
    assert said(capsys) == [
        {"_class": "Point", "x": 1, "y": [{"_class": "Point", "x": 2, "y": None}]},
        {"mode": "json"},
        {"_exception": "KeyError", "str": "'k'"},
    ]


@dataclasses.dataclass
class Message:
    type: str
    content: Any
    tool_calls: Any = ()
    tool_call_id: str | None = None
    status: str = "success"
    usage_metadata: Any = None


def test_chat_messages_are_retold(capsys: pytest.CaptureFixture[str]) -> None:
    call = {"id": "c1", "name": "add", "args": {"a": 1}}
    messages = [
        Message("human", "hello"),
        Message(
            "ai", [{"type": "text", "text": "Let me "}, {"type": "text", "text": "see"}], [call]
        ),
        Message("tool", "3", tool_call_id="c1"),
        Message("tool", "boom", tool_call_id="c2", status="error"),
        {"role": "assistant", "content": "3", "usage_metadata": {"input_tokens": 1}},
    ]
    emitter.process_messages(messages)
    lines = said(capsys)
    assert [line["type"] for line in lines] == [
        "text", "tool_use", "tool_result", "tool_result", "text", "usage",
    ]  # fmt: skip
    assert lines[0]["data"] == {"content": "Let me see"}
    assert lines[1]["data"] == {"id": "c1", "name": "add", "input": {"a": 1}}
    assert lines[3]["data"] == {"tool_use_id": "c2", "content": "boom", "is_error": True}
    emitter.process_messages(messages, skip_ai_text=True)
    assert "text" not in [line["type"] for line in said(capsys)]


# The process


def test_importing_it_outside_of_an_agent_changes_nothing() -> None:
    done = run("import shared.emitter; print('still stdout')")
    assert (done.stdout, done.stderr) == ("still stdout\n", "")


def test_stdout_is_redirected_only_when_the_runner_requests_it() -> None:
    code = """
        import subprocess, sys
        from shared.emitter import emit_text
        print("a print", flush=True)
        emit_text("an event")
        child = [sys.executable, "-c", "import shared.emitter; print('a child')"]
        assert subprocess.run(child, capture_output=True).stdout == b"a child\\n"
    """
    done = run(code, MOBOX_EMIT="1")
    assert done.stdout == '{"type": "text", "data": {"content": "an event"}}\n'
    assert done.stderr == "a print\n"


def test_two_copies_of_the_emitter_share_the_stream() -> None:
    code = f"""
        import sys
        import shared.emitter
        sys.path.insert(0, {str(AGENT_PATH.parent)!r})
        from agent_path.shared import emitter
        shared.emitter.emit_text("one")
        emitter.emit_text("two")
    """
    done = run(code, MOBOX_EMIT="1")
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) == 2


def test_agent_without_stderr_still_emits() -> None:
    done = run(
        "import os; os.close(2); import shared.emitter as e; e.emit_text('x')", MOBOX_EMIT="1"
    )
    assert done.stdout == '{"type": "text", "data": {"content": "x"}}\n'


def test_the_lines_of_threads_and_forks_never_mix() -> None:
    code = """
        import os, threading
        from shared.emitter import emit_text
        def speak(name):
            for _ in range(200):
                emit_text(name * 2000)
        threads = [threading.Thread(target=speak, args=(name,)) for name in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if os.fork() == 0:
            emit_text("forked")
            os._exit(0)
        os.wait()
    """
    lines = [
        json.loads(line)["data"]["content"]
        for line in run(code, MOBOX_EMIT="1").stdout.splitlines()
    ]
    assert sorted(lines) == sorted(
        [*(name * 2000 for name in "abcd" for _ in range(200)), "forked"]
    )


def test_signal_handler_may_emit_in_the_middle_of_a_line() -> None:
    code = """
        import signal
        from shared.emitter import emit_text
        heard = 0
        def handler(*_):
            global heard
            heard += 1
            emit_text("handler")
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
        emit_text("x" * 200_000)
        while heard < 50:
            emit_text("x" * 200_000)
        signal.setitimer(signal.ITIMER_REAL, 0)
    """
    lines = [
        json.loads(line)["data"]["content"]
        for line in run(code, MOBOX_EMIT="1").stdout.splitlines()
    ]
    assert set(lines) == {"handler", "x" * 200_000}
    assert lines.count("handler") >= 50


def test_a_line_that_is_cut_by_ctrl_c_spoils_no_other() -> None:
    code = """
        import os
        from shared.emitter import emit_text
        from shared import output
        whole = os.write
        def cut(number, data):
            whole(number, data[:5])
            raise KeyboardInterrupt
        output.os.write = cut
        try:
            emit_text("lost")
        except KeyboardInterrupt:
            output.os.write = whole
        emit_text("kept")
    """
    first, second = run(code, MOBOX_EMIT="1").stdout.splitlines()
    assert first == '{"typ'
    assert json.loads(second)["data"]["content"] == "kept"


def test_emitting_without_a_reader_raises() -> None:
    readable, writable = os.pipe()
    os.close(readable)
    code = "from shared.emitter import *; emit_text('x')"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(AGENT_PATH), "MOBOX_EMIT": "1"},
        stdout=writable,
        stderr=subprocess.PIPE,
    )
    os.close(writable)
    assert b"BrokenPipeError" in done.stderr


# By hand


def by_hand(code: str, *argv: str, stdin: str = "") -> str:
    code = f"from shared.emitter import *; {code}"
    return subprocess.run(
        [sys.executable, "-c", code, *argv],
        env={"PYTHONPATH": str(AGENT_PATH)},
        input=stdin,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


PROMPT = "print(read_turn().prompt, turn() is read_turn())"


def test_the_prompt_may_be_given_by_hand() -> None:
    assert by_hand(PROMPT, "some", "words") == "some words True\n"
    assert by_hand(PROMPT, stdin="some words\n") == "some words True\n"
    assert by_hand(PROMPT, stdin="some words") == "some words True\n"
    assert by_hand(PROMPT) == " True\n"


def test_a_control_line_may_be_given_by_hand() -> None:
    line = '[1]\n\n{"type":"other"}\n{"type":"turn","data":{"prompt":"words","resume":3}}\n'
    assert by_hand("print(read_turn().prompt, read_turn().resume)", stdin=line) == "words 3\n"


def test_an_answer_that_cannot_come_is_cancelled() -> None:
    assert by_hand("print(wait_for_answer('r'), stopping())", "words") == (
        "{'decision': 'cancelled', 'value': None, 'reason': None} False\n"
    )


APPROVES = """
answer = approve("call", id="r", allow=["edit", "respond"])
print(bool(answer), answer.input("as asked"), answer["decision"])
"""


@pytest.mark.parametrize(
    ("decision", "printed"),
    [
        ("approved", "True as asked approved"),
        ("edited", "True changed edited"),
        ("answered", "False as asked answered"),
        ("denied", "False as asked denied"),
        ("cancelled", "False as asked cancelled"),
    ],
)
def test_an_approval_is_true_if_the_call_may_be_carried_out(decision: str, printed: str) -> None:
    answer = {"request_id": "r", "decision": decision, "value": "changed"}
    line = json.dumps({"type": "turn", "data": {"answers": [answer]}})
    assert by_hand(APPROVES, stdin=f"{line}\n").splitlines()[-1] == printed


def test_allowed_decisions_are_sent_with_the_request(capsys: pytest.CaptureFixture[str]) -> None:
    emitter.emit_input_request("approval", id="r", allowed=["approve", "edit"])
    [line] = said(capsys)
    assert line["data"] == {"id": "r", "kind": "approval", "allowed": ["approve", "edit"]}
    with pytest.raises(ValueError, match="approve, edit, reject, respond"):
        emitter.emit_input_request("approval", allowed=["aprove"])


def test_files_and_data_of_a_prompt_are_in_its_parts() -> None:
    parts = [
        {"type": "text", "text": "a"},
        {"type": "file", "url": "u"},
        {"type": "text", "text": "b"},
    ]
    turn = control.Turn({"prompt": parts})
    assert (turn.prompt, turn.parts) == ("a\nb", parts)


# The folder


def test_it_needs_nothing_but_an_old_python() -> None:
    for module in SHARED.glob("*.py"):
        tree = ast.parse(module.read_text("utf-8"), feature_version=(3, 9))
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                names = (name.name.partition(".")[0] for name in node.names)
                assert all(name in sys.stdlib_module_names for name in names)
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                assert node.module in sys.stdlib_module_names or node.module == "collections.abc"
