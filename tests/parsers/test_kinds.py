"""Tools that run Python are code, under all their usual names and in every framework."""

import json
import time
from typing import Any

import pytest

from mobox import LogEntry, Recorder, get_formatter
from mobox.events import ToolKind, ToolUseStart
from mobox.parsers.tool_kinds import runs_python, tool_kind

Line = dict[str, Any]

PYTHON = [
    *("python", "Python", "python3", "ipython", "IPython", "jupyter", "jupyter_notebook"),
    *("python_interpreter", "python_executor", "python_exec", "python_tool", "python_shell"),
    *("python_repl", "Python_REPL", "PythonREPLTool", "python_repl_ast", "PythonAstREPLTool"),
    *("execute_python", "run_python", "exec_python", "executePython", "run_python_code"),
    *("execute_ipython_cell", "jupyter_code_executor", "pyodide_sandbox", "run_py"),
    *("code_interpreter", "CodeInterpreterTool", "Code Interpreter", "code-interpreter"),
    *("code_execution", "code_execution_20250825", "PythonCodeExecutionTool", "CodeExecutor"),
    *("execute_code", "run_code", "runCode", "code_exec", "code_runner"),
    *("mcp__sandbox__python_interpreter", "mcp__box__run_python_code", "mcp.python_repl"),
]
OTHERS = [
    *("search", "search_python_docs", "python_docs", "python_version", "pytest", "pylint"),
    *("code", "write_code", "code_search", "run_code_review", "edit_code", "get_code"),
    *("run", "execute", "exec", "repl", "notebook", "script", "tool", "shell", "bash"),
    *("copy", "happy", "occupy", "mcp__box__query", "", "unknown", "python" * 20),
]


@pytest.mark.parametrize("name", PYTHON)
def test_usual_name_of_a_python_tool_is_code(name: str) -> None:
    assert runs_python(name)
    assert tool_kind(name) == "code"


@pytest.mark.parametrize("name", OTHERS)
def test_other_name_is_a_function(name: str) -> None:
    assert tool_kind(name) == "function"


def test_long_number_in_a_name_takes_no_time() -> None:
    started = time.monotonic()
    assert not runs_python("run_code_" + 26 * "1" + "x")
    assert time.monotonic() - started < 1


def test_framework_knows_its_own_tools_better() -> None:
    own: dict[str, ToolKind] = {"run_code": "shell"}
    assert tool_kind("run_code", own) == "shell"
    assert tool_kind("run_python", own) == "code"


# A call of a Python tool in each framework

NAME = "python_interpreter"
CODE = {"code": "print(6 * 7)"}
TEXT = json.dumps(CODE)
FUNCTION = {"name": NAME, "arguments": TEXT}
USE = {"type": "tool_use", "id": "t", "name": NAME, "input": CODE}
ITEM = {"type": "function_call", "id": "i", "call_id": "t", **FUNCTION}
FINISHED = {"type": "response.output_item.done", "output_index": 0, "item": ITEM}
PIECE = {"index": 0, "id": "t", "function": FUNCTION}
CALL = {"id": "t", "name": NAME, "args": CODE}
AI = {"type": "ai", "id": "m", "content": "", "tool_calls": [CALL]}
RUN = {"event": "on_tool_start", "run_id": "r", "name": NAME, "data": {"input": CODE}}
PART = {"functionCall": CALL}
GIVEN = {"id": "t", "name": NAME, "input": CODE}
NAMED = {"id": "t", "name": NAME}

