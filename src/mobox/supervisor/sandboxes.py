"""Chooses the sandbox of an agent.

Rule 1: the setting `sandbox` is the least that an agent gets. One that asks for another gets it, if
        that isolates too, or the server's does not.
Rule 2: `auto` is bubblewrap where it works, else a process. What it is, and why, is logged once.
Rule 3: a sandbox that was asked for and does not work is never replaced by another: the server does
        not start, or the agent's runs fail with the reason.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from msgspec import Struct

from mobox.capture.catalog import Agent
from mobox.errors import InvalidSetting, MoboxError, SandboxUnavailable
from mobox.sandbox import Probe, Sandbox, get_sandbox, known

log = logging.getLogger("mobox.supervisor")

AUTO: Final = "auto"
PROCESS: Final = "process"
BUBBLEWRAP: Final = "bubblewrap"
_ALIASES: Final = {"subprocess": PROCESS}


class Chosen(Struct, frozen=True):
    """A sandbox that works."""

    name: str
    sandbox: Sandbox
    probe: Probe
    reason: str | None = None
    """Why `auto` did not choose bubblewrap."""

    def describe(self) -> str:
        """For the log: what it is, how it limits agents, and what to know."""
        why = f" ({self.reason})" if self.reason else ""
        return f"agents run in the sandbox {self.name!r}{why}; {self.limits()}"

    def limits(self) -> str:
        """How each limit is enforced."""
        listed = ", ".join(f"{name} ({how})" for name, how in self.probe.limits.items())
        return f"limits: {listed}" if listed else "no limits"

    def summary(self) -> str:
        """For people, as one short line."""
        if self.sandbox.isolates:
            return f"Agents run in {self.name} sandboxes"
        how = "as processes of this user" if self.name == PROCESS else f"in {self.name}"
        why = f" ({self.reason})" if self.reason else ""
        return f"Agents run {how}, not isolated{why}"


class Sandboxes:
    """The sandboxes of one server. `open` it before its use, if it has no `default`."""

    def __init__(self, name: str, default: Chosen | None = None) -> None:
        """`name` is the setting."""
        self._name = name
        self._default = default
        self._others: dict[str, Chosen | str] = {}
        self._noted: set[str] = set()

    async def open(self) -> None:
        """Choose the server's sandbox; raises `InvalidSetting` if it does not work."""
        self._default = await asyncio.to_thread(choose, self._name)
        level = logging.WARNING if self._default.reason else logging.INFO
        log.log(level, "%s", self._default.describe())
        for note in self._default.probe.notes:
            log.info("sandbox %s: %s", self._default.name, note)

    @property
    def default(self) -> Chosen:
        """That of agents that ask for none."""
        assert self._default is not None, "it is opened first"
        return self._default

    @property
    def installing(self) -> Sandbox | None:
        """That in which packages are installed: bubblewrap, as it has the files of this machine."""
        return None if self._default is None else installing_sandbox(self._default)

    async def of(self, agent: Agent) -> Chosen:
        """The sandbox of an agent; raises `SandboxUnavailable`."""
        chosen = await self._find(agent)
        self._note(agent, chosen)
        return chosen

    def name_of(self, agent: Agent) -> str:
        """The name of an agent's sandbox, whether it works or not."""
        return _ALIASES.get(agent.sandbox or "", agent.sandbox) or self.default.name

    async def problem_of(self, agent: Agent) -> str | None:
        """Why an agent has no sandbox to run in."""
        try:
            await self._find(agent)
        except SandboxUnavailable as error:
            return str(error)
        return None

    async def _find(self, agent: Agent) -> Chosen:
        default, wanted = self.default, self.name_of(agent)
        if wanted == default.name:
            return default
        chosen = await self._other(wanted)
        if default.sandbox.isolates and not chosen.sandbox.isolates:
            raise SandboxUnavailable(
                f"agent {agent.id!r} asks for the sandbox {wanted!r}, which isolates less than"
                f" {default.name!r}, the least that this server allows"
            )
        return chosen

    async def _other(self, name: str) -> Chosen:
        if name not in self._others:
            self._others[name] = await asyncio.to_thread(tried, name)
        found = self._others[name]
        if isinstance(found, str):
            raise SandboxUnavailable(found)
        return found

    def _note(self, agent: Agent, chosen: Chosen) -> None:
        """Log once what an agent's network is, where it is more than it needs."""
        if agent.id in self._noted:
            return
        self._noted.add(agent.id)
        mode = agent.network.mode
        if mode == "host" and chosen.sandbox.own_network:
            log.warning("agent %s: its network is that of this machine (host)", agent.id)
        elif mode == "full" and agent.given_network is None:
            log.info(
                "agent %s: may connect to all public hosts; set `network` in its agent.yaml",
                agent.id,
            )


def installing_sandbox(chosen: Chosen) -> Sandbox | None:
    """The sandbox in which packages are installed, if it can."""
    return chosen.sandbox if chosen.name == BUBBLEWRAP else None


def names() -> list[str]:
    """The registered sandboxes, without aliases."""
    return [name for name in known() if name not in _ALIASES]


def choose(name: str) -> Chosen:
    """The sandbox of a setting, tried out; raises `InvalidSetting`."""
    name = _ALIASES.get(name, name)
    if name == AUTO:
        found = tried(BUBBLEWRAP)
        if isinstance(found, Chosen):
            return found
        process = get_sandbox(PROCESS)
        return Chosen(PROCESS, process, process.probe(), found)
    if name not in known():
        there_are = ", ".join([AUTO, *names()])
        raise InvalidSetting("sandbox", name, f"unknown sandbox; known: {there_are}")
    found = tried(name)
    if isinstance(found, str):
        raise InvalidSetting("sandbox", name, found)
    return found


def tried(name: str) -> Chosen | str:
    """The sandbox, or why it does not work."""
    try:
        sandbox = get_sandbox(name)
        probe = sandbox.probe()
    except MoboxError as error:  # a plugin that cannot be loaded
        return str(error)
    except Exception as error:  # noqa: BLE001 - a plugin's probe may raise anything
        return f"the sandbox {name!r} cannot be tried: {error!r}"
    return Chosen(name, sandbox, probe) if probe.problem is None else probe.problem
