"""Messages of Anthropic's Messages API.

Results of calls are in the user's message that follows. Files can be in a user's message or in a
result. A thought needs its signature, and a tool that the provider ran the parts of its result that
are encrypted: without them they would be refused.
"""

from __future__ import annotations

from typing import Any

from .notes import Ids, Notes, from_person, label, merged, served, signature_of, thought, tool_name
from .said import Call, File, Item, Message, Text, Thought, as_text

Block = dict[str, Any]

VENDORS = ("anthropic",)
IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")
PDF = "application/pdf"
RESULTS = {
    "web_search": "web_search_tool_result",
    "web_fetch": "web_fetch_tool_result",
    "code_execution": "code_execution_tool_result",
    "bash_code_execution": "bash_code_execution_tool_result",
    "text_editor_code_execution": "text_editor_code_execution_tool_result",
    "tool_search_tool_regex": "tool_search_tool_result",
    "tool_search_tool_bm25": "tool_search_tool_result",
}
"""The blocks of results of the provider's own tools, by the tool."""


def write(messages: list[Message], notes: Notes) -> list[dict[str, Any]]:
    """The messages; roles alternate, from the user's."""
    ids, written = Ids(), []
    for message in from_person(messages):
        if message.role == "user":
            content = [_user_block(item, notes) for item in message.items]
            written.append({"role": "user", "content": content})
        else:
            written += _answer(message, ids, notes)
    return merged(written, "content")


def _answer(message: Message, ids: Ids, notes: Notes) -> list[dict[str, Any]]:
    content: list[Block] = []
    results: list[Block] = []
    for item in message.items:
        if isinstance(item, Call) and not item.server:
            name = ids.take(item.id)
            content.append(_call(item, name))
            results.append(result_block(item, name, notes))
        else:
            content += _block(item, ids, notes)
    if content and content[-1]["type"].endswith("thinking"):  # the API refuses it as the last
        content = _without_thoughts(content, notes)
    return [{"role": "assistant", "content": content}, {"role": "user", "content": results}]


def _without_thoughts(content: list[Block], notes: Notes) -> list[Block]:
    while content and content[-1]["type"].endswith("thinking"):
        content.pop()
        notes["a thought that nothing follows"] += 1
    return content


def _block(item: Item, ids: Ids, notes: Notes) -> list[Block]:
    if isinstance(item, Thought):
        return _thought(item, notes)
    if isinstance(item, File):
        return [_text(label(item, notes))]
    return _served(item, ids, notes) if isinstance(item, Call) else [_text(item.text)]


def _text(text: str) -> Block:
    return {"type": "text", "text": text}


def _thought(item: Thought, notes: Notes) -> list[Block]:
    redacted = signature_of(item, VENDORS, "redacted_data")
    if redacted:
        return [{"type": "redacted_thinking", "data": redacted}]
    signature = signature_of(item, VENDORS, "signature")
    if signature:
        return [{"type": "thinking", "thinking": item.text, "signature": signature}]
    thought(notes)
    return []


def _call(call: Call, name: str) -> Block:
    return {"type": "tool_use", "id": name, "name": tool_name(call.name), "input": call.input}


def result_block(call: Call, name: str, notes: Notes) -> Block:
    """The block of a call's result."""
    result: Block = {"type": "tool_result", "tool_use_id": name}
    content = [_user_block(each, notes) for each in call.result()]
    if len(content) == 1 and content[0]["type"] == "text":
        result["content"] = content[0]["text"]
    elif content:
        result["content"] = content
    if call.failed:
        result["is_error"] = True
    return result


# Tools that the provider ran


def _served(call: Call, ids: Ids, notes: Notes) -> list[Block]:
    is_whole = call.status in ("ok", "error") and isinstance(call.output, (dict, list))
    if is_whole and call.id.startswith("srvtoolu_") and call.name in RESULTS:
        return _server_tool(call, ids.take(call.id))
    about = call.provider.get("anthropic") or {}
    if is_whole and call.id.startswith("mcptoolu_") and about.get("server_name"):
        return _mcp_tool(call, ids.take(call.id), about["server_name"])
    return [_text(served(call, notes))]


def _server_tool(call: Call, name: str) -> list[Block]:
    content = with_secrets(call.output, call.result_provider.get("anthropic"))
    return [
        {"type": "server_tool_use", "id": name, "name": call.name, "input": call.input},
        {"type": RESULTS[call.name], "tool_use_id": name, "content": content},
    ]


def _mcp_tool(call: Call, name: str, server: str) -> list[Block]:
    use = {"type": "mcp_tool_use", "id": name, "name": call.name, "input": call.input}
    content = call.output if isinstance(call.output, list) else [_text(as_text(call.output))]
    result = {"type": "mcp_tool_result", "tool_use_id": name, "content": content}
    return [{**use, "server_name": server}, {**result, "is_error": call.failed}]


def with_secrets(value: Any, secrets: Any, path: str = "") -> Any:
    """A result with its encrypted members, which the log keeps apart, by their JSON pointer."""
    if not isinstance(secrets, dict):
        return value
    if isinstance(value, list):
        inner = enumerate(value)
        return [with_secrets(each, secrets, f"{path}/{place}") for place, each in inner]
    if not isinstance(value, dict):
        return value
    whole = {key: with_secrets(each, secrets, f"{path}/{key}") for key, each in value.items()}
    for pointer, secret in secrets.items():
        above, _, key = pointer.rpartition("/")
        if above == path:
            whole[key] = secret
    return whole


# Files


def _user_block(item: Item, notes: Notes) -> Block:
    if isinstance(item, File):
        return _file(item) or _text(label(item, notes))
    assert isinstance(item, Text)  # a person neither thinks nor calls here
    return _text(item.text)


def _file(file: File) -> Block | None:
    title = {"title": file.name} if file.name else {}
    words = file.words()
    if words is not None and words.strip():
        source = {"type": "text", "media_type": "text/plain", "data": words}
        return {"type": "document", "source": source, **title}
    if file.media_type not in (*IMAGES, PDF):
        return None
    if file.data is not None:
        source = {"type": "base64", "media_type": file.media_type, "data": file.data}
    elif file.web_url is not None:
        source = {"type": "url", "url": file.web_url}
    else:
        return None
    is_document = file.media_type == PDF
    return {"type": "document", "source": source, **title} if is_document else {
        "type": "image", "source": source,
    }  # fmt: skip
