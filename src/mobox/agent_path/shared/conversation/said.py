"""The messages of a chat, one per call of a model, independent of any provider.

Rule 1: only the root agent's words and calls. A subagent's are the result of the call that spawned
        it; notes, status lines, plans, sources and usage are no words of a conversation.
Rule 2: an answer is split where a model was called again: at a turn of the loop, and where anything
        but another call follows a call.
Rule 3: every call has a result; one that has none in the log was interrupted.
Rule 4: a question that a person answered within a run is a question and an answer here.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, NamedTuple, Union

JSON = Any
Part = dict[str, Any]

INTERRUPTED = "interrupted"
NO_OUTPUT = {
    "denied": "denied: a person did not allow this call",
    "error": "error: the call failed",
    INTERRUPTED: "interrupted: this call has no result; it is not known whether it took effect",
    "unknown": "unknown: it is not known whether this call was made",
}
"""What a model is told in place of a result that does not exist, by the call's status."""
MOST_DATA = 2000
"""Characters of an application's data that are told in full."""


class Text(NamedTuple):
    """Words of a person or a model."""

    text: str
    provider: Part | None = None


class Thought(NamedTuple):
    """A model's thought, with the vendor state that its provider needs to accept it again."""

    text: str
    provider: Part | None = None


class File(NamedTuple):
    """A file: its content in base64, or an address."""

    media_type: str
    data: str | None = None
    url: str | None = None
    name: str | None = None
    size: int | None = None
    provider: Part | None = None

    @property
    def label(self) -> str:
        """The short text that stands for it where it cannot be sent."""
        size = self.size if self.size is not None else _size_of(self.data)
        about = [self.name or self.media_type, _readable(size), self._address]
        return f"[file {', '.join(each for each in about if each)}]"

    @property
    def _address(self) -> str:
        return self.url if self.url and not self.data and len(self.url) <= MOST_DATA else ""

    @property
    def web_url(self) -> str | None:
        """Its address, if a provider can load it from there."""
        return self.url if self.url and self.url.startswith(("https://", "http://")) else None

    @property
    def data_url(self) -> str:
        """The whole file as an address; only where there is `data`."""
        return f"data:{self.media_type};base64,{self.data}"

    def words(self) -> str | None:
        """Its content, if it is inline and text."""
        is_text = self.media_type.startswith("text/") or self.media_type in _TEXT_TYPES
        if not is_text or self.data is None:
            return None
        try:
            return base64.b64decode(self.data, validate=True).decode("utf-8")
        except (binascii.Error, ValueError):
            return None


_TEXT_TYPES = {"application/json", "application/xml", "application/yaml", "application/x-yaml"}


class Call(NamedTuple):
    """A call of a tool, with its result."""

    id: str
    name: str
    input: Part
    output: JSON
    status: str
    server: bool
    provider: Part
    result_provider: Part
    files: list[File]
    """Files of the result that are not in its output."""

    @property
    def failed(self) -> bool:
        return self.status != "ok"

    def result(self) -> list[Text | File]:
        """The result as texts and files; never empty if the call failed."""
        content = blocks_of(self.output)
        if self.status != "ok" and not content and not self.files:
            content = [Text(NO_OUTPUT.get(self.status, self.status))]
        elif self.status == INTERRUPTED:
            content = [Text(NO_OUTPUT[INTERRUPTED]), *content]
        return [*content, *self.files]


Item = Union[Text, Thought, File, Call]


class Message(NamedTuple):
    """What a person said, or what a model answered to one request."""

    role: str
    items: list[Item]

    @property
    def calls(self) -> list[Call]:
        """Calls whose results the agent has to send."""
        return [item for item in self.items if isinstance(item, Call) and not item.server]


def conversation(history: Iterable[Part], prompt: Iterable[Part]) -> list[Message]:
    """The messages of a turn; none of them is empty."""
    messages: list[Message] = []
    for each in history:
        parts = each.get("parts") or ()
        is_answer = each.get("role") == "assistant"
        messages += _Answer(parts).messages if is_answer else [_question(parts)]
    messages.append(_question(prompt))
    return [message for message in messages if message.items]


# A person's messages


def _question(parts: Iterable[Part]) -> Message:
    items = [_PROMPT[part["type"]](part) for part in parts if part.get("type") in _PROMPT]
    return Message("user", [each for each in items if not is_blank(each)])


def _data(part: Part) -> Text:
    value = as_text(part.get("value"))
    told = f": {value}" if len(value) <= MOST_DATA else f", {len(value)} characters"
    return Text(f"[data {part.get('name')}{told}]")


def file_of(fields: Part) -> File:
    """The file of a prompt, or of an event."""
    url, data = fields.get("url"), fields.get("base64")
    media_type = fields.get("media_type") or "application/octet-stream"
    if isinstance(url, str) and url.startswith("data:"):
        media_type, data, url = _split_data_url(url, media_type)
    name, size, provider = fields.get("name"), fields.get("size"), fields.get("provider")
    address = url or (f"file id {fields['file_id']}" if fields.get("file_id") else None)
    return File(media_type, data, address, name, size, provider)


def _split_data_url(url: str, media_type: str) -> tuple[str, str | None, str | None]:
    head, found, data = url.partition(",")
    given = head[len("data:") :].partition(";")[0]
    if not found:
        return media_type, None, None
    if head.endswith(";base64"):
        return given or media_type, data, None
    from urllib.parse import unquote_to_bytes  # rare, and not cheap to import

    return given or media_type, base64.b64encode(unquote_to_bytes(data)).decode("ascii"), None


