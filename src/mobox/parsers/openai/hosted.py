"""Items that are tool calls or their outputs: names, inputs and results.

Names and inputs of hosted tools are those of the AI SDK's own OpenAI provider (`containerId`, not
`container_id`): pages that show these tools are written for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from mobox.events import (
    JSON,
    UNKNOWN_TOOL,
    Events,
    File,
    Outcome,
    Scope,
    ToolKind,
    ToolResult,
    ToolUseEnd,
)
from mobox.inputs import input_of
from mobox.parsers.json_values import is_link, object_of, objects_in
from mobox.parsers.openai.search_results import media_type_of, page_of, without_images
from mobox.parsers.openai.token_usage import VENDOR

__all__ = [
    "OUTPUTS",
    "TOOLS",
    "Tool",
    "about",
    "end_of",
    "name_of",
    "output_of",
    "result_of",
    "runs_elsewhere",
    "shell_output",
]

Object = dict[str, JSON]


class Tool(NamedTuple):
    """One kind of item that is a call."""

    kind: ToolKind
    given: Callable[[Object], JSON]
    """The input of a call whose item is complete."""
    name: str | None = None
    """The name of the tool; items of the caller's own tools have it."""
    server: bool = False
    """The provider runs it, and its item carries the output."""
    ready: bool = False
    """The input is complete when the item is added: nothing of it is streamed."""
    head: Callable[[Object], str] | None = None
    """The JSON text that comes before an input which is streamed as plain text."""
    found: Callable[[Object], JSON] | None = None
    """The output."""


def end_of(tool: Tool, name: str, scope: Scope, item: Object) -> ToolUseEnd:
    """The input of a call is complete."""
    given = tool.given(item)
    if tool.given is _arguments:
        return input_of(name, given, scope)
    return ToolUseEnd(id=name, scope=scope, input=given)


def result_of(tool: Tool, name: str, scope: Scope, item: Object) -> Events:
    """The result of a hosted tool, and its pages and files."""
    if tool.found is None:
        return []
    output, files = without_images(name, scope, tool.found(item))
    status = _outcome(item)
    if status == "error" and item.get("error") is not None:
        output = item["error"]
    sources = [page_of(name, scope, page) for page in _pages(item)]
    return [
        ToolResult(id=name, scope=scope, output=output, status=status),
        *files,
        *_files_of(name, scope, item),
        *(source for source in sources if source is not None),
    ]


def shell_output(item: Object, name: str, scope: Scope) -> ToolResult:
    """The printed output of commands."""
    output = item.get("output")
    outcomes = [object_of(run.get("outcome")) for run in objects_in(output)]
    failed = any(o.get("type") == "timeout" or o.get("exit_code") for o in outcomes)
    status: Outcome = "error" if failed else "ok"
    return ToolResult(id=name, scope=scope, output={"output": output}, status=status)


def _outcome(item: Object) -> Outcome:
    failed = item.get("status") in ("failed", "incomplete") or item.get("error") is not None
    return "error" if failed else "ok"


def _pages(item: Object) -> list[JSON]:
    sources = object_of(item.get("action")).get("sources")
    return [*_list(sources), *_list(item.get("results"))]


def _files_of(name: str, scope: Scope, item: Object) -> list[File]:
    image = item.get("result") if item.get("type") == "image_generation_call" else None
    if not isinstance(image, str) or not image:
        return []
    if is_link(image):
        return [File(id=name, scope=scope, media_type="image/*", url=image)]
    media_type = media_type_of(item.get("output_format"))
    return [File(id=name, scope=scope, media_type=media_type, base64=image)]


def _list(value: JSON) -> list[JSON]:
    return value if isinstance(value, list) else []


# Inputs


def _nothing(_item: Object) -> JSON:
    return {}


def _arguments(item: Object) -> JSON:
    return item.get("arguments")


def _text(item: Object) -> JSON:
    return item.get("input") or ""


def _code(item: Object) -> JSON:
    return {"code": item.get("code") or "", "containerId": item.get("container_id")}


def _action(item: Object) -> JSON:
    fields = {name: item.get(name) for name in ("action", "actions", "pending_safety_checks")}
    return {name: value for name, value in fields.items() if value}


def _commands(item: Object) -> JSON:
    action = object_of(item.get("action"))
    limits = {
        "timeoutMs": action.get("timeout_ms"),
        "maxOutputLength": action.get("max_output_length"),
    }
    known = {name: limit for name, limit in limits.items() if limit is not None}
    return {"action": {"commands": action.get("commands") or [], **known}}


