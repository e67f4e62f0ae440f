"""Gemini's generateContent and streamGenerateContent."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from mobox.models.simulator.answer import (
    Answer,
    Document,
    Event,
    Streamed,
    json_text,
    signature,
    sse,
    streamed,
)
from mobox.models.simulator.gemini_errors import Errors, error_of
from mobox.models.simulator.reading import objects, optional, required
from mobox.models.simulator.request import Call, Message, Offered, Request, Result, text_of
from mobox.models.simulator.script import (
    Cite,
    Content,
    Fail,
    File,
    Page,
    Refuse,
    ServerTool,
    Text,
    Think,
    Tool,
    Wait,
)

MODEL: Final = re.compile(r"models/([^/:]+):")
FINISH_REASONS: Final = {
    "stop": "STOP",
    "tool": "STOP",
    "malformed": "MALFORMED_FUNCTION_CALL",
    "max_tokens": "MAX_TOKENS",
    "refuse": "SAFETY",
}
OPAQUE: Final = (
    "args", "parameters", "parametersJsonSchema", "response", "responseSchema",
    "responseJsonSchema", "_responseJsonSchema",
)  # fmt: skip
"""Values with names of the client's own."""
SERVER_TOOLS: Final = {"googleSearch": "web_search", "codeExecution": "code_execution"}


class GenerateContent(Errors):
    """`POST /v1beta/models/{model}:generateContent`, and the same as a stream."""

    last = b""
    frame = staticmethod(sse)

    def read(self, body: Document, path: str) -> Request:
        """The request; raises `InvalidRequest`."""
        body = _in_camel_case(body)
        required(body, "contents", list)
        tools = objects(body, "tools")
        config = optional(body, "generationConfig", dict, {})
        named = MODEL.search(path)
        return Request(
            model=named[1] if named else "gemini",
            system=text_of(optional(body, "systemInstruction", dict, {}).get("parts")),
            messages=tuple(map(_message, objects(body, "contents"))),
            tools=tuple(
                _offered(each) for tool in tools for each in objects(tool, "functionDeclarations")
            ),
            server_tools=frozenset(
                name for tool in tools for key, name in SERVER_TOOLS.items() if key in tool
            ),
            choice=_choice(optional(body, "toolConfig", dict, {})),
            schema=_schema(config),
            stream="streamGenerateContent" in path,
            thinks=bool((config.get("thinkingConfig") or {}).get("includeThoughts")),
            max_tokens=config.get("maxOutputTokens"),
        )

    def whole(self, given: Answer) -> Document:
        """A response."""
        parts: list[Document] = []
        for place, step in enumerate(given.steps):
            if not isinstance(step, Wait):
                parts += _parts(given, step, place)
        return _chunk(given, parts, is_last=True)

    def events(self, given: Answer) -> Iterator[Streamed]:
        """Chunks."""
        for place, step in enumerate(given.steps):
            if isinstance(step, Wait):
                yield step
            elif isinstance(step, Think | Text | Cite) and not _is_hidden(step):
                mark = {"thought": True} if isinstance(step, Think) else {}
                yield from streamed(step.text, partial(_text_chunk, given, mark))
            else:
                for part in _parts(given, step, place):
                    yield Event(_chunk(given, [part]), 4)
        if given.breaks is None:
            is_signed = any(isinstance(step, Tool) for step in given.steps)  # a call is, itself
            sign = {} if is_signed else {"thoughtSignature": signature(given.id(""))}
            end = {"text": "", **sign}
            yield Event(_chunk(given, [end], is_last=True))

    def broken(self, fail: Fail, _given: Answer) -> list[Document]:
        """An error in place of a chunk."""
        return [{"error": error_of(fail)}]


# Requests


def _in_camel_case(value: Any) -> Any:
    """The request with the names of the documentation: Google takes both spellings."""
    if isinstance(value, list):
        return [_in_camel_case(each) for each in value]
    if not isinstance(value, dict):
        return value
    names = {name: re.sub(r"(?<=[a-z])_([a-z])", lambda m: m[1].upper(), name) for name in value}
    return {
        names[name]: each if names[name] in OPAQUE else _in_camel_case(each)
        for name, each in value.items()
    }


def _message(content: Document) -> Message:
    parts = objects(content, "parts")
    calls = [part["functionCall"] for part in parts if "functionCall" in part]
    results = [part["functionResponse"] for part in parts if "functionResponse" in part]
    texts = [part for part in parts if not part.get("thought")]
    return Message(
        role="assistant" if content.get("role") == "model" else "user",
        text=text_of(texts),
        calls=tuple(Call(_id(call), call.get("name", ""), call.get("args")) for call in calls),
        results=tuple(Result(_id(each), _result(each.get("response"))) for each in results),
    )


def _id(call: Document) -> str:
    """Calls may come back without an id: the name then stands for it."""
    return str(call.get("id") or call.get("name", ""))


