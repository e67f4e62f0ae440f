"""Contents of Gemini's generateContent.

Files of any type can be sent, also those of an answer. A signature goes back with the part that it
came with.
"""

from __future__ import annotations

from typing import Any

from .notes import Ids, Notes, from_person, label, served, signature_of, thought, tool_name
from .said import Call, File, Item, Message, Text, Thought

Part = dict[str, Any]

VENDORS = ("google", "google_genai", "google_vertexai")
NAMES = ("thoughtSignature", "signature")
CODE = "code_execution"


def write(messages: list[Message], notes: Notes) -> list[dict[str, Any]]:
    """The contents; results are a content of their own, right after their calls."""
    ids, written = Ids(), []
    for message in from_person(messages):
        if message.role == "user":
            written.append(_content("user", [_user_part(item, notes) for item in message.items]))
        else:
            written += _answer(message, ids, notes)
    return _merged([each for each in written if each["parts"]])


def _content(role: str, parts: list[Part]) -> dict[str, Any]:
    return {"role": role, "parts": parts}


def _merged(contents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The contents with those of the same role joined, but for results."""
    joined: list[dict[str, Any]] = []
    for content in contents:
        before = joined[-1] if joined else None
        if before is not None and before["role"] == content["role"] and not _has_results(before):
            before["parts"].extend(content["parts"])
        else:
            joined.append(content)
    return joined


def _has_results(content: dict[str, Any]) -> bool:
    return any("functionResponse" in part for part in content["parts"])


def _answer(message: Message, ids: Ids, notes: Notes) -> list[dict[str, Any]]:
    parts: list[Part] = []
    results: list[Part] = []
    for item in message.items:
        if isinstance(item, Call) and not item.server:
            name = ids.take(item.id)
            parts.append(_call(item, name))
            results.append(result_part(item, name, notes))
        else:
            parts += _part(item, notes)
    if parts and all(part.get("thought") for part in parts):
        notes["a thought that nothing follows"] += len(parts)
        parts = []
    return [_content("model", parts), _content("user", results)]


def _signed(item: Item) -> Part:
    signature = signature_of(item, VENDORS, *NAMES)
    return {"thoughtSignature": signature} if signature else {}


def _part(item: Item, notes: Notes) -> list[Part]:
    if isinstance(item, Thought):
        signed = _signed(item)
        if not signed:
            thought(notes)
        return [{"text": item.text, "thought": True, **signed}] if signed else []
    if isinstance(item, File):
        return [_file(item, notes)]
    if isinstance(item, Call):
        return _served(item, notes)
    return [{"text": item.text, **_signed(item)}]


def _user_part(item: Item, notes: Notes) -> Part:
    if isinstance(item, File):
        return _file(item, notes)
    assert isinstance(item, Text)  # a person neither thinks nor calls here
    return {"text": item.text}


def _file(file: File, notes: Notes) -> Part:
    if file.data is not None:
        inline = {"mimeType": file.media_type, "data": file.data}
        return {"inlineData": inline, **_signed(file)}
    is_google = bool(file.url and file.url.startswith("gs://"))
    if file.web_url is not None or is_google:
        return {"fileData": {"mimeType": file.media_type, "fileUri": file.url}, **_signed(file)}
    return {"text": label(file, notes)}


def _call(call: Call, name: str) -> Part:
    about = {"id": name, "name": tool_name(call.name), "args": call.input}
    return {"functionCall": about, **_signed(call)}


def result_part(call: Call, name: str, notes: Notes) -> Part:
    """The part of a call's result."""
    about = {"id": name, "name": tool_name(call.name), "response": _response(call, notes)}
    return {"functionResponse": about}


def _response(call: Call, notes: Notes) -> dict[str, Any]:
    """The result as an object: a tool's own, or under the name that the API suggests."""
    if isinstance(call.output, dict) and call.output and not call.failed and not call.files:
        return call.output
    told = [label(each, notes) if isinstance(each, File) else each.text for each in call.result()]
    return {"error" if call.failed else "output": "\n".join(told)}


# Tools that the provider ran


def _served(call: Call, notes: Notes) -> list[Part]:
    if call.name == CODE and "code" in call.input and isinstance(call.output, dict):
        code = {name: call.input[name] for name in ("language", "code") if name in call.input}
        result = {
            name: call.output[name] for name in ("outcome", "output") if call.output.get(name)
        }
        if result.get("outcome"):
            return [{"executableCode": code, **_signed(call)}, {"codeExecutionResult": result}]
    return [{"text": served(call, notes)}]
