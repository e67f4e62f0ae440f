"""Gives calls their results that an earlier process has left without one.

A call that waited for a person when its process ended gets what the answer says: the reason of a
denial, an answer to a question, the result of the page's tool. An approved call is made here:

Rule 1: a tool of an in-process MCP server is called directly, with the approved input.
Rule 2: a tool of the program itself, or of another server, is called by the program, like a call
        that a hook has deferred: a copy of the session gets the program's own mark for that, which
        it knows for a single call.
Rule 3: what cannot be made so is reported to the model as not made; it may call again, and then a
        person is asked again.
Rule 4: a call that was let through before, and has no result, is unknown. It is never made again.
"""

from __future__ import annotations

import json
import uuid
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from ..conversation.said import NO_OUTPUT
from .claude_content import Block, result, text
from .claude_memory import Journal, Record, Sessions
from .claude_people import DENIED, PAGE, QUESTIONS, answer_text, approval, page_result, question

__all__ = ["AGAIN", "Late", "deferred_session", "late_results"]

NOT_MADE = "This call was not made: the process ended before it was approved."
AGAIN = f"{NOT_MADE} The user has approved it since. If it is still needed, call it again."
INTERRUPTED = "interrupted: this call was not made, because the user went on."


class Late(NamedTuple):
    """The results of the open calls, and the call that the program has to make."""

    results: list[Block]
    deferred: str | None = None


async def late_results(turn: Any, options: Any, journal: Journal) -> Late:
    """Results for all calls of the record that have none."""
    record = journal.record
    if turn.kind != "answers":
        return Late([_interrupted(call, record) for call in record.calls])
    if _is_for_program(record, turn, options):
        return Late([], next(iter(record.calls)))
    results = []
    for call, about in record.calls.items():
        known = await _result(call, about, turn, options, journal)
        results.append(known)
    return Late(results)


def _interrupted(call: str, record: Record) -> Block:
    return result(call, INTERRUPTED if call in record.asked else NO_OUTPUT["unknown"], True)


def _is_for_program(record: Record, turn: Any, options: Any) -> bool:
    """Whether there is one call, which is approved, and which only the program can make."""
    if len(record.calls) != 1 or len(record.asked) != 1:
        return False
    ((call, about),) = record.calls.items()
    answer = turn.answer(approval(call)) or {}
    is_approved = answer.get("decision") in ("approved", "edited")
    return is_approved and _server(about["name"], options) is None


async def _result(call: str, about: Any, turn: Any, options: Any, journal: Journal) -> Block:
    if call not in journal.record.asked:
        return result(call, NO_OUTPUT["unknown"], True)
    if about["name"] == QUESTIONS:
        return _answers(call, about["input"], turn)
    if about["name"].startswith(PAGE):
        return _answered(call, turn.answer(page_result(call)))
    answer = turn.answer(approval(call))
    if answer is None or answer["decision"] not in ("approved", "edited"):
        return _answered(call, answer)
    server = _server(about["name"], options)
    if server is None:
        return result(call, AGAIN, True)
    arguments = answer["value"] if answer["decision"] == "edited" else about["input"]
    journal.let(call)
    return await _made(call, server, about["name"].split("__", 2)[2], arguments)


def _answered(call: str, answer: dict[str, Any] | None) -> Block:
    """The result that a person or the page gave, or why there is none."""
    if answer is None:
        return result(call, NOT_MADE, True)
    if answer["decision"] == "answered":
        return result(call, answer_text(answer["value"]))
    return result(call, answer.get("reason") or DENIED, True)


def _answers(call: str, asked: Any, turn: Any) -> Block:
    lines = []
    for number, each in enumerate(asked.get("questions") or []):
        answer = turn.answer(question(call, number))
        if answer is None or answer["decision"] != "answered":
            return _answered(call, answer)
        lines.append(f"{each.get('question')} {answer_text(answer['value'])}")
    return result(call, "The user has answered:\n" + "\n".join(lines))


# Tools of in-process MCP servers


def _server(tool: str, options: Any) -> Any:
    """The in-process MCP server of a tool."""
    servers = options.mcp_servers if isinstance(options.mcp_servers, dict) else {}
    name = tool.split("__", 2)[1] if tool.startswith("mcp__") and tool.count("__") > 1 else ""
    found = servers.get(name)
    return found.get("instance") if isinstance(found, dict) and found.get("type") == "sdk" else None


async def _made(call: str, server: Any, tool: str, arguments: Any) -> Block:
    made = await _call_tool(server, tool, arguments)
    dumped = made.model_dump(mode="json", by_alias=True, exclude_none=True)
    content = [_block(each) for each in dumped.get("content") or []]
    return result(call, content, bool(dumped.get("isError")))


async def _call_tool(server: Any, tool: str, arguments: Any) -> Any:
    mcp = import_module("mcp")
    if hasattr(mcp, "Client"):  # mcp 2
        client = mcp.Client(server)
    else:
        memory = import_module("mcp.shared.memory")
        client = memory.create_connected_server_and_client_session(server)
    async with client as session:
        return await session.call_tool(tool, arguments)


def _block(content: dict[str, Any]) -> Block:
    """MCP's content as a block of the Messages API."""
    if content.get("type") == "text":
        return text(content["text"])
    if content.get("type") == "image":
        source = {"type": "base64", "media_type": content["mimeType"], "data": content["data"]}
        return {"type": "image", "source": source}
    return text(json.dumps(content))


# Calls that the program makes


def deferred_session(sessions: Sessions, record: Record) -> str:
    """A copy of the session in which its last call is deferred."""
    file = sessions.file(record.session)
    assert file is not None  # the record was found in it
    session = str(uuid.uuid4())
    lines = _lines_to(file, record.at)
    last = json.loads(lines[-1])
    lines.append(json.dumps(_mark(record, last)))
    copied = "\n".join(lines).replace(record.session, session)
    file.with_name(f"{session}.jsonl").write_text(copied + "\n", "utf-8")
    return session


def _lines_to(file: Path, message: str) -> list[str]:
    kept: list[str] = []
    for line in file.read_text("utf-8").split("\n"):
        kept.append(line)
        if f'"uuid":"{message}"' in line:
            break
    return kept


def _mark(record: Record, last: dict[str, Any]) -> dict[str, Any]:
    """What the program writes when a hook defers a call."""
    ((call, about),) = record.calls.items()
    attachment = {
        "type": "hook_deferred_tool",
        "toolUseID": call,
        "toolName": about["name"],
        "toolInput": about["input"],
        "hookName": "settings",
        "hookEvent": "PreToolUse",
        "permissionMode": "default",
    }
    same = ("isSidechain", "userType", "entrypoint", "cwd", "version", "gitBranch", "timestamp")
    about_session = {name: last[name] for name in same if name in last}
    named = {"parentUuid": last["uuid"], "uuid": str(uuid.uuid4()), "sessionId": record.session}
    return {**named, **about_session, "type": "attachment", "attachment": attachment}
