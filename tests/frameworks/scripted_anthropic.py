"""Anthropic's Messages API on this machine, which says what a script says.

Which script, a marker in the first message of the user tells: `[[script]]` or `[[script chat]]`.
Which turn of it, the number of answers in the request: so the same request always gets the same
answer. What the program asks for besides gets a short answer.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any, NamedTuple

Block = dict[str, Any]
Scripts = Mapping[str, list[list[Block]]]

INPUT_TOKENS, OUTPUT_TOKENS = 100, 7
"""What each answer is said to have used."""


def say(text: str) -> Block:
    return {"type": "text", "text": text}


def call(call_id: str, name: str, **arguments: Any) -> Block:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def fail(status: int, kind: str, message: str, **headers: str) -> Block:
    """The request is answered by an error instead; `headers` with underscores."""
    return {"type": "fail", "status": status, "kind": kind, "message": message, "headers": headers}


DELETE = "mcp__files__delete_file"
GATE: Block = {"type": "gate"}
"""What follows is held back until the gate is opened."""
CUT: Block = {"type": "cut"}
"""The connection breaks here, the first time that this answer is given."""

SCRIPTS: Scripts = {
    "delete": [
        [say("I will delete it."), call("toolu_a", DELETE, path="a.txt")],
        [say("That is all.")],
    ],
    "two": [
        [call("toolu_a", DELETE, path="a.txt"), GATE, call("toolu_b", DELETE, path="b.txt")],
        [say("That is all.")],
    ],
}


class Item(NamedTuple):
    """One piece of a conversation as the model was given it, in any provider's API."""

    kind: str
    """user, image, text (the model's), call or result."""
    text: str = ""
    """The words; of a call its name and its input as JSON."""
    id: str = ""
    """Of the call, also for its result."""


class Asked(NamedTuple):
    """A request that a script answered."""

    script: str
    chat: str
    body: dict[str, Any]


