"""Every setting, its default and its limit.

Rule 1: a setting is a field of `Settings`. Its flag, its environment variable, the help of the
        commands, the table in docs/server.md and the check of an option of `mount` come from it.
Rule 2: the flag takes precedence over the variable, and the variable over the default.
Rule 3: servers, supervisors and stores take the same struct, so a value has one name everywhere.
Rule 4: nothing of the server is imported: every command reads settings, also where Starlette is
        missing.
"""

from __future__ import annotations

import ipaddress
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeAlias
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from mobox.errors import InvalidSetting
from mobox.setting_parsers import ANY as ANY
from mobox.setting_parsers import FEATURES as FEATURES
from mobox.setting_parsers import auth as _auth
from mobox.setting_parsers import colour as _colour
from mobox.setting_parsers import connections as _connections
from mobox.setting_parsers import count as _count
from mobox.setting_parsers import features as _features
from mobox.setting_parsers import files as _files
from mobox.setting_parsers import flag as _flag
from mobox.setting_parsers import folder as _folder
from mobox.setting_parsers import headers as _headers
from mobox.setting_parsers import line_of as _line_of
from mobox.setting_parsers import named_headers as _named_headers
from mobox.setting_parsers import names as _names
from mobox.setting_parsers import one_of as _one_of
from mobox.setting_parsers import port as _port
from mobox.setting_parsers import redis as _redis
from mobox.setting_parsers import seconds as _seconds
from mobox.setting_parsers import seconds_or_none as _seconds_or_none
from mobox.setting_parsers import starters as _starters
from mobox.setting_parsers import whole_number as _whole_number

OWNER: Final = "local"
"""The owner of all chats on a server without authentication."""
MEMORY: Final = "memory:"
"""The database of a server that keeps nothing."""
RUNS_PER_OWNER: Final = 20
"""The default of `max_runs_per_owner` where owners are known."""
LOOPBACK_NAMES: Final = ("localhost", "127.0.0.1", "::1")
TEST_CLIENT: Final = "testserver"
"""The host name that Starlette's `TestClient` sends; no public site can have it."""
MODELS: Final = "models"
"""The folder of cassettes and of the usage of models, in the data folder."""
BUNDLED_AGENTS: Final = Path(__file__).parent / "agents"
REPOSITORY_AGENTS: Final = Path(__file__).parents[2] / "agents"
"""The bundled agents in a clone, where they are not part of a wheel."""

_NEEDS_KEYS: Final = (
    "without authentication a server listens on loopback only (127.0.0.1, ::1, localhost);"
    " use --auth keys to listen on other addresses"
)
_NEEDS_PRINCIPAL: Final = (
    "only an app with its own authentication may allow any host, create_app(…, principal=…); with"
    " --auth keys list no hosts instead"
)

_NAME_HEADERS: Final = "with --allow-credentials list the headers by name"


def now_ms() -> int:
    """The wall clock time, in milliseconds."""
    return time.time_ns() // 1_000_000


# Host names and web origins.

Origin: TypeAlias = tuple[str, str, int]

HOST: Final = r"\[[0-9a-f:.]+\]|[a-z0-9._-]+"
"""A name or an address, in lower case, without a port."""

_LISTED: Final = re.compile(rf"{HOST}|[0-9a-f:.]+")
_PORTS: Final = {"http": 80, "https": 443}


def parse_origin(text: str) -> Origin | None:
    """Scheme, host and port; None for "null" and for anything that is not an origin."""
    try:
        parts = urlsplit(text.lower())
        port = parts.port or _PORTS[parts.scheme]
    except (ValueError, KeyError):
        return None
    is_bare = parts.hostname and not (parts.path or parts.query or parts.fragment or parts.username)
    return (parts.scheme, parts.hostname or "", port) if is_bare else None


def listed_origin(text: str) -> Origin:
    """Parse an origin of a setting; raises `ValueError`."""
    if origin := parse_origin(text.rstrip("/")):
        return origin
    raise ValueError(f"{text!r} is not an origin; expected one such as https://chat.example")


def written_origin(origin: Origin) -> str:
    """An origin exactly as browsers write it."""
    scheme, host, port = origin
    address = f"[{host}]" if ":" in host else host
    return f"{scheme}://{address}" + (f":{port}" if port != _PORTS[scheme] else "")