CALLS: dict[str, tuple[str, list[Line]]] = {
    "emitted tool_use": ("emitted", [{"type": "tool_use", "data": GIVEN}]),
    "emitted tool_call_start": (
        "emitted",
        [{"type": "tool_call_start", "data": NAMED}, {"type": "tool_use", "data": GIVEN}],
    ),
    "emitted event": (
        "emitted",
        [{"type": "tool_use_start", "data": NAMED}, {"type": "tool_use_end", "data": GIVEN}],
    ),
    "emitted beside a framework": ("claude", [{"type": "tool_use", "data": GIVEN}]),
    "claude api": (
        "claude",
        [{"type": "message_start", "message": {"id": "m", "content": [USE]}}],
    ),
    "claude code": ("claude", [{"type": "assistant", "message": {"id": "m", "content": [USE]}}]),
    "claude mcp": (
        "claude",
        [{"type": "message_start", "message": {"content": [{**USE, "type": "mcp_tool_use"}]}}],
    ),
    "claude agent sdk": (
        "claude",
        [{"type": "assistant", "message": {"content": [{**USE, "name": f"mcp__box__{NAME}"}]}}],
    ),
    "openai chat": ("openai", [{"choices": [{"delta": {"tool_calls": [PIECE]}}]}]),
    "openai chat function": ("openai", [{"choices": [{"delta": {"function_call": FUNCTION}}]}]),
    "openai simplified": (
        "openai",
        [{"type": "tool_call", "data": {"id": "t", "name": NAME, "arguments": TEXT}}],
    ),
    "openai responses": ("openai", [FINISHED]),
    "openai agents": ("openai-agents", [{"type": "raw_response_event", "data": FINISHED}]),
    "openai agents item": (
        "openai-agents",
        [{"type": "run_item_stream_event", "item": {"type": "tool_call_item", "raw_item": ITEM}}],
    ),
    "openai agents approval": (
        "openai-agents",
        [{"__result__": True, "interruptions": [{"call_id": "t", **FUNCTION}]}],
    ),
    "langchain message": ("langchain", [AI]),
    "langchain run of a tool": ("langchain", [RUN]),
    "deepagents": ("deepagents", [AI]),
    "gemini": ("gemini", [{"candidates": [{"content": {"parts": [PART]}}]}]),
    "gemini interactions": (
        "gemini",
        [
            {"event_type": "interaction.created", "interaction": {"id": "i"}},
            {
                "event_type": "step.start",
                "index": 0,
                "step": {"type": "function_call", "id": "t", "name": NAME, "arguments": CODE},
            },
            {"event_type": "step.stop", "index": 0},
        ],
    ),
    "adk": ("adk", [{"author": "root", "invocationId": "e", "content": {"parts": [PART]}}]),
    "smolagents": ("smolagents", [{"type": "ToolCall", "data": {"id": "t", "function": FUNCTION}}]),
}
every_call = pytest.mark.parametrize(("framework", "lines"), CALLS.values(), ids=CALLS)


def log_of(framework: str, lines: list[Line]) -> list[LogEntry]:
    recorder = Recorder(framework)
    return recorder.feed(lines) + recorder.close()


def kinds_in(framework: str, *lines: Line) -> list[ToolKind]:
    log = log_of(framework, list(lines))
    return [entry.event.kind for entry in log if isinstance(entry.event, ToolUseStart)]


@every_call
def test_call_of_a_python_tool_is_code(framework: str, lines: list[Line]) -> None:
    assert kinds_in(framework, *lines) == ["code"]


@every_call
@pytest.mark.parametrize("policy", ["document", "chat"])
def test_call_of_a_python_tool_is_in_the_webide(
    framework: str, lines: list[Line], policy: str
) -> None:
    formatter = get_formatter("panes", "run", policy)
    log = log_of(framework, lines)
    messages = [json.loads(m) for entry in log for m in formatter.format(entry)]
    [shown] = [m for m in messages if m["metadata"].get("event_type") == "tool_invocation"]
    assert shown["metadata"]["component"] == "webide"
    assert "print(6 * 7)" in shown["content"]


@pytest.mark.parametrize("kind", ["function", "search", "shell"])
@pytest.mark.parametrize("line", ["tool_use", "tool_call_start", "tool_use_start"])
def test_kind_that_an_agent_gives_wins(line: str, kind: ToolKind) -> None:
    told = {"id": "t", "name": NAME, "kind": kind}
    assert kinds_in("emitted", {"type": line, "data": told}) == [kind]


def test_kind_that_is_none_of_ours_is_as_if_not_given() -> None:
    told = {"id": "t", "name": NAME, "kind": "python"}
    assert kinds_in("emitted", {"type": "tool_use", "data": told}) == ["code"]


def test_kind_may_be_given_to_a_tool_of_any_name() -> None:
    told = {"id": "t", "name": "calculate", "kind": "code"}
    assert kinds_in("emitted", {"type": "tool_use", "data": told}) == ["code"]


def test_custom_tools_stay_custom() -> None:
    piece = {"index": 0, "id": "t", "custom": {"name": "grammar", "input": "x"}}
    assert kinds_in("openai", {"choices": [{"delta": {"tool_calls": [piece]}}]}) == ["custom"]
    piece["custom"] = {"name": "code_exec", "input": "print(1)"}
    assert kinds_in("openai", {"choices": [{"delta": {"tool_calls": [piece]}}]}) == ["code"]


@pytest.mark.parametrize("name", ["code", "query", "command", "script", "__arg1", "python_code"])
def test_code_is_found_under_every_usual_name(name: str) -> None:
    told = {"id": "t", "name": "Python_REPL", "input": {"timeout": 5, name: "print(1)"}}
    formatter = get_formatter("panes", "run")
    log = log_of("emitted", [{"type": "tool_use", "data": told}])
    messages = [json.loads(m) for entry in log for m in formatter.format(entry)]
    assert "print(1)" in [message["content"] for message in messages]
