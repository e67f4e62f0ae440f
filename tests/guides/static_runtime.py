"""A CopilotKit runtime that answers each run with the same events, without Mobox."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["static_runtime"]


@contextmanager
def static_runtime(events: Sequence[dict[str, Any]]) -> Iterator[str]:
    """The runtime's URL; its only agent is `default`."""
    stream = "".join(f"data: {json.dumps(event)}\n\n" for event in events).encode()
    agent = {"name": "default", "className": "Agent", "description": ""}
    info = json.dumps({"version": "1", "agents": {"default": agent}, "mode": "sse"}).encode()

    class Handler(BaseHTTPRequestHandler):
        def do_OPTIONS(self) -> None:
            self._answer("text/plain", b"")

        def do_GET(self) -> None:
            self._answer("application/json", info)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self._answer("text/event-stream", stream)

        def _answer(self, kind: str, body: bytes) -> None:
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            for name in ("origin", "headers", "methods"):
                self.send_header(f"access-control-allow-{name}", "*")
            self.end_headers()
            self.wfile.write(body)

        def log_request(self, *_: object) -> None:
            """Nothing: the tests read no access log."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()
