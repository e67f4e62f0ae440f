"""The agents there are: found in folders (`agents/*/agent.yaml`) or registered in Python.

Rule 1: an agent's id is the name of its folder.
Rule 2: an invalid file disables only its own agent; the error names the line and the field.
Rule 3: an unknown field is an error, as it is usually a typo.
Rule 4: a function (`@mobox.agent("weather", framework="openai")`) that takes an argument gets the
        `Turn`. It yields or returns the SDK's objects as they are, lines of `mobox.emit`, or text;
        capture/callable.py explains how each is read. Errors in its declaration are raised when it
        is registered, not when it is run.

docs/agents.md lists the fields.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct, field

from mobox.capture.yaml_file import YamlFile
from mobox.errors import AgentTaken, InvalidAgent, UnknownAgent
from mobox.events import JSON
from mobox.parsers import frameworks
from mobox.sandbox import Network, known
from mobox.sandbox.hosts import parse_hosts

FILE: Final = "agent.yaml"
ID: Final = re.compile(r"[a-z][a-z0-9-]{0,62}")
NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
SECRET: Final = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL|AUTH", re.IGNORECASE)
"""Names of variables with keys and the like."""
PYTHON: Final = (".venv/bin/python", ".venv/Scripts/python.exe")
UNITS: Final = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
SIZE: Final = re.compile(r"(\d+) ?([KMG]?)i?B?", re.IGNORECASE)

Seconds = Annotated[float, Meta(gt=0)]
Count = Annotated[int, Meta(gt=0)]
Spares = Annotated[int, Meta(ge=0, le=4)]
Icon = Annotated[str, Meta(max_length=16)]
"""An emoji may be a sequence of many code points, such as a flag or a family."""
Starters = Annotated[list[Annotated[str, Meta(min_length=1, max_length=500)]], Meta(max_length=8)]


class Timeouts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Timeouts of one attempt, in seconds."""

    idle: Seconds = 300
    """Without output."""
    total: Seconds = 3600


class Limits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Resources of one attempt; sizes in bytes or with a unit (`512M`). Default: the sandbox's."""

    memory: Count | None = None
    """Of all its processes."""
    open_files: Count | None = None
    processes: Count | None = None
    """And threads, of all its processes."""
    cpu: Annotated[int, Meta(ge=1, le=10_000)] | None = None
    """Its weight: 100 is that of a normal process."""
    disk: Count | None = None
    """Of the state folder and /tmp."""
    file_size: Count | None = None
    output: Count = 256 << 20
    """Bytes written to stdout."""
    tokens: Count | None = None
    """Tokens of models that the run may use, in all attempts; as are the next two."""
    cost_usd: Annotated[float, Meta(gt=0)] | None = None
    calls: Count | None = None
    """Calls of models."""


_SIZES: Final = ("memory", "disk", "file_size", "output")
MODELS: Final = ("anthropic", "gemini", "openai", "tavily")
"""The providers that need no settings; a server's settings may add others."""


class Agent(Struct, frozen=True, kw_only=True):
    """An agent; one of a folder is started as a process."""

    id: str
    name: str
    folder: Path = Path()
    argv: tuple[str, ...] = ()
    is_script: bool = False
    """Whether `argv` is the server's Python and a script: the Python of the agent's environment
    takes its place (mobox/environments)."""
    description: str = ""
    icon: str = ""
    """An emoji, shown beside its name."""
    starters: tuple[str, ...] = ()
    """Messages that a person may begin a chat with."""
    framework: str = "emitted"
    env: Mapping[str, str | None] = field(default_factory=dict)
    """Values by name; `None` passes on the server's own value."""
    optional_env: frozenset[str] = frozenset()
    """Those of `env` that the agent works without."""
    timeouts: Timeouts = Timeouts()
    limits: Limits = Limits()
    warm: int = 0
    """Processes that are kept started for its next turns."""
    models: tuple[str, ...] = ()
    """The providers that it reaches through the server's gateway, without a key of its own."""
    cassette: Path | None = None
    """The recorded responses that it gets instead of a model's."""
    sandbox: str | None = None
    """The sandbox that it asks for; by default the server's."""
    image: str | None = None
    """The image of a sandbox that uses containers."""
    given_network: Network | None = None

    @property
    def network(self) -> Network:
        """What it may connect to.

        By default only the models that it names, if it gets no key of the server: a key is there
        to be sent somewhere.
        """
        if self.given_network is not None:
            return self.given_network
        has_key = any(value is None and SECRET.search(name) for name, value in self.env.items())
        return Network("model" if self.models and not has_key else "full")

    def lacks(self, ours: Mapping[str, str] = os.environ) -> str | None:
        """A sentence naming the variables to pass on that the server does not have."""
        needed = {name for name, value in self.env.items() if value is None} - self.optional_env
        names = [name for name in self.env if name in needed and name not in ours]
        if not names:
            return None
        listed = ", ".join(names)
        return f"agent {self.id!r} names {listed} in env, but the server has no value for it"


