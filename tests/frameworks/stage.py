"""A real `mobox serve` with one agent folder, and a person who uses it as a page of `useChat` does.

The server is shared by the scenarios of a framework: each has a chat of its own.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from mobox.settings import OWNER
from mobox.supervisor.agent_files import StateFolders
from server.live_server import LIMIT, LiveServer, agent_processes, live_server

Json = dict[str, Any]

AGENT = "tested"


class Reply(NamedTuple):
    """A run, and what its response had until it ended, which it does where the run waits."""

    run: str
    chunks: list[Json]

    @property
    def text(self) -> str:
        return "".join(c["delta"] for c in self.chunks if c["type"] == "text-delta")


class Pending(NamedTuple):
    """An approval that a person has not given yet."""

    id: str
    call: str
    """As the page knows it: with the run before the framework's own id."""
    name: str
    input: Json

    @property
    def own_call(self) -> str:
        """The framework's id of the call."""
        return self.call.rpartition(":")[2]


class Stage:
    """The server, which can be killed and started again, and its agents, mostly one."""

    def __init__(
        self,
        folder: Path,
        files: Mapping[str, str],
        agent: Json,
        others: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        """`files` are the agent's, `agent` its agent.yaml, `others` more agents' files."""
        self.data = folder / "data"
        self._agents = folder / "agents"
        for name, texts in {AGENT: files, **(others or {})}.items():
            home = self._agents / name
            home.mkdir(parents=True)
            for file, text in texts.items():
                (home / file).write_text(text)
            (home / "agent.yaml").write_text(json.dumps(agent))
        self._open = ExitStack()
        self.start()

    def start(self, **env: str) -> None:
        """Start the server, with these variables."""
        flags = ("--agents", self._agents, "--lease", "1")
        self.server: LiveServer = self._open.enter_context(
            live_server(self.data, *flags, patience=30 * LIMIT, **env)
        )
        connected = httpx.Client(base_url=self.server.url, timeout=LIMIT, trust_env=False)
        self.client = self._open.enter_context(connected)

    def kill(self) -> None:
        """Kill the server, and with it its agents; both are gone on return."""
        self.server.kill()
        self._open.close()
        wait_until(lambda: not agent_processes(self.data))

    def restart(self) -> None:
        self.kill()
        self.start()

    def close(self) -> None:
        self._open.close()

    def chat(self, name: str, agent: str = AGENT) -> Chat:
        return Chat(self, name, agent)


class Chat:
    """One conversation."""

    def __init__(self, stage: Stage, name: str, agent: str = AGENT) -> None:
        self.name = name
        self._agent = agent
        self._stage = stage
        self._sent = 0
        self._run = ""

    @property
    def _client(self) -> httpx.Client:
        return self._stage.client

    @property
    def folder(self) -> Path:
        """The state folder, as the agent sees it in $MOBOX_STATE."""
        return StateFolders(self._stage.data / "state").of(OWNER, self.name)

    @property
    def effects(self) -> list[str]:
        """What tools have done: the lines of effects.txt, in order."""
        file = self.folder / "effects.txt"
        return file.read_text().splitlines() if file.exists() else []

    # What a person does

    def send(self, text: str, *files: Json) -> Reply:
        """Send a message and read the response to its end."""
        return self._post(messages=[*self.messages, self._said(text, *files)])

    @property
    def streamed(self) -> str:
        """What the model has said in the active run so far, be it an answer or a thought."""
        fields = {"text": "content", "text_delta": "delta", "thinking_delta": "delta"}
        events = self.events(self._run)
        return "".join(each.get(fields.get(each["type"], "")) or "" for each in events)

    def begin(self, text: str) -> str:
        """Send a message and leave: the run, which goes on."""
        body = {
            "id": self.name,
            "agent": self._agent,
            "messages": [*self.messages, self._said(text)],
        }
        with self._client.stream("POST", "/api/chat", json=body) as response:
            response.raise_for_status()
            self._run = response.headers["x-mobox-run"]
            return self._run

    def edit(self, message: int, text: str) -> Reply:
        """Replace a message of the person, by its place in the chat."""
        messages = self.messages
        said = self._said(text)
        return self._post(messages=[*messages[:message], said], messageId=messages[message]["id"])

    def regenerate(self) -> Reply:
        """Ask for the last answer once more."""
        messages = self.messages
        named = {"messageId": messages[-1]["id"]} if messages[-1]["role"] == "assistant" else {}
        kept = messages[:-1] if named else messages
        return self._post(messages=kept, trigger="regenerate-message", **named)

    def choose(self, message: int, version: int) -> None:
        """Choose a version of a message, by its place in the chat."""
        path, named = f"/api/chats/{self.name}", self.messages[message]["id"]
        forks = self._client.get(f"{path}/branches").raise_for_status().json()["forks"]
        (fork,) = [each for each in forks if each["messageId"] == named]
        wanted = {"runId": fork["versions"][version]["runId"]}
        self._client.post(f"{path}/branch", json=wanted).raise_for_status()

    def decide(self, *approvals: bool, reason: str | None = None) -> Reply:
        """Answer all pending approvals in one request, in their order."""
        why = {"reason": reason} if reason else {}
        parts = [
            {
                "type": "dynamic-tool",
                "state": "approval-responded",
                "toolCallId": each.call,
                "toolName": each.name,
                "input": each.input,
                "approval": {"id": each.id, "approved": approved, **why},
            }
            for each, approved in zip(self.pending, approvals, strict=True)
        ]
        said = {"id": self._stream().run, "role": "assistant", "parts": parts}
        return self._post(messages=[*self.messages, said], messageId=said["id"])

    def answer(self, request: str, **decision: Any) -> None:
        """Answer one request, by the route for that."""
        body = {"requestId": request, **decision}
        told = self._client.post(f"/api/chat/{self.name}/answer", json=body)
        assert told.status_code == 202, told.text

    def stop(self) -> None:
        told = self._client.post(f"/api/chat/{self.name}/stop", json={})
        assert told.status_code == 202, told.text
        self.until("over")

    def _said(self, text: str, *files: Json) -> Json:
        self._sent += 1
        parts = [{"type": "text", "text": text}, *files]
        return {"id": f"{self.name}-{self._sent}", "role": "user", "parts": parts}

    def _post(self, **body: Any) -> Reply:
        full = {"id": self.name, "agent": self._agent, "trigger": "submit-message", **body}
        return self._read("POST", "/api/chat", json=full)

    def _read(self, *request: str, **more: Any) -> Reply:
        with self._client.stream(*request, **more) as response:
            if response.status_code != 200:
                raise AssertionError(response.read().decode())
            lines = [line.removeprefix("data: ") for line in response.iter_lines()]
            chunks = [json.loads(line) for line in lines if line.startswith("{")]
            return Reply(response.headers["x-mobox-run"], chunks)

    # What a person sees

    @property
    def messages(self) -> list[Json]:
        """The messages, as a page that is loaded gets them."""
        found = self._client.get(f"/api/chats/{self.name}")
        return [] if found.status_code == 404 else found.json()["messages"]

    @property
    def text(self) -> str:
        """The text of the last message."""
        parts = self.messages[-1]["parts"]
        return "".join(part["text"] for part in parts if part["type"] == "text")

    @property
    def pending(self) -> list[Pending]:
        """The approvals that are asked for, in their order."""
        self.until("waiting")
        chunks = self._stream().chunks
        calls = {c["toolCallId"]: c for c in chunks if c["type"] == "tool-input-available"}
        ended = {c["toolCallId"] for c in chunks if c["type"].startswith("tool-output-")}
        asked = [c for c in chunks if c["type"] == "tool-approval-request"]
        return [
            Pending(c["approvalId"], c["toolCallId"], call["toolName"], call["input"])
            for c in asked
            if (call := calls[c["toolCallId"]]) and c["toolCallId"] not in ended
        ]

    def _stream(self) -> Reply:
        """The active run from its start, as a page that is loaded again reads it."""
        return self._read("GET", f"/api/chat/{self.name}/stream")

    def until(self, *statuses: str) -> None:
        """Wait until the active run has one of these statuses; `over` if there is none."""

        def has() -> bool:
            found = self._client.get(f"/api/chats/{self.name}").json()["activeRun"]
            return (found["status"] if found else "over") in statuses

        wait_until(has)

    def events(self, run: str) -> list[Json]:
        """The log of a run as far as it is there."""
        asked = {"format": "canonical", "live": "off"}
        lines = self._client.get(f"/api/runs/{run}/events", params=asked).text.splitlines()
        return [json.loads(line[6:])["event"] for line in lines if line.startswith("data: {")]

    def errors(self, run: str) -> list[Json]:
        return [event for event in self.events(run) if event["type"] == "error"]


def wait_until(happens: Callable[[], object]) -> None:
    deadline = time.monotonic() + LIMIT
    while not happens():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)
