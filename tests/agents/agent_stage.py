"""The repository's own agents in a real `mobox serve`, with a scripted provider and real clients.

    with agent_stage(folder, environments, "weather-agent", script=SCRIPT) as stage:
        chat = stage.chat("one")
        chat.send("[[weather]] Will it rain?")           # a scenario of the script
        check_clients(stage, clients, "[[weather]] Will it rain?")

The provider is the simulator, which the server's gateway reaches as it would a real one. Without a
script, and for a message that names no scenario, it is the default model. `keys=False` starts the
server without a provider's key: then its own simulator answers, at its usual pace.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event
from typing import Any, Final, NamedTuple, Self
from uuid import uuid4

import yaml
from anyio.from_thread import start_blocking_portal
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from frameworks.stage import Chat, Json, Stage
from mobox.models.simulator import Script, simulator
from models.served_gateway import KEYS, pointing_to
from server.ag_ui_clients import NEWEST, AGUIFrontend, AGUIPages
from server.ag_ui_clients import Report as AGUIReport
from server.chat_clients import ChatClients, Frontend
from server.chat_clients import Report as ChatReport
from server.live_server import LIMIT
from server.server_probe import ServerProbe
from server.serving import serve
from server.socket_clients import SocketClients
from support.client_results import ClientResult, by_ag_ui, by_ai_sdk
from support.grammar_agent_event import check_agent_events
from support.sandboxed import usual_sandbox

REPO: Final = Path(__file__).parents[2]
AGENTS: Final = REPO / "agents"
NOT_COPIED: Final = shutil.ignore_patterns(".venv", "__pycache__", ".mobox")
NO_KEYS: Final = dict.fromkeys((*KEYS, "GOOGLE_API_KEY", "TAVILY_API_KEY"), "")
"""So that neither the machine's variables nor an `.env` beside the tests have one."""


# The provider


class Provider:
    """The simulator as every provider; `requests` has what was asked, in order."""

    def __init__(self, script: Script | None) -> None:
        self.requests: list[Json] = []
        self._app = simulator(script, pace=0)
        self._held: dict[str, Event] = {}

    @contextmanager
    def holding(self, text: str) -> Iterator[None]:
        """Do not answer requests that contain this text while the block lasts."""
        self._held[text] = event = Event()
        try:
            yield
        finally:
            del self._held[text]
            event.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body, again = await _whole(receive)
        if body:
            self.requests.append(json.loads(body))
        for text, event in list(self._held.items()):
            if text.encode() in body:
                await asyncio.to_thread(event.wait, LIMIT)
        await self._app(scope, again, send)


async def _whole(receive: Receive) -> tuple[bytes, Receive]:
    """The body of a request, and a `receive` that gives it once more."""
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    told: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return told.pop() if told else await receive()

    return body, again


@contextmanager
def served(app: ASGIApp) -> Iterator[str]:
    """The address at which an app is served, in a thread of its own."""
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(serve(app)) as port,
    ):
        yield f"http://127.0.0.1:{port}"


# The server


class AgentStage(Stage):
    """A server with agents of this repository; `chat` without a name is one with the first."""

    def __init__(self, folder: Path, packages: Path, agents: tuple[str, ...], env: Json) -> None:
        self.data = folder / "data"
        self._agents = folder / "agents"
        self._env = env
        self._names = agents
        for agent in agents:
            self._env |= install(agent, self._agents, packages)
        self._open = ExitStack()
        self.start()

    provider: Provider

    def start(self, **env: str) -> None:
        super().start(**self._env, **env)

    def chat(self, name: str = "", agent: str = "") -> Chat:
        return Chat(self, name or f"chat-{uuid4()}", agent or self._names[0])


def install(agent: str, into: Path, packages: Path) -> dict[str, str]:
    """Copy an agent's folder; the variables with which a server finds its packages."""
    folder = into / agent
    shutil.copytree(AGENTS / agent, folder, ignore=NOT_COPIED)
    if packages.is_dir():
        return {"MOBOX_ENVIRONMENTS": str(packages)}
    about = yaml.safe_load((folder / "agent.yaml").read_text())
    entry = about.get("entry", "run_agent.py")
    (folder / "agent.yaml").write_text(json.dumps({**about, "entry": [str(packages), entry]}))
    return {}


@contextmanager
def agent_stage(
    folder: Path,
    packages: Path,
    *agents: str,
    script: Script | None = None,
    keys: bool = True,
    env: Mapping[str, str] | None = None,
) -> Iterator[AgentStage]:
    """A server with these agents; `env` are more variables of the server.

    `packages` is the fixture `environments`, the agents' own environments; or `frameworks`, a
    Python that has the packages of all frameworks.
    """
    provider = Provider(script)
    with served(provider) as url:
        given = {**NO_KEYS, **(pointing_to(url) if keys else {}), **(env or {})}
        given.setdefault("SANDBOX_BACKEND", usual_sandbox())
        stage = AgentStage(folder, packages, agents, given)
        stage.provider = provider
        try:
            yield stage
        finally:
            stage.close()


# What is in a run


def of_type(events: list[Json], *types: str) -> list[Json]:
    """The events of these types, in order."""
    return [event for event in events if event["type"] in types]


def todo_statuses(events: list[Json]) -> list[list[str]]:
    """The statuses of all todos after each change of the list."""
    changes = of_type(events, "todo_create", "todo_update", "todo_done")
    return [[item.get("status", "pending") for item in each["items"]] for each in changes]