class _SandboxField(Struct, kw_only=True, forbid_unknown_fields=True):
    """A sandbox with its options."""

    name: str
    image: str | None = None


class _File(Struct, kw_only=True, forbid_unknown_fields=True):
    """The fields of an agent.yaml."""

    name: str | None = None
    description: str = ""
    icon: Icon = ""
    starters: Starters = field(default_factory=list)
    framework: str = "emitted"
    entry: str | list[str] = "run_agent.py"
    env: list[str] | dict[str, str | int | float | bool | None] = field(default_factory=list)
    optional_env: list[str] = field(default_factory=list)
    timeouts: Timeouts = Timeouts()
    limits: Limits = Limits()
    warm: Spares = 0
    models: list[str] = field(default_factory=list)
    model: Literal["recorded"] | None = None
    cassette: str | None = None
    sandbox: str | _SandboxField | None = None
    network: Literal["none", "model", "full", "host"] | list[str] | None = None


class Catalog:
    """Agents by their id."""

    def __init__(self, agents: Iterable[Agent] = (), models: Collection[str] = MODELS) -> None:
        self._agents: dict[str, Agent] = {}
        self._models = models
        self.problems: list[InvalidAgent] = []
        """The errors of agents that could not be loaded."""
        for agent in agents:
            self.add(agent)

    @classmethod
    def load(cls, folder: Path, models: Collection[str] = MODELS) -> Catalog:
        """The agents in the folders of `folder`, which may name these `models`."""
        catalog = cls(models=models)
        catalog.add_folder(folder)
        return catalog

    def add_folder(self, folder: Path) -> None:
        """Register the agents in the folders of `folder`; raises as `add` does."""
        for file in sorted(folder.glob(f"*/{FILE}")):
            try:
                agent = load_agent(file.parent, self._models)
            except InvalidAgent as problem:
                self.problems.append(problem)
            else:
                self.add(agent)

    def add(self, agent: Agent) -> None:
        """Register an agent; raises `AgentTaken`, and `InvalidAgent` if it is a function."""
        if agent.id in self._agents:
            raise AgentTaken(agent.id)
        unknown = [name for name in agent.models if name not in self._models]
        if unknown and isinstance(agent, FunctionAgent):
            there_are = ", ".join(sorted(self._models))
            problem = f"unknown model {unknown[0]!r}; known: {there_are}"
            raise _wrong(agent.function, "models", problem)
        self._agents[agent.id] = agent

    def get(self, name: str) -> Agent:
        """The agent of that id; raises `UnknownAgent`, which lists the known ids."""
        if name not in self._agents:
            raise UnknownAgent(name, self._agents)
        return self._agents[name]

    def __iter__(self) -> Iterator[Agent]:
        return iter(sorted(self._agents.values(), key=lambda agent: agent.id))

    def __len__(self) -> int:
        return len(self._agents)


class WatchedCatalog(Catalog):
    """The agents of a folder, loaded again when its files change: for developing agents.

    An agent's own code needs no watching, as each run starts a process; a spare process is ended
    when the code has changed (supervisor/spares.py).
    """

    def __init__(
        self,
        folder: Path,
        on_change: Callable[[Catalog], None],
        models: Collection[str] = MODELS,
    ) -> None:
        super().__init__(models=models)
        self._folder = folder
        self._on_change = on_change
        self._seen: Stamps = ()
        self.refresh()

    def refresh(self) -> None:
        """Load the agents again if a folder or an agent.yaml has changed."""
        seen = _stamps(self._folder)
        if seen != self._seen:
            self._seen = seen
            fresh = Catalog.load(self._folder, self._models)
            self._agents, self.problems = fresh._agents, fresh.problems
            self._on_change(fresh)

    def get(self, name: str) -> Agent:
        self.refresh()
        return super().get(name)

    def __iter__(self) -> Iterator[Agent]:
        self.refresh()
        return super().__iter__()