def listed_host(text: str) -> str:
    """A host of a setting, normalized for comparison; raises `ValueError`."""
    host = text.lower()
    if _LISTED.fullmatch(host) and host.count(":") != 1:
        return host.strip("[]")
    raise ValueError(f"{text!r} is not a host; expected a name without a port: chat.example")


def is_loopback(host: str) -> bool:
    """Whether the address is reachable from this machine only."""
    with suppress(ValueError):
        return host in LOOPBACK_NAMES or ipaddress.ip_address(host).is_loopback
    return False


# The text of a setting. Each function raises `ValueError` with what it expects.


def _hosts(text: str) -> tuple[str, ...]:
    return tuple(map(listed_host, _names(text)))


def _origins(text: str) -> tuple[str, ...]:
    names = _names(text)
    for name in names:
        listed_origin(name)
    return names


class Setting(NamedTuple):
    """How a field of `Settings` can be set from outside of the program."""

    help: str
    parse: Callable[[str], Any] = str
    env: str = ""
    """The environment variable; by default `MOBOX_` and the name of the field."""
    is_address: bool = False
    """Whether it is a URL that may contain a password, which is masked in output."""
    field: str = ""
    default: str = ""
    """The default as text; "" where there is none, or it depends on other settings."""

    @property
    def flag(self) -> str:
        """Its name on the command line."""
        return "--" + self.field.replace("_", "-")


