"""Emits an agent's lines: a function for each line that every parser of mobox reads.

    from shared.emitter import emit_text, emit_done, read_turn

    emit_text(f"You said: {read_turn().prompt}")
    emit_done()

A line is `{"type": …, "data": {…}}`. Every function takes more fields by name, such as `scope=`
(the tool calls that spawned the emitting agent); a field that is `None` is left out. Functions that
open something return its id, generated if none is given.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Sequence
from typing import Any

from .control import NO_RESULTS, Turn, read_turn, stopping, turn, wait_for_answer, waits_for
from .managed import emit_managed
from .objects import emit_object, process_messages
from .output import plain, write_line

__all__ = [
    "Turn",
    "approve",
    "ask",
    "call_frontend",
    "emit",
    "emit_chart",
    "emit_custom",
    "emit_done",
    "emit_error",
    "emit_file",
    "emit_input_request",
    "emit_managed",
    "emit_object",
    "emit_paused",
    "emit_result",
    "emit_search",
    "emit_search_result",
    "emit_source",
    "emit_start",
    "emit_state",
    "emit_status",
    "emit_step_end",
    "emit_step_start",
    "emit_subagent_complete",
    "emit_subagent_spawn",
    "emit_subagent_start",
    "emit_text",
    "emit_think",
    "emit_thinking",
    "emit_todo_create",
    "emit_todo_done",
    "emit_todo_update",
    "emit_tool_result",
    "emit_tool_use",
    "emit_usage",
    "emit_usage_total",
    "process_messages",
    "read_turn",
    "stopping",
    "turn",
    "wait_for_answer",
]


def emit(type: str, data: dict[str, Any] | None = None) -> None:  # the documents' signature
    """Emit any line: one of the documents, or an event of mobox by its own name."""
    write_line({"type": type, "data": data or {}})


def _emit(line: str, more: dict[str, Any], **fields: Any) -> None:
    merged = {**fields, **more}
    emit(line, {name: value for name, value in merged.items() if value is not None})


def _new_id(kind: str) -> str:
    return f"{kind}_{os.urandom(6).hex()}"


# The run


def emit_start(**more: Any) -> None:
    """The run started; known fields: `model`, `prompt_preview`, `session_id`. Optional."""
    _emit("start", more)


def emit_status(message: str, **more: Any) -> None:
    """A status line."""
    _emit("status", more, message=message)


def emit_error(error: Any, **more: Any) -> None:
    """Something failed: a message or an exception; known fields: `code`, `retryable`.

    The exception of an SDK has the code of what its provider did, such as `rate_limited`.
    """
    if isinstance(error, BaseException):
        from .uncaught import error_fields  # only now: an agent should start fast

        _emit("error", more, **error_fields(error))
    else:
        _emit("error", more, message=error if isinstance(error, str) else repr(error))


def emit_usage(input_tokens: int = 0, output_tokens: int = 0, **more: Any) -> None:
    """The tokens of one model call."""
    _emit("usage", more, input_tokens=input_tokens, output_tokens=output_tokens)


def emit_usage_total(input_tokens: int = 0, output_tokens: int = 0, **more: Any) -> None:
    """The tokens of the whole run."""
    _emit("usage_total", more, input_tokens=input_tokens, output_tokens=output_tokens)


def emit_result(**more: Any) -> None:
    """Final statistics: `duration_ms`, `num_turns`, `session_id`, `cost_usd`, `text`."""
    _emit("result", more)


def emit_done(**more: Any) -> None:
    """The agent has ended normally."""
    _emit("done", more)


# Text


def emit_text(content: str, **more: Any) -> None:
    """A delta of the answer."""
    _emit("text", more, content=content)


def emit_thinking(content: str, **more: Any) -> None:
    """A delta of the model's reasoning, a token or all of it."""
    _emit("thinking", more, content=content)


def emit_think(thought: str, **more: Any) -> None:
    """A whole thought, such as the input of a think tool: a paragraph of its own."""
    _emit("think", more, thought=thought)


# Tools


def emit_tool_use(name: str, input: Any = None, id: str | None = None, **more: Any) -> str:
    """A tool is called; returns the id of the call, for its result."""
    call = id or _new_id("call")
    _emit("tool_use", more, id=call, name=name, input={} if input is None else input)
    return call


def emit_tool_result(tool_use_id: str, content: Any = None, **more: Any) -> None:
    """The result of a call; `is_error=True` if it failed."""
    _emit("tool_result", more, tool_use_id=tool_use_id, content=content)


def emit_search(query: str, topic: str | None = None, id: str | None = None, **more: Any) -> str:
    """A web search starts."""
    call = id or _new_id("search")
    _emit("search", more, id=call, query=query, topic=topic)
    return call


def emit_search_result(results: Any, **more: Any) -> None:
    """The results of the oldest open search: `[{"title", "url"}]`; `id=` names another one."""
    count = len(results) if isinstance(results, (list, tuple)) else None
    _emit("search_result", more, count=count, results=results)


# Plans, steps, subagents


def emit_todo_create(items: Any) -> None:
    """The plan: texts, or `{"content", "status"}` with pending, in_progress or completed."""
    _emit("todo_create", {}, items=items)


def emit_todo_update(items: Any) -> None:
    """The plan as it is now, all of it."""
    _emit("todo_update", {}, items=items)


def emit_todo_done(item: Any = None, index: int | None = None, **more: Any) -> None:
    """An item of the plan is finished."""
    _emit("todo_done", more, item=item, index=index)