Stamps = tuple[tuple[str, int, int], ...]
"""Paths, with the time and the size of each."""


def _stamps(folder: Path) -> Stamps:
    """The agent.yaml files, and their folders: an entry may be added to one."""
    found = []
    for file in sorted(folder.glob(f"*/{FILE}")):
        for path in (file, file.parent):
            with suppress(OSError):  # deleted meanwhile
                about = path.stat()
                found.append((str(path), about.st_mtime_ns, about.st_size))
    return tuple(found)


def load_agent(folder: Path, models: Collection[str] = MODELS) -> Agent:
    """The agent of one folder; raises `InvalidAgent`."""
    page = YamlFile(folder / FILE, _File, InvalidAgent)
    if not ID.fullmatch(folder.name):
        raise page.wrong(
            "",
            f"the folder's name is the agent's id and cannot be {folder.name!r}"
            f" (expected {ID.pattern})",
        )
    config = page.read(_prepared)
    if config.framework not in frameworks():
        known = ", ".join(frameworks())
        raise page.wrong("framework", f"unknown framework {config.framework!r}; known: {known}")
    return Agent(
        id=folder.name,
        name=config.name or folder.name,
        folder=folder.absolute(),
        argv=(argv := _argv(page, config.entry)),
        is_script=isinstance(config.entry, str) and argv[0] == sys.executable,
        description=config.description.strip(),
        icon=config.icon.strip(),
        starters=tuple(config.starters),
        framework=config.framework,
        env=_env(page, config.optional_env) | _env(page, config.env),
        optional_env=frozenset(config.optional_env),
        timeouts=config.timeouts,
        limits=config.limits,
        warm=config.warm,
        models=_models(page, config.models, models),
        cassette=_cassette(page, config),
        sandbox=(sandbox := _sandbox(page, config.sandbox)).name or None,
        image=sandbox.image,
        given_network=_network(page, config.network),
    )


def _sandbox(page: YamlFile[_File], given: str | _SandboxField | None) -> _SandboxField:
    field = given if isinstance(given, _SandboxField) else _SandboxField(name=given or "")
    if field.name and field.name not in known():
        there_are = ", ".join(known())
        raise page.wrong("sandbox", f"unknown sandbox {field.name!r}; known: {there_are}")
    return field


def _network(page: YamlFile[_File], given: str | list[str] | None) -> Network | None:
    if not isinstance(given, list):
        return None if given is None else msgspec.convert({"mode": given}, Network)
    try:
        parse_hosts(given)
    except ValueError as problem:
        raise page.wrong("network", str(problem)) from None
    return Network("hosts", tuple(given))


def _models(page: YamlFile[_File], named: list[str], known: Collection[str]) -> tuple[str, ...]:
    for place, name in enumerate(named):
        if name not in known:
            there_are = ", ".join(sorted(known))
            raise page.wrong(f"models[{place}]", f"unknown model {name!r}; known: {there_are}")
    return tuple(dict.fromkeys(named))


def _cassette(page: YamlFile[_File], config: _File) -> Path | None:
    """The file of `model: recorded`; each of the two needs the other."""
    if (config.model is None) != (config.cassette is None):
        present = "model" if config.cassette is None else "cassette"
        raise page.wrong(present, "`model: recorded` and `cassette: FILE` belong together")
    if config.cassette is None:
        return None
    if not config.models:
        raise page.wrong("model", "name the recorded providers, such as `models: [anthropic]`")
    folder = page.file.parent.absolute()
    if not (folder / config.cassette).is_file():
        raise page.wrong("cassette", f"there is no file {config.cassette!r} in {folder}")
    return folder / config.cassette


def _argv(page: YamlFile[_File], entry: str | list[str]) -> tuple[str, ...]:
    """A script of the folder, run by the folder's own Python if it has one; or any command."""
    if isinstance(entry, list):
        if not entry:
            raise page.wrong("entry", "expected a script or a command, got an empty list")
        return tuple(entry)
    folder = page.file.parent.absolute()
    script = folder / entry
    if not script.is_file():
        raise page.wrong("entry", f"there is no file {entry!r} in {folder}")
    if script.suffix != ".py":
        return (str(script),)
    own = (folder / python for python in PYTHON if (folder / python).exists())
    return (str(next(own, sys.executable)), str(script))