class Settings(Struct, frozen=True, kw_only=True):
    """The settings of a server, its supervisor and its store."""

    host: Annotated[
        str, Setting("address to listen on; non-loopback requires --auth keys", env="HOST")
    ] = "127.0.0.1"
    port: Annotated[int, Setting("port to listen on, 0 for any", _port, env="PORT")] = 8000
    auth: Annotated[str, Setting("authentication: none (local only) or keys (API keys)", _auth)] = (
        "none"
    )
    data: Annotated[Path, Setting("folder for the database and agent state", _folder)] = Path(
        ".mobox"
    )
    database_url: Annotated[
        str,
        Setting(
            "sqlite:///PATH, postgresql://… or memory: (default: mobox.db in the data folder)",
            env="DATABASE_URL",
            is_address=True,
        ),
    ] = ""
    database_connections: Annotated[
        int,
        Setting(
            "connections of one process to PostgreSQL, at least 3: one writes, one notifies"
            " (none with Redis), the others read and are closed when idle",
            _connections,
        ),
    ] = 6
    redis_url: Annotated[
        str,
        Setting(
            "Redis or Valkey for notifications between processes, redis://HOST:PORT",
            _redis,
            env="REDIS_URL",
            is_address=True,
        ),
    ] = ""
    redis_prefix: Annotated[str, Setting("prefix of the Redis channel name")] = "mobox"
    agents: Annotated[
        Path | None, Setting("folder of agents (default: ./agents, else the bundled)", _folder)
    ] = None
    environments: Annotated[
        Path | None,
        Setting("folder of agents' packages (default: environments in the data folder)", _folder),
    ] = None
    sandbox: Annotated[
        str,
        Setting(
            "how agents run: auto, process, bubblewrap, docker, or a plugin's name; an agent may"
            " ask for more isolation, never for less",
            env="SANDBOX_BACKEND",
        ),
    ] = "auto"
    agent: Annotated[
        str | None,
        Setting(
            "default agent of chats (default: the first one whose model has a key, else the demo)"
        ),
    ] = None
    allowed_hosts: Annotated[
        tuple[str, ...], Setting("further host names of this server, a,b", _hosts)
    ] = ()
    allowed_origins: Annotated[
        tuple[str, ...],
        Setting("origins allowed to send cross-origin requests (CORS), a,b", _origins),
    ] = ()
    allowed_headers: Annotated[
        tuple[str, ...],
        Setting("further request headers that those origins may send, a,b or *", _headers),
    ] = ()
    allow_credentials: Annotated[
        bool, Setting("true: those origins may send cookies (CORS credentials)", _flag)
    ] = False
    forwarded_headers: Annotated[
        tuple[str, ...],
        Setting("request headers that agents get in turn.frontend, a,b", _named_headers),
    ] = ()
    static_tools: Annotated[
        str,
        Setting(
            "AI SDK: tools with static parts (`tool-x`): page (those the page runs), all or none",
            _one_of("page", "all", "none"),
        ),
    ] = "page"
    max_body: Annotated[int, Setting("maximum size of a request body in bytes", _count)] = 8 << 20
    request_timeout: Annotated[
        float,
        Setting("seconds for the headers of a request, and between the parts of a body", _seconds),
    ] = 30
    max_chat_body: Annotated[
        int, Setting("maximum size of a chat request with the files in it, in bytes", _count)
    ] = 128 << 20
    files: Annotated[
        str, Setting("where the bytes of files are stored (default: beside the database)")
    ] = ""
    max_file: Annotated[int, Setting("maximum size of one file in bytes", _count)] = 32 << 20
    max_files_per_owner: Annotated[
        int, Setting("maximum size of all files of one owner in bytes", _count)
    ] = 1 << 30
    max_runs: Annotated[int, Setting("maximum number of concurrent runs", _count)] = 200
    max_runs_per_owner: Annotated[
        int | None,
        Setting(f"concurrent runs of one owner (default with keys: {RUNS_PER_OWNER})", _count),
    ] = None
    max_runs_per_minute: Annotated[
        int,
        Setting(
            "rate limit: runs that one owner may start per minute, with authentication", _count
        ),
    ] = 60
    max_streams: Annotated[
        int, Setting("open streams and sockets of one owner, with authentication", _count)
    ] = 20
    when_running: Annotated[
        Literal["auto", "interrupt", "reject"],
        Setting(
            "a message during a run: interrupt the run, reject the message, or auto (interrupt a"
            " run that its clients have left)",
            _one_of("auto", "interrupt", "reject"),
        ),
    ] = "auto"
    error_details: Annotated[
        Literal["full", "brief"] | None,
        Setting(
            "what readers see of errors: full, or brief (a sentence) (default with keys or in an"
            " app: brief, else full)",
            _one_of("full", "brief"),
        ),
    ] = None
    max_spares: Annotated[
        int,
        Setting(
            "processes kept started for agents with `warm` in agent.yaml; 0: none", _whole_number
        ),
    ] = 8
    hold: Annotated[
        float, Setting("seconds that a waiting agent's process is kept alive", _seconds)
    ] = 600
    lease: Annotated[
        float, Setting("seconds until the lease of a dead server's runs expires", _seconds)
    ] = 15
    workers: Annotated[int, Setting("server processes that share the port", _count)] = 1
    execute: Annotated[
        str,
        Setting("where agents run: here, or workers (`mobox worker`)", _one_of("here", "workers")),
    ] = "here"
    queue: Annotated[float, Setting("seconds that a run waits for a worker", _seconds)] = 60
    drain: Annotated[
        float, Setting("seconds in which running agents may finish after SIGTERM", _seconds_or_none)
    ] = 30
    health_port: Annotated[
        int | None, Setting("port of a worker's health and metrics endpoint", _port)
    ] = None
    health_host: Annotated[
        str, Setting("address of a worker's health endpoint, which has no authentication")
    ] = "127.0.0.1"
    models: Annotated[
        Path | None,
        Setting("file of upstreams, budgets and prices of models (default: models.yaml)", _folder),
    ] = None
    record_models: Annotated[
        bool, Setting("true: store the requests to models and their responses", _flag)
    ] = False
    brand_name: Annotated[str, Setting("name of the page (default: Mobox)", _line_of(60))] = ""
    brand_logo: Annotated[
        Path | None, Setting("logo of the page: an SVG, PNG, JPEG or WebP file", _folder)
    ] = None
    brand_accent: Annotated[
        str, Setting("accent colour of the page, #rrggbb; made readable where it is not", _colour)
    ] = ""
    brand_welcome: Annotated[str, Setting("heading of an empty chat", _line_of(200))] = ""
    brand_starters: Annotated[
        tuple[str, ...],
        Setting("messages to begin with, for agents that have none of their own, a|b", _starters),
    ] = ()
    hidden: Annotated[
        tuple[str, ...],
        Setting(f"what the page does not show, a,b: {', '.join(FEATURES)}", _features),
    ] = ()
    page_modules: Annotated[
        tuple[Path, ...],
        Setting("JavaScript modules that the page loads: views of your tools, a.js,b.js", _files),
    ] = ()
    embed_origins: Annotated[
        tuple[str, ...],
        Setting("origins of pages that may embed the chat in a frame, a,b", _origins),
    ] = ()
    log_level: Annotated[
        str,
        Setting("debug, info, warning or error", _one_of("debug", "info", "warning", "error")),
    ] = "info"

    # Those of a supervisor that only a program sets; times in seconds.

    notice: float = 1
    """How long an agent may take to start before a status reports it."""
    quiet: float = 1
    """After how long without output an agent with an open request counts as waiting."""
    sweep: float = 4
    """How often to look for runs with expired leases. They end within 5 s of the lease's expiry:
    this leaves time to write the end."""
    sweep_files: float = 300
    """How often to look for files that no chat names any more."""
    unfinished: float = 60
    """After how long another process finishes what a request has left undone."""
    look: float = 1
    """How often to poll for runs that other processes want executed or stopped, where there are no
    notifications."""
    grace: float = 1
    """How long a message waits for the disconnect of a client that has left the running run."""
    spare_seconds: float = 900
    """How long a spare process is kept that no run uses."""
    exit_seconds: float = 5
    """How long an agent's process may take to exit after it has said that it is done."""
    exit_grace: float = 8
    """How long agents have to exit when the server ends them."""
    claims: bool = True
    """Whether it executes the runs that other processes queue."""
    installs: bool = False
    """Whether a run may install what its agent lacks: only where an operator starts the runs."""

    beside: Path | None = None
    """The folder in which `.env` and `models.yaml` are looked for; the commands set it. A program
    around Mobox has its own."""

    # Those of a store that only a program sets.

    poll_seconds: float = 1.0
    """How often readers poll for other processes' writes, where there are no notifications."""
    raw_bytes: int = 4 << 20
    """How much of a run's raw lines is stored."""
    synchronous: Literal["NORMAL", "FULL"] = "NORMAL"
    """NORMAL is safe when the process dies, FULL also when the machine does."""
    busy_seconds: float = 10.0
    """How long to wait for another process's write lock."""
    opening_seconds: float = 30.0
    """How long to wait for an unreachable database server when a store is opened."""
    readers: int = 4
    """How many threads read a SQLite file."""
    idle_seconds: float = 5.0
    """How long a connection to PostgreSQL is kept that nothing reads with."""
    search_seconds: float = 10.0
    """How long a search may take."""
    clock: Callable[[], int] = now_ms

    def __post_init__(self) -> None:
        if self.auth == "none" and not is_loopback(self.host):
            raise InvalidSetting("host", self.host, _NEEDS_KEYS)
        if self.allow_credentials and ANY in self.allowed_headers:
            raise InvalidSetting("allowed_headers", ANY, _NAME_HEADERS)

    def check_shared(self, field: str) -> None:
        """Refuse an in-memory database where several processes have to share one."""
        if self.database == MEMORY:
            problem = "several processes cannot share memory:; use a database with --database-url"
            raise InvalidSetting(field, str(getattr(self, field)), problem)

    @property
    def database(self) -> str:
        """The database URL; by default SQLite in the data folder."""
        return self.database_url or f"sqlite:///{self.data / 'mobox.db'}"

    @property
    def agents_folder(self) -> Path:
        """The folder of agents: the setting, else `./agents`, else the bundled agents."""
        places = (Path("agents"), BUNDLED_AGENTS, REPOSITORY_AGENTS)
        return self.agents or next(filter(Path.is_dir, places), BUNDLED_AGENTS)

    @property
    def environments_folder(self) -> Path:
        """The folder of the agents' environments: by default in the data folder."""
        return self.environments or self.data / "environments"

    @property
    def is_local(self) -> bool:
        """Whether only people at this machine use the server, who may see and change its files."""
        return self.auth == "none"

    @property
    def shows_error_details(self) -> bool:
        """Whether readers see the words of errors, and not only the sentence of the code."""
        return self.is_local if self.error_details is None else self.error_details == "full"

    @property
    def executes(self) -> bool:
        """Whether this process executes agents; else it queues runs for workers."""
        return self.execute == "here"

    @property
    def runs_per_owner(self) -> int:
        """The limit of concurrent runs of one owner; without authentication it is `max_runs`."""
        usual = RUNS_PER_OWNER if self.auth == "keys" else self.max_runs
        return min(self.max_runs, self.max_runs_per_owner or usual)

    @property
    def hosts(self) -> tuple[str, ...]:
        """The host names that the server accepts in `Host`."""
        return (*LOOPBACK_NAMES, self.host, *self.allowed_hosts)

    def hosts_of(self, *, is_hooked: bool) -> tuple[str, ...] | None:
        """The accepted host names; `None` accepts any, as with keys and no listed hosts.

        An app's hook may trust headers or cookies, so DNS rebinding matters there: any host is
        accepted only if `"*"` is listed.
        """
        if is_hooked and not self.allowed_hosts:
            return (*self.hosts, TEST_CLIENT)
        if is_hooked:
            return None if ANY in self.allowed_hosts else self.hosts
        if ANY in self.allowed_hosts:
            raise InvalidSetting("allowed_hosts", ANY, _NEEDS_PRINCIPAL)
        return None if self.auth == "keys" and not self.allowed_hosts else self.hosts

    @property
    def origins(self) -> tuple[str, ...]:
        """The allowed cross-origin pages, as browsers write them in `Origin`."""
        return tuple(written_origin(listed_origin(text)) for text in self.allowed_origins)

    @property
    def frame_origins(self) -> tuple[str, ...]:
        """The origins of pages that may embed the chat, as browsers write them."""
        return tuple(written_origin(listed_origin(text)) for text in self.embed_origins)

    def lease_until(self) -> int:
        """When a lease given now expires."""
        return self.clock() + round(self.lease * 1000)

    def queued_until(self) -> int:
        """When a run queued now can no longer be claimed."""
        return self.clock() + round(self.queue * 1000)


