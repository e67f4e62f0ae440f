"""A server for each column of the table, whose agents run the attacks."""

from __future__ import annotations

import ctypes
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import mobox
from hostile.attacks import PROBES, STOPPED, Attack, Targets, every
from mobox.sandbox.deleting import delete
from mobox.settings import OWNER
from mobox.supervisor.agent_files import StateFolders
from server.live_server import LIMIT, MOBOX, agent_processes, clean_environment

T = TypeVar("T")

HERE = Path(__file__).parent
SOURCE = Path(mobox.__file__).parents[1]
NOBODY = 65534
NEW_NETWORK = 0x40000000
LARGE = 9 << 20
"""Bytes of a file that an agent gets in its state folder."""
SMALL = "{disk: 20M, memory: 200M, processes: 40, output: 4M}"
ROOMY = "{disk: 50M, memory: 400M, processes: 60}"
MODEL = "network: model\nmodels: [anthropic]\n"
AGENTS = {
    PROBES: f"limits: {ROOMY}\n{MODEL}",
    "small": f"limits: {SMALL}\nnetwork: none\n",
    "silent": f"limits: {SMALL}\nnetwork: none\ntimeouts: {{idle: 2}}\n",
    "open": f"limits: {ROOMY}\nnetwork: full\n",
    "warm": f"warm: 1\n{MODEL}env: {{HOSTILE_EARLY: look}}\n",
    "warm-writer": f"warm: 1\n{MODEL}env: {{HOSTILE_EARLY: write}}\n",
    "warm-mover": f"warm: 1\n{MODEL}",
}
"""The agent.yaml of each hostile agent."""
BUNDLES = (PROBES, "open", "warm")
"""Agents that run many attacks in one run."""
SURVIVING = "Outliving the run"


class Ended(NamedTuple):
    """A run that is over, or waits."""

    run_id: str
    ending: str
    """The code of its error, or the reason of its end."""
    results: dict[str, dict[str, Any]]
    """What attacks have written, by their names."""
    terminal_events: int


class Outcome(NamedTuple):
    """What became of an attack."""

    result: str
    """`possible` or `stopped`."""
    detail: str
    ending: str
    problems: tuple[str, ...]
    """What is wrong with the end of its run."""