def _env(
    page: YamlFile[_File], variables: list[str] | dict[str, str | int | float | bool | None]
) -> dict[str, str | None]:
    """A list names variables of the server to pass on; an object may give values too."""
    pairs = dict.fromkeys(variables) if isinstance(variables, list) else variables
    for name in pairs:
        if not NAME.fullmatch(name):
            raise page.wrong("env", f"{name!r} is not a valid variable name")
    return {name: _as_text(value) for name, value in pairs.items()}


def _as_text(value: str | int | float | bool | None) -> str | None:
    if isinstance(value, bool):
        return str(value).lower()
    return None if value is None else str(value)


def _prepared(value: dict[str, JSON]) -> JSON:
    whole = _without_surrogates(value)
    return _with_sizes(whole) if isinstance(whole, dict) else whole


def _without_surrogates(value: JSON) -> JSON:
    """JSON escapes an emoji as a pair of surrogates, which PyYAML does not join."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_without_surrogates(each) for each in value]
    if isinstance(value, dict):
        return {name: _without_surrogates(each) for name, each in value.items()}
    return value


def _with_sizes(value: dict[str, JSON]) -> JSON:
    limits = value.get("limits")
    if not isinstance(limits, dict):
        return value
    read = {k: _bytes(v) if k in _SIZES else v for k, v in limits.items()}
    return {**value, "limits": read}


def _bytes(value: JSON) -> JSON:
    size = SIZE.fullmatch(value) if isinstance(value, str) else None
    return value if size is None else int(size[1]) * UNITS[size[2].upper()]


# Agents that are functions of this program

Function = Callable[..., object]


class FunctionAgent(Agent, frozen=True, kw_only=True):
    """An agent that is a function; it can still be called like one."""

    function: Function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function's own result."""
        return self.function(*args, **kwargs)


def agent(  # noqa: PLR0913
    agent_id: str,
    *,
    framework: str = "emitted",
    name: str = "",
    description: str = "",
    icon: str = "",
    starters: Sequence[str] = (),
    idle: float = 300,
    total: float = 3600,
    models: Sequence[str] = (),
    limits: Mapping[str, float] = MappingProxyType({}),
) -> Callable[[Function], FunctionAgent]:
    """Make an agent of a function; raises `InvalidAgent`.

    `idle` is the timeout without output, `total` that of the whole attempt, both in seconds and
    without the time in which it waits for a person. `icon` is an emoji and `starters` are messages
    to begin a chat with, for pages that list agents. `models` are the providers that it reaches
    by `mobox.models.client`, and `limits` their tokens, cost_usd and calls in a run.
    """

    def made(function: Function) -> FunctionAgent:
        _check(function, agent_id, framework)
        try:
            timeouts = msgspec.convert({"idle": idle, "total": total}, Timeouts)
        except msgspec.ValidationError as error:
            raise _wrong(function, "timeouts", str(error)) from None
        try:
            allowed = msgspec.convert(dict(limits), Limits)
        except msgspec.ValidationError as error:
            raise _wrong(function, "limits", str(error)) from None
        summary = description or (inspect.getdoc(function) or "").partition("\n")[0]
        return FunctionAgent(
            id=agent_id,
            name=name or agent_id,
            description=summary,
            icon=icon,
            starters=tuple(starters),
            framework=framework,
            timeouts=timeouts,
            limits=allowed,
            models=tuple(dict.fromkeys(models)),
            function=function,
        )

    return made


def takes_turn(function: Function) -> bool:
    """Whether it takes the turn as an argument."""
    return bool(inspect.signature(function).parameters)


def _check(function: Function, agent_id: str, framework: str) -> None:
    if not ID.fullmatch(agent_id):
        raise _wrong(function, "id", f"cannot be {agent_id!r} (expected {ID.pattern})")
    if framework not in frameworks():
        known = ", ".join(frameworks())
        raise _wrong(function, "framework", f"unknown framework {framework!r}; known: {known}")
    signature = inspect.signature(function)
    try:
        signature.bind(*[None] * takes_turn(function))
    except TypeError:
        raise _wrong(
            function, "", f"expected one argument, the turn, or none: {signature}"
        ) from None


def _wrong(function: Function, field: str, problem: str) -> InvalidAgent:
    code = getattr(inspect.unwrap(function), "__code__", None)
    file, line = (code.co_filename, code.co_firstlineno) if code else (repr(function), 1)
    return InvalidAgent(Path(file), line, field, problem)