def _declared() -> Iterator[Setting]:
    for field in msgspec.structs.fields(Settings):
        for setting in getattr(field.type, "__metadata__", ()):
            yield setting._replace(
                field=field.name,
                env=setting.env or f"MOBOX_{field.name.upper()}",
                default=setting_text(field.default),
            )


def setting_text(value: object) -> str:
    """The value as the text of a setting; "" for `None`."""
    if isinstance(value, tuple | list):
        return ",".join(map(str, value))
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


SETTINGS: Final = {setting.field: setting for setting in _declared()}
"""The settings that have a flag and a variable, by field."""


Environment: TypeAlias = Mapping[str, str]
Flags: TypeAlias = Mapping[str, str | None]


def _given(environment: Environment, flags: Flags) -> dict[str, tuple[str, str]]:
    """By field: the name of the flag, else of the variable, and its text; "" counts as not set."""
    found = {}
    for field, setting in SETTINGS.items():
        if flag := flags.get(field):
            found[field] = (setting.flag, flag)
        elif variable := environment.get(setting.env):
            found[field] = (setting.env, variable)
    return found


def read_settings(environment: Environment, flags: Flags) -> Settings:
    """Read all settings; an invalid value raises `InvalidSetting` with its flag or variable."""
    given = _given(environment, flags)
    values = {field: parse_setting(field, text, name) for field, (name, text) in given.items()}
    try:
        return Settings(**values)
    except InvalidSetting as error:  # names the field; name the flag or variable instead
        name = given[error.name][0] if error.name in given else error.name
        raise InvalidSetting(name, error.value, error.problem) from None