class Column:
    """A server with a sandbox, run by a user."""

    def __init__(self, sandbox: str, *, is_root: bool, folder: Path) -> None:
        self.sandbox = sandbox
        self.is_root = is_root
        self.data = folder / "data"
        self._folder = folder
        self._is_staged = os.geteuid() == 0
        self._uid = NOBODY if self._is_staged and not is_root else None
        self._outcomes: dict[str, Outcome] = {}
        self._number = 0
        self._lost = False  # whether a keeper was killed, who could not remove its cgroup
        self._canary = f"canary-{os.urandom(8).hex()}"

    @contextmanager
    def running(self) -> Iterator[Column]:
        self._prepare()
        errors = (self._folder / "stderr").open("w")
        order = {
            "uid": self._uid,
            "network": self._is_staged,
            "paths": [sys.base_prefix, sys.prefix, str(SOURCE)],
            "report": str(self._folder / "report"),
            "socket": str(self._folder / "open" / "socket"),
            "command": [
                *MOBOX, "serve", "--port", "0", "--data", str(self.data),
                "--agents", str(self._folder / "agents"),
            ],
        }  # fmt: skip
        path = os.pathsep.join([str(SOURCE), os.environ.get("PYTHONPATH", "")]).strip(os.pathsep)
        env = clean_environment(
            SANDBOX_BACKEND=self.sandbox, SERVER_SECRET=self._canary, PYTHONPATH=path
        )
        env["VICTIM_API_KEY"] = self._canary
        with (
            errors,
            subprocess.Popen(
                [sys.executable, str(HERE / "launching.py"), json.dumps(order)],
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env=env,
                cwd="/",
            ) as self._process,
        ):
            timer = threading.Timer(5 * LIMIT, self._process.kill)
            timer.start()
            try:
                self._open()
                yield self
            finally:
                timer.cancel()
                self._process.kill()

    def _prepare(self) -> None:
        """The agents, and the folders of the server, which belong to its user."""
        self._folder.chmod(0o755)
        for name, yaml in AGENTS.items():
            folder = self._folder / "agents" / name
            folder.mkdir(parents=True)
            shutil.copy(HERE / "agent" / "run_agent.py", folder)
            shutil.copytree(
                HERE / "attacks", folder / "hostile" / "attacks",
                ignore=shutil.ignore_patterns("__pycache__"),
            )  # fmt: skip
            if self.sandbox == "process":  # there, `full` has no proxy, which is what is attacked
                yaml = yaml.replace("network: full", 'network: ["*.example.com"]')
            (folder / "agent.yaml").write_text(yaml)
        victim = self._folder / "agents" / "victim"
        shutil.copytree(HERE / "victim", victim)
        (victim / "agent.yaml").write_text(f"{MODEL}env: {{VICTIM_API_KEY: {self._canary}}}\n")
        (victim / "secret").write_text(self._canary)
        (self._folder / "open").mkdir()
        (self._folder / "report").touch()
        self.data.mkdir()
        if self._uid is not None:
            for path in (self._folder, *self._folder.rglob("*")):
                os.chown(path, self._uid, self._uid)

    def _open(self) -> None:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        found = re.search(r"http://\S+", line)
        assert found, f"{line!r} {self.log}"
        self.url = found[0].rstrip("/")
        self._victim = self.post("private", "victim", f"wait {self._canary}", reads=False)
        assert until(self._victim_waits), self.log
        sibling, keeper = self._victim_processes()
        variables = Path(f"/proc/{sibling}/environ").read_bytes().decode().split("\0")
        env = dict(variable.partition("=")[::2] for variable in variables)
        self.targets = Targets(
            canary=self._canary,
            data=str(self.data),
            agents=str(self._folder / "agents"),
            private_state=str(self.states("private")),
            url=self.url,
            server=self._process.pid,
            keeper=keeper,
            sibling=sibling,
            request="victim-1",
            token=env["ANTHROPIC_API_KEY"],
            **json.loads((self._folder / "report").read_text()),
        )
        self.play("first", PROBES, [])  # whatever is needed once
        self._before = self.leftovers()
        self.memory_before = self.memory

    def _victim_waits(self) -> bool:
        """Whether the approval in the other chat is open."""
        kinds = self._kinds(self._victim)
        return "input_request" in kinds and "input_response" not in kinds and "done" not in kinds

    def _victim_processes(self) -> tuple[int, int]:
        """The agent of the other chat, and its keeper: the one process that the server started."""
        found = agent_processes(self.data)
        keeper = next(pid for pid in found if parent_of(pid) == self._process.pid)
        agent = next(pid for pid in found if "victim/run_agent.py" in command_of(pid, 1))
        return agent, keeper

    # What there is

    @property
    def log(self) -> str:
        """All that the server has written to stderr."""
        return (self._folder / "stderr").read_text()

    def states(self, chat: str) -> Path:
        return StateFolders(self.data / "state").of(OWNER, chat)

    @property
    def memory(self) -> int:
        """The server's memory, in bytes."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+)", status)
        assert found
        return int(found[1]) << 10

    def leftovers(self) -> set[str]:
        """The processes, private folders and cgroups of agents."""
        tmp = self.data / "state" / ".tmp"
        name = f"mobox-{self._process.pid}-"
        groups = [
            folder
            for folder, _, _ in os.walk("/sys/fs/cgroup")
            if Path(folder).name.startswith(name)
        ]
        return {
            *(f"process {pid}" for pid in agent_processes(self.data)),
            *(f"folder {path}" for path in (tmp.iterdir() if tmp.exists() else ())),
            *(f"cgroup {path}" for path in groups),
        }

    def left_at_the_end(self) -> set[str]:
        """Stop the server, as an operator does; what is still there."""
        self._process.terminate()
        self._process.wait(LIMIT)
        until(lambda: not self.leftovers(), 5)
        return {
            each for each in self.leftovers() if not each.startswith("cgroup") or not self._lost
        }

    def victim_problems(self) -> Iterator[str]:
        """What has happened to the other chat."""
        private = self.states("private")
        if sorted(path.name for path in private.iterdir()) != ["secret"]:
            yield f"the other chat's folder has {sorted(private.iterdir())}"
        elif (private / "secret").read_text() != self._canary:
            yield "the other chat's secret was changed"
        if not self._victim_waits():
            yield "the other chat's request is not open any more"

    # HTTP

    def fetch(self, path: str, body: object = None, method: str = "") -> bytes:
        return self._request(path, body, method)[1]

    def _request(
        self, path: str, body: object, method: str = "", *, reads: bool = True
    ) -> tuple[str, bytes]:
        """Make a request from within the server's network; the run that it names, and its body."""
        host, _, port = self.url.removeprefix("http://").partition(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=LIMIT)
        connection.sock = self._inside(lambda: socket.create_connection((host, int(port)), LIMIT))
        headers = {"accept": "application/json", "host": f"{host}:{port}"}
        sent: bytes | None = None
        if isinstance(body, bytes):
            sent, headers["content-type"] = body, "application/octet-stream"
        elif body is not None:
            sent, headers["content-type"] = json.dumps(body).encode(), "application/json"
        connection.request(method or ("POST" if sent is not None else "GET"), path, sent, headers)
        with closing(connection), connection.getresponse() as response:
            data = response.read() if reads else b""
            assert response.status < 400, (path, response.status, data[:500])
            return response.headers.get("x-mobox-run", ""), data

    def _inside(self, make: Callable[[], T]) -> T:
        """Call this in a thread that is in the server's network: sockets stay there."""
        if not self._is_staged:
            return make()
        found: list[T] = []

        def work() -> None:
            number = os.open(f"/proc/{self._process.pid}/ns/net", os.O_RDONLY)
            ctypes.CDLL(None).setns(number, NEW_NETWORK)
            os.close(number)
            found.append(make())

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        return found[0]

    def post(
        self, chat: str, agent: str, text: str, file: bytes | None = None, *, reads: bool = True
    ) -> str:
        """Send a message, and read the response to its end; the id of the run."""
        parts: list[dict[str, Any]] = [{"type": "text", "text": text}]
        if file is not None:
            parts.append(json.loads(self.fetch("/api/files", file)))
        self._number += 1
        message = {"id": f"{chat}-{self._number}", "role": "user", "parts": parts}
        body = {"id": chat, "agent": agent, "messages": [message]}
        run_id, _ = self._request("/api/chat", body, reads=reads)
        return run_id

    # Attacks

    def play(self, chat: str, agent: str, attacks: list[str], file: bytes | None = None) -> Ended:
        """Run attacks, and read how the run ended."""
        order = {"targets": self.targets._asdict(), "attacks": attacks, "forks": agent in BUNDLES}
        run_id = self.post(chat, agent, json.dumps(order), file)
        events = self._events(run_id)
        text = "".join(e["delta"] for e in events if e["type"] == "text_delta")
        results = [json.loads(line) for line in text.splitlines() if line.startswith('{"ach')]
        ends = [event for event in events if event["type"] == "done"]
        codes = [event.get("code") for event in events if event["type"] == "error"]
        ending = ends[0]["reason"] if ends else "waiting"
        if ending == "error":
            ending = codes[-1] or "error"
        named = {result["name"]: result for result in results}
        return Ended(run_id, ending, named, len(ends))

    def _events(self, run_id: str) -> list[dict[str, Any]]:
        body = self.fetch(f"/api/runs/{run_id}/events?format=canonical&live=off")
        lines = body.decode().splitlines()
        return [json.loads(line[6:])["event"] for line in lines if line.startswith("data: {")]

    def _kinds(self, run_id: str) -> list[str]:
        return [event["type"] for event in self._events(run_id)]

    def outcome(self, attack: Attack) -> Outcome:
        """Of an attack; those that can are run together, once."""
        if attack.name not in self._outcomes:
            if attack.agent in BUNDLES:
                self._run_bundle(attack)
            else:
                self._outcomes[attack.name] = self._run_alone(attack)
        return self._outcomes[attack.name]

    def _run_bundle(self, attack: Attack) -> None:
        together = [
            each for each in every().values()
            if (each.agent, each.section) == (attack.agent, attack.section)
        ]  # fmt: skip
        chat = f"{attack.agent}-{len(self._outcomes)}"
        self._warm_up(chat, attack.agent)
        ended = self.play(chat, attack.agent, [each.name for each in together])
        problems = tuple(self._problems(ended, attack))
        for each in together:
            found = ended.results.get(each.name)
            result, detail = judged(found)
            if each.name == "take-place":  # a folder of this path may also be in a private /tmp
                result = "possible" if self._remove_made() else STOPPED
            missing = () if found is not None else (f"no result of {each.name}",)
            if found is not None and found.get("broken"):
                missing = (f"the attack itself failed: {found['broken']}",)
            self._outcomes[each.name] = Outcome(result, detail, ended.ending, problems + missing)

    def _run_alone(self, attack: Attack) -> Outcome:
        self._warm_up(attack.name, attack.agent)
        ended = self.play(attack.name, attack.agent, [attack.name])
        result, detail = judged(ended.results.get(attack.name))
        if ended.ending == "waiting":
            self.fetch(f"/api/chat/{attack.name}/stop", {})
            until(lambda: "done" in self._kinds(ended.run_id))
            ended = ended._replace(terminal_events=self._kinds(ended.run_id).count("done"))
        if attack.section == SURVIVING and (left := self._survivors()):
            result, detail = "possible", f"{len(left)} processes left"
            self._lost = True
            for pid in left:
                os.kill(pid, signal.SIGKILL)
        if attack.section == "The state folder":
            detail += self._again(attack)
            result = "possible" if detail else STOPPED
        if attack.name == "moved-folder" and not self._is_back(attack.name):
            result, detail = "possible", "the chat's folder is gone"
        problems = tuple(self._problems(ended, attack))
        return Outcome(result, detail, ended.ending, problems)

    def _remove_made(self) -> bool:
        """Remove the folder that an attack may have made; whether it had."""
        made = self.data / "state" / "another-chat"
        if made.exists():
            made.rmdir()
            return True
        return False

    def _warm_up(self, chat: str, agent: str) -> None:
        """Let an agent with `warm` have a process that waits."""
        if "warm" not in AGENTS[agent]:
            return
        self.play(f"{chat}-before", agent, [])
        mark = str(self.data / "state" / ".spares").encode()
        until(lambda: any(mark in environment_of(pid) for pid in agent_processes(self.data)))
        time.sleep(1.5)  # it looks around

    def _survivors(self) -> list[int]:
        """The processes that are still there some time after the end of a run."""
        kept = {f"process {pid}" for pid in agent_processes(self.data)} - self._before
        deadline = time.monotonic() + 2
        while kept and time.monotonic() < deadline:
            time.sleep(0.1)
            kept = {f"process {pid}" for pid in agent_processes(self.data)} - self._before
        return [int(each.split()[1]) for each in kept]

    def _again(self, attack: Attack) -> str:
        """Send another message with a file to the chat; what is wrong after it."""
        ended = self.play(attack.name, "small", [], file=os.urandom(LARGE))
        return "" if ended.ending == "stop" else f"the next run ended with {ended.ending}"

    def _is_back(self, chat: str) -> bool:
        kept = self.states(chat) / "kept"
        return until(kept.exists, 5) and kept.read_text() == "kept"

    def _problems(self, ended: Ended, attack: Attack) -> Iterator[str]:
        if ended.terminal_events != 1:
            yield f"{ended.terminal_events} terminal events"
        expected = "stop" if attack.agent in BUNDLES else attack.ending(self.sandbox)
        if ended.ending not in expected.split(", "):
            yield f"it ended with {ended.ending}, not {expected}"
        if attack.name == "kill-keeper-first" or "warm" in AGENTS[attack.agent]:
            # The cgroup of one without a keeper is removed by the next server; a process that
            # waits for a turn may stay. `left_at_the_end` looks at these.
            time.sleep(0.5)
            self._before = self.leftovers()
        until(lambda: self.leftovers() <= self._before, 5)
        if left := self.leftovers() - self._before:
            yield f"left behind: {sorted(left)}"
        yield from self.victim_problems()
        if "\x1b" in self.log or "\x07" in self.log:
            yield "the server's log has control sequences"


def judged(found: dict[str, Any] | None) -> tuple[str, str]:
    if found is None:
        return STOPPED, ""
    if found["achieved"]:
        return "possible", found["achieved"]
    return STOPPED, found["problem"]


def until(condition: Callable[[], bool], seconds: float = LIMIT) -> bool:
    """Wait until it is true; whether it is."""
    deadline = time.monotonic() + seconds
    while not (holds := condition()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return holds


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def command_of(pid: int, place: int) -> str:
    """A word of a process's command."""
    words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    return words[place] if place < len(words) else ""


def environment_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


@contextmanager
def column(sandbox: str, *, is_root: bool) -> Iterator[Column]:
    """A server for all attacks of one column."""
    folder = tempfile.mkdtemp(prefix="hostile-")
    try:
        with Column(sandbox, is_root=is_root, folder=Path(folder)).running() as running:
            yield running
    finally:
        delete(folder)  # there are folders that are nested deeply