def _patch(item: Object) -> JSON:
    return {"callId": item.get("call_id"), "operation": item.get("operation")}


def _wanted_tools(item: Object) -> JSON:
    return {"arguments": item.get("arguments"), "call_id": item.get("call_id")}


def _program(item: Object) -> JSON:
    return {"code": item.get("code"), "fingerprint": item.get("fingerprint")}


# Prefixes of inputs that are streamed as plain text


def _code_head(item: Object) -> str:
    return f'{{"containerId":{_json(item.get("container_id"))},"code":"'


def _patch_head(item: Object) -> str:
    fields = object_of(item.get("operation"))
    operation = {name: value for name, value in fields.items() if name != "diff"}
    prefix = _json(operation)[:-1] + ("," if operation else "")
    return f'{{"callId":{_json(item.get("call_id"))},"operation":{prefix}"diff":"'


def _text_head(_item: Object) -> str:
    return '"'


def _json(value: JSON) -> str:
    return msgspec.json.encode(value).decode()


# Outputs


def _searched(item: Object) -> JSON:
    action = object_of(item.get("action"))
    sources = action.get("sources")
    kept = {name: value for name, value in action.items() if name != "sources"}
    return {"action": kept, **({"sources": sources} if sources else {})}


def _searched_files(item: Object) -> JSON:
    return {"queries": item.get("queries"), "results": item.get("results")}


def _code_outputs(item: Object) -> JSON:
    return item.get("outputs") or []


def _drawn(item: Object) -> JSON:
    hidden = ("id", "type", "result")  # the image is a FILE
    return {name: v for name, v in item.items() if name not in hidden and v is not None}


def _answered(item: Object) -> JSON:
    return item.get("output")


TOOLS: dict[str, Tool] = {
    "function_call": Tool("function", _arguments),
    "custom_tool_call": Tool("custom", _text, head=_text_head),
    "mcp_call": Tool("mcp", _arguments, server=True, found=_answered),
    "web_search_call": Tool(
        "search", _nothing, "web_search", server=True, ready=True, found=_searched
    ),
    "file_search_call": Tool(
        "search", _nothing, "file_search", server=True, ready=True, found=_searched_files
    ),
    "code_interpreter_call": Tool(
        "code", _code, "code_interpreter", server=True, head=_code_head, found=_code_outputs
    ),
    "image_generation_call": Tool(
        "image", _nothing, "image_generation", server=True, ready=True, found=_drawn
    ),
    "computer_call": Tool("custom", _action, "computer_use"),
    "local_shell_call": Tool("shell", _action, "local_shell"),
    "shell_call": Tool("shell", _commands, "shell"),
    "apply_patch_call": Tool("code", _patch, "apply_patch", head=_patch_head),
    "tool_search_call": Tool("search", _wanted_tools, "tool_search"),
    "program": Tool("code", _program, "programmatic_tool_calling", server=True),
    "mcp_approval_request": Tool("mcp", _arguments),
}
"""Items that are calls."""


def name_of(tool: Tool, item: Object) -> str:
    """The name of the call."""
    given = item.get("name")
    name = tool.name or (given if isinstance(given, str) and given else UNKNOWN_TOOL)
    return f"mcp.{name}" if tool.kind == "mcp" else name


def runs_elsewhere(item: Object) -> bool:
    """Whether the provider runs a call that its caller could run too."""
    kind = object_of(item.get("environment")).get("type")
    return item.get("execution") == "server" or str(kind).startswith("container")


def about(item: Object) -> dict[str, JSON] | None:
    """The vendor's fields of a call beside name and input."""
    kept = ("server_label", "namespace", "caller", "container_id", "environment")
    fields = {name: item[name] for name in kept if item.get(name) is not None}
    return {VENDOR: fields} if fields else None


def _tools_found(item: Object) -> JSON:
    return {"tools": item.get("tools")}


def _returned(item: Object) -> JSON:
    return item.get("result")


OUTPUTS: dict[str, Callable[[Object], JSON]] = {
    "function_call_output": _answered,
    "custom_tool_call_output": _answered,
    "computer_call_output": _answered,
    "local_shell_call_output": _answered,
    "apply_patch_call_output": _answered,
    "tool_search_output": _tools_found,
    "program_output": _returned,
}
"""Items that are the result of a call; `shell_call_output` may also be streamed."""


def output_of(item: Object, name: str, scope: Scope) -> Events:
    """The result in an item."""
    output, files = without_images(name, scope, OUTPUTS[str(item.get("type"))](item))
    result = ToolResult(id=name, scope=scope, output=output, status=_outcome(item))
    return [result, *files]
