"""Run a real Runner against a scripted endpoint; print what Mobox is told of it.

The argument says in which mode it streams: `sse` or `none`. The tests run it with the Python of the
frameworks' venv.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Part = dict[str, Any]


def call(call_id: str, name: str, **args: Any) -> Part:
    return {"functionCall": {"id": call_id, "name": name, "args": args}}


SCRIPTS: dict[str, list[list[Part]]] = {
    "gemini-root": [
        [
            {"text": "I ", "thought": True},
            {"text": "delegate.", "thought": True},
            call("fc-S", "researcher", request="The weather?"),
        ],
        [{"text": "It is "}, {"text": "21C in Lisbon."}],
    ],
    "gemini-researcher": [
        [call("fc-W", "get_weather", city="Lisbon")],
        [{"text": "21C."}],
    ],
}
"""What each model says, by its name: a turn after each result."""


class Endpoint(BaseHTTPRequestHandler):
    """Streams, or answers with, the turn that is next."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        model, method = self.path.partition("?")[0].rpartition("/")[2].split(":")
        turn = sum("functionResponse" in part for c in body["contents"] for part in c["parts"])
        if method == "streamGenerateContent":
            chunks = [[part] for part in SCRIPTS[model][turn]]
            data = "".join(
                f"data: {json.dumps(answer(c, c is chunks[-1]))}\r\n\r\n" for c in chunks
            )
            self._send(data, "text/event-stream")
        else:
            self._send(json.dumps(answer(SCRIPTS[model][turn], True)), "application/json")

    def _send(self, text: str, kind: str) -> None:
        data = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_args: Any) -> None:
        """Say nothing."""


def answer(parts: list[Part], is_last: bool) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"parts": parts, "role": "model"}, "index": 0}
    if is_last:
        candidate["finishReason"] = "STOP"
    usage = {"promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted"}


def get_weather(city: str) -> dict[str, str]:
    """Tell the weather."""
    return {"city": city, "weather": "21C"}


async def main(mode: str, port: int) -> None:
    os.environ["GOOGLE_API_KEY"] = "none"
    os.environ["GOOGLE_GEMINI_BASE_URL"] = f"http://127.0.0.1:{port}"
    from google.adk.agents import LlmAgent
    from google.adk.agents.run_config import RunConfig, StreamingMode
    from google.adk.runners import InMemoryRunner
    from google.genai import types

    from mobox.emitter import emit_object

    researcher = LlmAgent(
        name="researcher",
        model="gemini-researcher",
        description="Researches.",
        tools=[get_weather],
        mode="single_turn",
    )
    root = LlmAgent(name="root", model="gemini-root", sub_agents=[researcher])
    runner = InMemoryRunner(agent=root, app_name="app")
    session = await runner.session_service.create_session(app_name="app", user_id="u")
    ask = types.Content(role="user", parts=[types.Part(text="The weather in Lisbon?")])
    streaming = StreamingMode.SSE if mode == "sse" else StreamingMode.NONE
    async for event in runner.run_async(
        user_id="u",
        session_id=session.id,
        new_message=ask,
        run_config=RunConfig(streaming_mode=streaming),
    ):
        emit_object(event)


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    asyncio.run(main(sys.argv[1], server.server_address[1]))