_PROMPT: dict[str, Callable[[Part], Item]] = {
    "text": lambda part: Text(str(part.get("text") or "")),
    "file": file_of,
    "data": _data,
}


# An agent's answers


class _Answer:
    """The messages of one run."""

    def __init__(self, parts: Iterable[Part]) -> None:
        self.messages: list[Message] = []
        self._items: list[Item] = []
        self._calls: dict[str, Call] = {}
        parts = list(parts)
        requests = {part["request"].get("id"): part for part in parts if _is(part, "request")}
        self._latest = {id(part) for part in requests.values()}
        for part in parts:
            if not _scope_of(part) and part.get("type") in self.READERS:
                self.READERS[part["type"]](self, part)
        self._end()

    def _end(self) -> None:
        items, self._items = self._items, []
        if items:
            self.messages.append(Message("assistant", items))

    def _add(self, item: Item) -> None:
        if is_blank(item):
            return
        is_call = isinstance(item, Call) and not item.server
        if not is_call and Message("assistant", self._items).calls:
            self._end()  # the model has seen the results
        self._items.append(item)

    def _text(self, part: Part) -> None:
        self._add(Text(part.get("text") or "", part.get("provider")))

    def _thinking(self, part: Part) -> None:
        self._add(Thought(part.get("text") or "", part.get("provider")))

    def _file(self, part: Part) -> None:
        file, call = file_of(part["file"]), self._calls.get(part["file"].get("id"))
        if call is not None:
            call.files.append(file)
        else:
            self._add(file)

    def _tool(self, part: Part) -> None:
        call = call_of(part)
        self._calls[call.id] = call
        self._add(call)

    def _request(self, part: Part) -> None:
        request, response = part["request"], part.get("response")
        if request.get("tool_call_id") or id(part) not in self._latest:
            return
        self._add(Text(request.get("prompt") or ""))
        if response and response.get("decision") != "cancelled":
            self._end()
            self.messages.append(Message("user", [Text(_answer_of(response))]))

    READERS: ClassVar[dict[str, Callable[[_Answer, Part], None]]] = {
        "text": _text,
        "thinking": _thinking,
        "file": _file,
        "tool": _tool,
        "request": _request,
        "turn": lambda answer, _: answer._end(),
    }


def call_of(part: Part) -> Call:
    """The call of a part."""
    return Call(
        id=part["id"],
        name=part.get("name") or "unknown",
        input=_input_of(part),
        output=part.get("output"),
        status=INTERRUPTED if part.get("partial") else part.get("status") or INTERRUPTED,
        server=bool(part.get("server")),
        provider=part.get("provider") or {},
        result_provider=part.get("result_provider") or {},
        files=[],
    )


def _input_of(part: Part) -> Part:
    """The input as an object, which all providers require."""
    given = part.get("input")
    if isinstance(given, dict) and (given or not part.get("input_text")):
        return given
    given = given or part.get("input_text")
    return {"input": given} if given not in (None, "") else {}


def _answer_of(response: Part) -> str:
    value = response.get("value")
    words = as_text(value) if value is not None else str(response.get("decision"))
    reason = response.get("reason")
    return f"{words}: {reason}" if reason else words


def _is(part: Part, kind: str) -> bool:
    return part.get("type") == kind


def _scope_of(part: Part) -> Any:
    about = part.get("file") if _is(part, "file") else part.get("request")
    return (about if isinstance(about, dict) else part).get("scope")


# Values


def is_blank(item: Item) -> bool:
    """Whether it is a text without words, which providers refuse."""
    return isinstance(item, Text) and not item.text.strip()


def as_text(value: JSON) -> str:
    """A value as text: a string as it is, any other as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def blocks_of(output: JSON) -> list[Text | File]:
    """A tool's output as texts and files; a value that is no list of such is one text."""
    if output is None or output == "":
        return []
    if isinstance(output, list) and output:
        blocks = [_block(each) for each in output]
        known = [block for block in blocks if block is not None]
        if len(known) == len(blocks):
            return [block for block in known if not is_blank(block)]
    text = Text(as_text(output))
    return [] if is_blank(text) else [text]


def _block(block: JSON) -> Text | File | None:
    """A block in one of the forms that tools return; `None` if it is none of them."""
    if not isinstance(block, dict):
        return None
    if block.get("type") == "text" and isinstance(block.get("text"), str):
        return Text(block["text"])
    if block.get("type") == "image_url":
        url = block.get("image_url")
        url = url.get("url") if isinstance(url, dict) else url
        return file_of({"media_type": "image/png", "url": url}) if isinstance(url, str) else None
    return _image(block) if block.get("type") in ("image", "file", "audio") else None


def _image(block: Part) -> File | None:
    source = block["source"] if isinstance(block.get("source"), dict) else block
    data = source.get("base64") or source.get("data")
    media_type = source.get("media_type") or source.get("mime_type") or source.get("mimeType")
    if not (isinstance(data, str) and isinstance(media_type, str)):
        url = source.get("url")
        is_url = isinstance(url, str) and block.get("type") == "image"
        return file_of({"media_type": media_type or "image/*", "url": url}) if is_url else None
    return File(media_type, data)


def _size_of(data: str | None) -> int | None:
    return None if data is None else len(data.rstrip("=")) * 3 // 4


def _readable(size: int | None) -> str:
    if size is None:
        return ""
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size} {unit}"
        size = round(size / 1000)
    return f"{size} GB"