def parse_setting(field: str, text: str, name: str = "") -> Any:
    """Parse the text of one setting; `InvalidSetting` names it by `name`, else by its field."""
    setting = SETTINGS[field]
    try:
        return setting.parse(text)
    except ValueError as error:
        shown = without_password(text) if setting.is_address else text
        raise InvalidSetting(name or field, shown, str(error)) from None


def show_settings(settings: Settings, environment: Environment, flags: Flags) -> str:
    """All settings as a table, each with the flag or variable that it comes from."""
    given = _given(environment, flags)
    effective = {"database_url": settings.database, "agents": settings.agents_folder}
    effective["environments"] = settings.environments_folder
    rows = []
    for field, setting in SETTINGS.items():
        value = setting_text(effective.get(field, getattr(settings, field)))
        shown = without_password(value) if setting.is_address else value
        rows.append((field, shown, given[field][0] if field in given else ""))
    names, values = (max(len(row[column]) for row in rows) for column in (0, 1))
    lines = (f"{name:<{names}}  {value:<{values}}  {where}" for name, value, where in rows)
    return "\n".join(line.rstrip() for line in lines)


def without_password(url: str) -> str:
    """Mask the password of a URL. It may contain unescaped `@` or `?`: rather mask too much."""
    place, mark, options = url.partition("?")
    if "@" in options:
        return re.sub(r"//.*", "//***", place)
    return re.sub(r"(?<=:)//(?!/).*@", "//***@", place) + (mark and "?***")
