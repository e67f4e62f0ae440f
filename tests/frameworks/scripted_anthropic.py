"""Anthropic's Messages API on this machine, which says what a script says.

Which script, a word in [[brackets]] in the first message of the user tells; which turn of it, the
number of answers in the request. What the program asks for besides gets a short answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

Block = dict[str, Any]

INPUT_TOKENS, OUTPUT_TOKENS = 100, 7
"""What each answer is said to have used."""


def say(text: str) -> Block:
    return {"type": "text", "text": text}


def call(call_id: str, name: str, **arguments: Any) -> Block:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


DELETE = "mcp__files__delete_file"
GATE: Block = {"type": "gate"}
"""What follows is held back until the gate is opened."""

SCRIPTS: dict[str, list[list[Block]]] = {
    "delete": [
        [say("I will delete it."), call("toolu_a", DELETE, path="a.txt")],
        [say("That is all.")],
    ],
    "two": [
        [call("toolu_a", DELETE, path="a.txt"), GATE, call("toolu_b", DELETE, path="b.txt")],
        [say("That is all.")],
    ],
}


class ScriptedAnthropic(ThreadingHTTPServer):
    """The endpoint; `requests` is what it was asked, the bodies as they came."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[dict[str, Any]] = []
        self.gate = Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def results(self) -> list[Block]:
        """The results of tools that the model was given in the last request."""
        messages = self.requests[-1]["messages"]
        blocks = [b for m in messages if isinstance(m["content"], list) for b in m["content"]]
        return [block for block in blocks if block["type"] == "tool_result"]


@contextmanager
def scripted_anthropic() -> Iterator[ScriptedAnthropic]:
    with ScriptedAnthropic() as endpoint:
        Thread(target=endpoint.serve_forever, daemon=True).start()
        yield endpoint
        endpoint.shutdown()


class _Handler(BaseHTTPRequestHandler):
    server: ScriptedAnthropic

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        blocks = _answer(body)
        if blocks is None:
            blocks = [say("Fine.")]
        else:
            self.server.requests.append(body)
        message = _message(blocks, f"msg_{len(self.server.requests)}")
        if body.get("stream"):
            self._stream(message)
        else:
            self._send("application/json", json.dumps(message).encode())

    def _stream(self, message: dict[str, Any]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for event in _events(message):
            if event == GATE:
                self.server.gate.wait()
            else:
                self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

    def do_GET(self) -> None:
        self._send("application/json", b"{}")

    def do_HEAD(self) -> None:
        self._send("application/json", b"")

    def _send(self, kind: str, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def _answer(body: dict[str, Any]) -> list[Block] | None:
    """The blocks of the next answer; `None` for a request that no script is about."""
    messages = body.get("messages", [])
    found = re.search(r"\[\[(\w+)\]\]", json.dumps(messages[:1]))
    if found is None or not body.get("tools"):
        return None
    turn = sum(message["role"] == "assistant" for message in messages)
    return SCRIPTS[found[1]][turn]


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
        if block == GATE:
            yield GATE
            continue
        index += 1
        begun, delta = _streamed(block)
        yield {"type": "content_block_start", "index": index, "content_block": begun}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    stopped = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": stopped, "usage": {"output_tokens": OUTPUT_TOKENS}}
    yield {"type": "message_stop"}


def _streamed(block: Block) -> tuple[Block, Block]:
    if block["type"] == "text":
        return {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
    piece = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    return {**block, "input": {}}, piece
