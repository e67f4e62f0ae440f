"""Parses the content of chat messages: text, or blocks in LangChain's or the providers' types.

Rule 1: a message's calls are in its `tool_calls` or `tool_call_chunks`, and repeated in its
        content; only calls that the provider runs are in the content alone.
Rule 2: a delta of a message may have any number of blocks, most have one; an index names the block
        of the message that it continues.
Rule 3: a block of unknown type is RAW; the others are parsed nevertheless.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mobox.events import JSON, Events, Raw, Scope, Source, ToolResult
from mobox.parsers.langchain import wire
from mobox.parsers.langchain.calls import file_in
from mobox.parsers.langchain.message import Message
from mobox.parsers.langchain.wire import Object
from mobox.parsers.tool_kinds import SECRET, is_failed_output, search_sources, split_encrypted
from mobox.parsers.values import as_object, first_text, is_web_url, objects_in

Reader = Callable[[Message, Object, bool], Events]

_CALL_TYPES: Final = {
    *("tool_use", "tool_call", "tool_call_chunk", "invalid_tool_call", "function_call"),
    *("functionCall", "custom_tool_call"),
}
_KNOWN_FIELDS: Final = {
    *("type", "id", "url", "title", "cited_text", "source", "document_title", "file_id"),
    *("encrypted_index", "extras"),
}


def read_content(message: Message, piece: wire.AiMessage, *, whole: bool) -> Events:
    """Parse the content of a message, or of a delta of one; not its calls."""
    events = _extra_reasoning(message, piece.additional_kwargs or {}, whole)
    content = [piece.content] if isinstance(piece.content, str) else piece.content or []
    for block in content:
        if isinstance(block, str):
            events += _add_text(message, "text", None, block, whole)
        else:
            events += _block(message, block, whole)
    return events


def _block(message: Message, block: Object, whole: bool) -> Events:
    kind = str(block.get("type"))
    if kind in _CALL_TYPES:
        return []
    kind = "*_tool_result" if kind.endswith("_tool_result") else kind
    read = _BLOCKS.get(kind, _other)
    return read(message, block, whole)


def _add_text(message: Message, kind: str, index: wire.Index, text: JSON, whole: bool) -> Events:
    if not isinstance(text, str) or not text:
        return []
    add = message.add_whole_text if whole else message.add_text
    return add(kind, index, text)


def _text(message: Message, block: Object, whole: bool) -> Events:
    index = _index(block)
    cited = [*objects_in(block.get("citations")), *objects_in(block.get("annotations"))]
    events = _add_text(message, "text", index, block.get("text"), whole)
    if cited and not events:  # a citation may come before the text
        events = message.add_text("text", index)
    name = message.block_id("text", index)
    return [*events, *(cite(name, message.scope, each, message.vendor) for each in cited)]


def cite(block_id: str, scope: Scope, citation: Object, vendor: str) -> Source:
    """A citation of a text block, with LangChain's or the provider's keys."""
    fields = {**citation, **as_object(citation.get("extras")), **as_object(citation.get("value"))}
    link = first_text(fields, "url", "source") or ""
    is_url = is_web_url(link)
    document = first_text(fields, "document_title")
    secret = {name: fields[name] for name in fields if name.startswith(SECRET) and fields[name]}
    places = {
        k: v for k, v in fields.items() if k not in _KNOWN_FIELDS and k != "value" and v is not None
    }
    return Source(
        id=block_id,
        scope=scope,
        url=link if is_url else None,
        document=document if is_url or not link else link,
        file=first_text(fields, "file_id"),
        title=first_text(fields, "title") or document,
        cited_text=first_text(fields, "cited_text"),
        location={k: v for k, v in places.items() if not k.startswith(SECRET)} or None,
        provider={vendor: secret} if secret else None,
    )


def _refusal(message: Message, block: Object, whole: bool) -> Events:
    return _add_text(message, "text", _index(block), block.get("refusal"), whole)


def _thinking(message: Message, block: Object, whole: bool) -> Events:
    index = _index(block)
    text = block.get("thinking") or block.get("reasoning") or _summary(block.get("summary"))
    events = _add_text(message, "thinking", index, text, whole)
    signature = block.get("signature") or as_object(block.get("extras")).get("signature")
    if isinstance(signature, str) and signature:
        events += message.add_signature(index, signature)
    return events


def _reasoning_content(message: Message, block: Object, whole: bool) -> Events:
    inner = as_object(block.get("reasoning_content"))
    more = {"thinking": inner.get("text"), "signature": inner.get("signature")}
    return _thinking(message, {"index": block.get("index"), **more}, whole)


def _extra_reasoning(message: Message, extra: Object, whole: bool) -> Events:
    """Thoughts that a provider sends beside the content."""
    text = extra.get("reasoning_content") or _summary(
        as_object(extra.get("reasoning")).get("summary")
    )
    return _add_text(message, "thinking", None, text, whole)


def _redacted(message: Message, block: Object, _whole: bool) -> Events:
    return message.add_redacted_thought(_index(block), block.get("data"))


def _non_standard(message: Message, block: Object, whole: bool) -> Events:
    value = as_object(block.get("value"))
    if not value or value.get("type") == "non_standard":
        return _other(message, block, whole)
    return _block(message, {"index": block.get("index"), **value}, whole)


def _server_call(message: Message, block: Object, whole: bool) -> Events:
    index, name, call_id = _index(block), block.get("name"), block.get("id")
    opened = message.find("tool", index)
    events: Events = []
    if isinstance(name, str) and (opened is None or opened.id != call_id):
        events = message.start_call(
            index, call_id if isinstance(call_id, str) else None, name, server=True
        )
    text = block.get("partial_json") or block.get("args")
    if isinstance(text, str):
        events += message.add_input_delta(index, text)
    elif whole:
        events += message.finish_input(index, block.get("input", text))
    return events


def _server_input(message: Message, block: Object, _whole: bool) -> Events:
    """An input delta of a provider's call; those of other calls are in `tool_call_chunks`."""
    index, text = _index(block), block.get("partial_json")
    opened = message.find("tool", index)
    if opened is None or not opened.server or not isinstance(text, str):
        return []
    return message.add_input_delta(index, text)