def emit_step_start(name: str | None = None, kind: str = "task", **more: Any) -> str:
    """A step starts; `kind` is turn, node, task or compaction."""
    step = str(more.pop("id", None) or _new_id("step"))
    _emit("step_start", more, id=step, name=name, kind=kind)
    return step


def emit_step_end(id: str, **more: Any) -> None:
    """A step ends; `status` is ok or error."""
    _emit("step_end", more, id=id)


def emit_subagent_spawn(agent: str, task: str | None = None, **more: Any) -> None:
    """A subagent is about to start; a status line."""
    _emit("subagent_spawn", more, agent=agent, task=task)


def emit_subagent_start(agent: str, task: str | None = None, **more: Any) -> None:
    """A subagent starts; `id=` is the tool call that spawned it, if one did."""
    _emit("subagent_start", more, agent=agent, task=task)


def emit_subagent_complete(agent: str, summary: str | None = None, **more: Any) -> None:
    """A subagent has ended."""
    _emit("subagent_complete", more, agent=agent, summary=summary)


# Sources, files, state


def emit_source(url: str | None = None, title: str | None = None, **more: Any) -> None:
    """A source; a citation with `id=` of a text block, and then `cited_text`."""
    _emit("source", more, url=url, title=title)


def emit_file(media_type: str, content: bytes | None = None, **more: Any) -> None:
    """A file: its bytes, or `url=`; known field: `name`."""
    encoded = None if content is None else base64.b64encode(content).decode("ascii")
    size = None if content is None else len(content)
    _emit("file", more, media_type=media_type, base64=encoded, size=size)


def emit_state(value: Any, mode: str = "snapshot") -> None:
    """State shared with the frontend; `mode="patch"` for a JSON patch."""
    emit("state", {"mode": mode, "value": value})


def emit_custom(name: str, value: Any = None, id: Any = None, **more: Any) -> None:
    """An event for your own frontend; the same `id` again replaces the value."""
    known = {field: each for field, each in more.items() if each is not None}
    known.update({} if id is None else {"id": str(id)})
    emit("custom", {"name": name, "value": value, **known})


def emit_chart(value: Any, id: Any = None, **more: Any) -> None:
    """A chart: a Prometheus query_range response, or `{"title", "series"}`."""
    emit_custom("chart", value, id, **more)


# Input requests


DECISIONS = ("approve", "edit", "reject", "respond")
"""The decisions that an agent may allow for an approval."""


class Approval(dict[str, Any]):
    """The decision about a call, as `ask` returns it; true if it is approved."""

    def __bool__(self) -> bool:
        return self.get("decision") in ("approved", "edited")

    def input(self, asked: Any) -> Any:
        """The input to run the call with: the changed one, or the original."""
        return self.get("value") if self.get("decision") == "edited" else asked


def emit_input_request(kind: str = "question", id: str | None = None, **more: Any) -> str:
    """Request input; `kind` is approval, question, input, auth or tool. Returns the request's id.

    `allowed=["approve", "edit", "reject", "respond"]`, or some of these, are the decisions that a
    person may make about an approval; the default is approve and reject.
    """
    allowed = more.get("allowed")
    if allowed is not None and not set(DECISIONS).issuperset(allowed):
        raise ValueError(f"allowed: expected some of {', '.join(DECISIONS)}, got {allowed!r}")
    request = id or _new_id("request")
    _emit("input_request", more, id=request, kind=kind)
    return request


def emit_paused(*request_ids: str, resume: Any = None) -> None:
    """The run waits for an answer; `resume` is returned with the next turn."""
    _emit("paused", {}, request_ids=list(request_ids), resume=plain(resume))


def ask(prompt: str, kind: str = "question", resume: Any = None, **more: Any) -> dict[str, Any]:
    """Request input and wait for the answer: `{"decision": …, "value": …, "reason": …}`.

    The answer may take days, and then comes to a new process: give `id=` a fixed name, and the
    same request in the new process returns the answer from `read_turn()` at once.
    """
    request = more.pop("id", None)
    answer = read_turn().answer(request) if request else None
    if answer is not None:
        return answer
    request = emit_input_request(kind, id=request, prompt=prompt, **more)
    emit_paused(*waits_for(request), resume=resume)
    return wait_for_answer(request)


def call_frontend(
    name: str, input: Any = None, id: str | None = None, resume: Any = None, **more: Any
) -> dict[str, Any]:
    """Call a tool of the page and wait: `{"decision": …, "value": …}`; `answered` if it ran.

    As with `ask`, the result may come to a new process, which finds it by `id=`.
    """
    call = id or _new_id("call")
    request = f"result_of_{call}"
    answer = read_turn().answer(request) if id else None
    if answer is None:
        emit_tool_use(name, input, id=call, **more)
        emit_input_request("tool", id=request, tool_call_id=call)
        emit_paused(*waits_for(request), resume=resume)
        answer = wait_for_answer(request)
    status = NO_RESULTS.get(answer["decision"])
    value = answer.get("value")
    emit_tool_result(call, answer.get("reason") if value is None else value, status=status)
    return answer


def approve(
    tool_call_id: str, prompt: str = "May I?", allow: Sequence[str] | None = None, **more: Any
) -> Approval:
    """Request approval of a tool call and wait: true if it is approved.

    With `allow=["approve", "edit", "reject"]` a person may change its input: run it with
    `answer.input(…)`. With `respond` they may answer in its place: `answer["value"]`.
    """
    about = {"tool_call_id": tool_call_id, "allowed": None if allow is None else list(allow)}
    return Approval(ask(prompt, kind="approval", **about, **more))