def open_requests(events: list[Json]) -> list[Json]:
    """The input requests that have no answer yet."""
    answered = {event["id"] for event in of_type(events, "input_response")}
    return [each for each in of_type(events, "input_request") if each["id"] not in answered]


# The clients


class Clients:
    """The real clients; a context manager that ends their processes."""

    def __init__(self, node: str) -> None:
        self._open = ExitStack()
        self.chats = self._open.enter_context(ChatClients(node))
        self.pages = self._open.enter_context(AGUIPages(node))
        self.sockets = self._open.enter_context(SocketClients(node))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()


Answer = bool | str
"""A person's answer to all requests of a pause: approved or not, or the words of a choice."""


class Shown(NamedTuple):
    """What a client shows of an answer, without what differs between two runs of the same."""

    texts: list[str]
    calls: list[str]
    """The names of the tools, sorted: subagents may run at the same time."""
    done: list[str]
    """The same, without calls that have failed, were denied, or have no result."""


def check_clients(
    stage: AgentStage, clients: Clients, prompt: str, *answers: Answer, agent: str = ""
) -> Shown:
    """Send a message by each client, and answer each pause: all show the same, and no error.

    `ai` 7 and `socket.io-client` read the same run, `@ag-ui/client` another one.
    """
    agent = agent or stage._names[0]
    chat_id = f"clients-{uuid4()}"
    by_chat = _check_chat(stage, clients, agent, chat_id, prompt, answers)
    by_page = _check_ag_ui(stage, clients, agent, f"{chat_id}-ag-ui", prompt, answers)
    assert by_page == by_chat
    return by_chat


def _check_chat(
    stage: AgentStage, clients: Clients, agent: str, chat_id: str, prompt: str, answers: Any
) -> Shown:
    frontend = Frontend(clients.chats, stage.client, stage.server, "ai", "v7")
    socket = clients.sockets.open(stage.server)
    socket.join(chat_id)
    page = frontend.open(chat_id, auto="all answered", agent=agent)
    report = page.send(prompt)
    for answer in answers:
        for call, *given in _chat_answers(report, answer):
            page.begin(call, *given)
            report = page.settle()
    assert (report.status, report.error, report.invalid) == ("ready", None, None)
    assert all(request.get("rest", "") == "" for request in report.requests)
    stored = frontend.stored(chat_id)
    assert stored["activeRun"] is None, "all pauses are answered"
    assert report.messages == stored["messages"]
    message = report.messages[-1]
    events = ServerProbe(stage.client, stage.server).events(message["id"])
    assert socket.read("agent:event", len(events)) == events
    check_agent_events([json.dumps(event).encode() for event in events])
    socket.close()
    page.close()
    return _shown(by_ai_sdk(message["parts"]))


def _chat_answers(report: ChatReport, answer: Answer) -> Iterator[tuple[str, Json]]:
    """The methods by which a page of `useChat` answers what its last message asks."""
    for part in report.messages[-1]["parts"]:
        if part.get("state") == "approval-requested":
            assert isinstance(answer, bool), f"an approval of {part['toolName']} is asked for"
            yield "addToolApprovalResponse", {"id": part["approval"]["id"], "approved": answer}
        elif part["type"] == "tool-ask_user" and part["state"] == "input-available":
            given = {"tool": "ask_user", "toolCallId": part["toolCallId"], "output": answer}
            yield "addToolOutput", given


def _check_ag_ui(
    stage: AgentStage, clients: Clients, agent: str, thread: str, prompt: str, answers: Any
) -> Shown:
    frontend = AGUIFrontend(clients.pages, stage.client, stage.server, NEWEST)
    page = frontend.open(thread, agent)
    report = page.say(prompt)
    for answer in answers:
        payload = {"approved": answer} if isinstance(answer, bool) else answer
        resume = [
            {"interruptId": each["id"], "status": "resolved", "payload": payload}
            for each in report.interrupts
        ]
        report = page.run(resume=resume)
    assert (report.failure, report.warnings, report.outcome) == (None, [], "success")
    assert _parsed(_told_again(stage, thread)) == _parsed(report.messages)
    return _shown(by_ag_ui(_last_turn(report)))


def _told_again(stage: AgentStage, thread: str) -> list[Json]:
    """The messages that a page of AG-UI gets when it is loaded again."""
    body = {"threadId": thread, "runId": str(uuid4()), "messages": [], "protocolVersion": "1.0"}
    told = stage.client.post("/api/agui/chat/connect", json=body).raise_for_status().text
    frames = [json.loads(line[5:]) for line in told.splitlines() if line.startswith("data:")]
    snapshots = [each for each in frames if each["type"] == "MESSAGES_SNAPSHOT"]
    messages: list[Json] = snapshots[-1]["messages"]
    return messages


def _parsed(messages: list[Json]) -> list[Json]:
    """Messages without the layout of the JSON in them, which is not stored."""

    def parse(value: Any, name: str = "") -> Any:
        if isinstance(value, dict):
            return {each: parse(inner, each) for each, inner in value.items()}
        if isinstance(value, list):
            return [parse(each) for each in value]
        return json.loads(value) if name == "arguments" else value

    return [parse(message) for message in messages]


def _last_turn(report: AGUIReport) -> list[Json]:
    last = max(place for place, each in enumerate(report.messages) if each["role"] == "user")
    return report.messages[last + 1 :]


def _shown(result: ClientResult) -> Shown:
    names = {call: name for call, (name, _) in result.calls.items()}
    done = [names[call] for call, (has_failed, _) in result.outputs.items() if not has_failed]
    return Shown(result.texts, sorted(names.values()), sorted(done))