def _server_result(message: Message, block: Object, _whole: bool) -> Events:
    return [*message.leave_block(), *server_result(message, block)]


def server_result(message: Message, block: Object) -> Events:
    """The result of a call that the provider ran."""
    call_id = block.get("tool_use_id") or block.get("tool_call_id")
    if not isinstance(call_id, str):
        return [Raw(scope=message.scope, raw=block)]
    output, secrets = split_encrypted(block.get("output", block.get("content")))
    failed = (
        block.get("status") == "error" or block.get("is_error") is True or is_failed_output(output)
    )
    result = ToolResult(
        id=call_id,
        scope=message.scope,
        output=output,
        status="error" if failed else "ok",
        provider={message.vendor: secrets} if secrets else None,
    )
    return [result, *search_sources(call_id, message.scope, output)]


def _file(message: Message, block: Object, _whole: bool) -> Events:
    file = file_in(block, None, message.scope)
    ends = message.leave_block()
    return [*ends, Raw(scope=message.scope, raw=block) if file is None else file]


def _other(message: Message, block: Object, _whole: bool) -> Events:
    return [*message.leave_block(), Raw(scope=message.scope, raw=block)]


_BLOCKS: Final[dict[str, Reader]] = {
    "text": _text,
    "refusal": _refusal,
    "thinking": _thinking,
    "reasoning": _thinking,
    "reasoning_content": _reasoning_content,
    "redacted_thinking": _redacted,
    "non_standard": _non_standard,
    "server_tool_use": _server_call,
    "mcp_tool_use": _server_call,
    "server_tool_call": _server_call,
    "server_tool_call_chunk": _server_call,
    "input_json_delta": _server_input,
    "server_tool_result": _server_result,
    "*_tool_result": _server_result,
    "image": _file,
    "image_url": _file,
    "audio": _file,
    "video": _file,
    "file": _file,
    "text-plain": _file,
}


def _index(block: Object) -> wire.Index:
    index = block.get("index")
    return index if type(index) in (int, str) else None


def _summary(summary: JSON) -> str:
    texts = [each.get("text") for each in objects_in(summary)]
    return "".join(text for text in texts if isinstance(text, str))