def _result(response: Any) -> str:
    if isinstance(response, dict):
        for name in ("output", "result", "error"):
            if isinstance(response.get(name), str):
                return str(response[name])
    return json_text(response)


def _offered(function: Document) -> Offered:
    schema = function.get("parametersJsonSchema") or function.get("parameters") or {}
    return Offered(function.get("name", ""), function.get("description") or "", schema)


def _choice(config: Document) -> str:
    calling = optional(config, "functionCallingConfig", dict, {})
    allowed = calling.get("allowedFunctionNames") or []
    mode = str(calling.get("mode", "AUTO")).upper()
    if mode == "ANY":
        return allowed[0] if len(allowed) == 1 else "any"
    return "none" if mode == "NONE" else "auto"


def _schema(config: Document) -> dict[str, Any] | None:
    for name in ("responseSchema", "responseJsonSchema", "_responseJsonSchema"):
        if isinstance(config.get(name), dict):
            return dict(config[name])
    return {"type": "object"} if config.get("responseMimeType") == "application/json" else None


# Responses


def _is_hidden(step: Content | Refuse) -> bool:
    return isinstance(step, Think) and step.redacted


def _parts(given: Answer, step: Content | Refuse, place: int) -> list[Document]:
    """The parts of a step, complete."""
    match step:
        case Think():
            return [] if step.redacted else [{"text": step.text, "thought": True}]
        case Text() | Cite():
            return [{"text": step.text}]
        case Tool(malformed=None):
            name = {"id": given.call_id(step, "call_", place), "name": step.name}
            sign = {"thoughtSignature": signature(f"{given.id('', place)}")}
            return [{"functionCall": {**name, "args": step.input}, **sign}]
        case ServerTool() if step.name == "code_execution":
            call_id = given.call_id(step, "code_", place)
            code = {"language": "PYTHON", "code": step.input, "id": call_id}
            output = {"outcome": "OUTCOME_OK", "output": step.output, "id": call_id}
            return [{"executableCode": code}, {"codeExecutionResult": output}]
        case File():
            name = {"displayName": step.name} if step.name else {}
            return [{"inlineData": {"mimeType": step.media_type, "data": step.data, **name}}]
        case _:  # searches are in the grounding metadata, refusals in the finish reason
            return []


def _text_chunk(given: Answer, mark: Document, text: str) -> Document:
    return _chunk(given, [{"text": text, **mark}])


def _chunk(given: Answer, parts: list[Document], *, is_last: bool = False) -> Document:
    candidate: Document = {"content": {"parts": parts, "role": "model"}, "index": 0}
    if is_last:
        candidate["finishReason"] = FINISH_REASONS[given.ending]
        candidate |= _finish_message(given)
        if grounding := _grounding(given):
            candidate["groundingMetadata"] = grounding
    return {
        "candidates": [candidate],
        "usageMetadata": usage(given),
        "modelVersion": given.request.model,
        "responseId": given.id("")[:22],
    }


def _finish_message(given: Answer) -> Document:
    for step in given.content:
        if isinstance(step, Refuse):
            return {"finishMessage": step.text}
        if isinstance(step, Tool) and step.malformed is not None:
            return {"finishMessage": f"Malformed function call: {step.name}({step.malformed})"}
    return {}


def usage(given: Answer) -> Document:
    """Google counts thoughts apart from the answer."""
    tokens = given.tokens
    counts: Document = {
        "promptTokenCount": tokens.input,
        "candidatesTokenCount": max(0, tokens.output - tokens.reasoning),
        "totalTokenCount": tokens.input + tokens.output,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": tokens.input}],
    }
    if tokens.cached:
        counts["cachedContentTokenCount"] = tokens.cached
    if tokens.reasoning:
        counts["thoughtsTokenCount"] = tokens.reasoning
    return counts


def _grounding(given: Answer) -> Document:
    """The searches and citations of the whole answer; its places are counted in bytes."""
    pages: list[Page] = []
    queries: list[str] = []
    supports: list[Document] = []
    written = 0
    for step in given.content:
        if isinstance(step, ServerTool) and step.name == "web_search":
            queries.append(step.input)
            pages += step.pages
        elif isinstance(step, Text | Cite):
            end = written + len(step.text.encode())
            if isinstance(step, Cite):
                place = _place_of(step, pages)
                segment = {"startIndex": written, "endIndex": end, "text": step.text}
                supports.append({"segment": segment, "groundingChunkIndices": [place]})
            written = end
    if not queries and not supports:
        return {}
    chunks = [{"web": {"uri": page.url, "title": page.title or page.url}} for page in pages]
    return {
        "webSearchQueries": queries,
        "groundingChunks": chunks,
        "groundingSupports": supports,
    }


def _place_of(step: Cite, pages: list[Page]) -> int:
    for place, page in enumerate(pages):
        if page.url == step.url:
            return place
    pages.append(Page(step.url, step.title))
    return len(pages) - 1