class ScriptedAnthropic(ThreadingHTTPServer):
    """The endpoint; `asked` is what it was asked, the bodies as they came."""

    daemon_threads = True

    def __init__(self, scripts: Scripts = SCRIPTS) -> None:
        super().__init__(("127.0.0.1", 0), self.handler())
        self.scripts = scripts
        self.asked: list[Asked] = []
        self.gates: defaultdict[str, Event] = defaultdict(Event)
        """By chat; "" for a script without one."""
        self.has_cut: set[tuple[str, str, int]] = set()

    def handler(self) -> type[Handler]:
        return Handler

    def handle_error(self, *_: Any) -> None:
        """Say nothing: a client that is killed leaves in the middle of an answer."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def gate(self) -> Event:
        return self.gates[""]

    @property
    def requests(self) -> list[dict[str, Any]]:
        return [each.body for each in self.asked]

    def results(self) -> list[Block]:
        """The results of tools that the model was given in the last request."""
        blocks = [block for m in self.requests[-1]["messages"] for block in _blocks(m)]
        return [block for block in blocks if block["type"] == "tool_result"]

    def conversations(self, chat: str, *but: str) -> list[list[Item]]:
        """What each request of a chat had; `but` are scripts of its subagents."""
        asked = [each for each in self.asked if each.chat == chat and each.script not in but]
        return [self.conversation(each.body) for each in asked]

    def conversation(self, body: dict[str, Any]) -> list[Item]:
        """The items of a request, in order."""
        return conversation(body)


def conversation(body: dict[str, Any]) -> list[Item]:
    """The items of a request, in order."""
    return [
        _item(message["role"], block) for message in body["messages"] for block in _blocks(message)
    ]


def _blocks(message: dict[str, Any]) -> list[Block]:
    content = message["content"]
    return [say(content)] if isinstance(content, str) else list(content)


def _item(role: str, block: Block) -> Item:
    kind = block["type"]
    if kind == "tool_use":
        return Item("call", f"{block['name']} {json.dumps(block['input'])}", block["id"])
    if kind == "tool_result":
        return Item("result", _text_of(block.get("content")), block["tool_use_id"])
    if kind == "text":
        return Item("text" if role == "assistant" else "user", block["text"])
    source = block.get("source", {})
    return Item(kind, str(source.get("data") or source.get("url") or ""))


def _text_of(content: Any) -> str:
    if isinstance(content, list):
        return "".join(each.get("text", "") for each in content)
    return content or ""


@contextmanager
def scripted_anthropic(scripts: Scripts = SCRIPTS) -> Iterator[ScriptedAnthropic]:
    with ScriptedAnthropic(scripts) as endpoint:
        Thread(target=endpoint.serve_forever, daemon=True).start()
        yield endpoint
        endpoint.shutdown()


class Handler(BaseHTTPRequestHandler):
    """One request; other providers' endpoints override what is in their own form."""

    server: ScriptedAnthropic

    def do_POST(self) -> None:
        self.respond(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def respond(self, body: dict[str, Any]) -> None:
        """Answer a request."""
        asked = asked_of(body, body.get("messages", [])[:1])
        if asked is not None:
            self.server.asked.append(asked)
        blocks = [say("Fine.")] if asked is None else self._answer(asked)
        if blocks[0]["type"] == "fail":
            self._fail(blocks[0])
            return
        message = _message(blocks, f"msg_{len(self.server.asked)}")
        if body.get("stream"):
            self._stream(message, "" if asked is None else asked.chat)
        else:
            self._send(200, json.dumps(message).encode())

    def _answer(self, asked: Asked) -> list[Block]:
        """The blocks of the next answer, with the chat's name in place of {chat}."""
        turn = self._turn(asked.body)
        blocks = self.server.scripts[asked.script][turn]
        cut = (asked.script, asked.chat, turn)
        if CUT in blocks and cut in self.server.has_cut:
            blocks = [block for block in blocks if block != CUT]
        elif CUT in blocks:
            self.server.has_cut.add(cut)
        named: list[Block] = json.loads(json.dumps(blocks).replace("{chat}", asked.chat))
        return named

    def _turn(self, body: dict[str, Any]) -> int:
        """How many answers the request has."""
        return sum(message["role"] == "assistant" for message in body["messages"])

    def _stream(self, message: dict[str, Any], chat: str) -> None:
        self._send_events(_events(message), chat)

    def _send_events(self, events: Iterable[dict[str, Any]], chat: str, last: str = "") -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for event in events:
            if event == GATE:
                self.server.gates[chat].wait()
            elif event == CUT:
                return  # without the last chunk: the body is incomplete
            else:
                named = f"event: {event['type']}\n" if isinstance(event.get("type"), str) else ""
                self._write(f"{named}data: {json.dumps(event)}\n\n".encode())
        if last:
            self._write(f"data: {last}\n\n".encode())
        self._write(b"")

    def _write(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))

    def _fail(self, block: Block) -> None:
        error = {"type": block["kind"], "message": block["message"]}
        headers = {name.replace("_", "-"): value for name, value in block["headers"].items()}
        body = {"type": "error", "error": error}
        self._send(block["status"], json.dumps(body).encode(), headers)

    def do_GET(self) -> None:
        self._send(200, b"{}")

    def do_HEAD(self) -> None:
        self._send(200, b"")

    def _send(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        given = {"Content-Type": "application/json", "Content-Length": str(len(body))}
        for name, value in {**given, **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    protocol_version = "HTTP/1.1"
    close_connection = True

    def end_headers(self) -> None:
        self.send_header("Connection", "close")
        super().end_headers()

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def asked_of(body: dict[str, Any], first: Any, has_tools: bool = True) -> Asked | None:
    """The script and the chat of a request; `None` for one that no script is about.

    The Claude program sends its own requests about a conversation, which have no tools.
    """
    found = re.search(r"\[\[(\w+)(?: ([\w-]+))?\]\]", json.dumps(first))
    if found is None or (has_tools and not body.get("tools")):
        return None
    return Asked(found[1], found[2] or "", body)


def _message(blocks: list[Block], name: str) -> dict[str, Any]:
    calls = any(block["type"] == "tool_use" for block in blocks)
    return {
        "id": name,
        "type": "message",
        "role": "assistant",
        "model": "claude-scripted",
        "content": blocks,
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": INPUT_TOKENS, "output_tokens": OUTPUT_TOKENS},
    }


def _events(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    usage = {"input_tokens": INPUT_TOKENS, "output_tokens": 1}
    empty = {**message, "content": [], "stop_reason": None, "usage": usage}
    yield {"type": "message_start", "message": empty}
    index = -1
    for block in message["content"]:
        if block in (GATE, CUT):
            yield block
            continue
        index += 1
        begun, delta = _streamed(block)
        yield {"type": "content_block_start", "index": index, "content_block": begun}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    stopped = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": stopped, "usage": message["usage"]}
    yield {"type": "message_stop"}


def _streamed(block: Block) -> tuple[Block, Block]:
    if block["type"] == "text":
        return {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
    piece = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    return {**block, "input": {}}, piece
