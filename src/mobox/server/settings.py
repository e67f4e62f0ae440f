"""The settings of a server: from a flag, else an environment variable, else the default here."""

from __future__ import annotations

import ipaddress
import math
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Struct

from mobox import defaults
from mobox.errors import InvalidSetting
from mobox.server.guard import listed_host, listed_origin, written_origin

_NEEDS_KEYS: Final = (
    "without authentication a server listens on loopback only (127.0.0.1, ::1, localhost);"
    " use --auth keys to listen on other addresses"
)
_NEEDS_PRINCIPAL: Final = (
    "only an app with its own authentication may allow any host, create_app(…, principal=…); with"
    " --auth keys list no hosts instead"
)
LOOPBACK_NAMES: Final = ("localhost", "127.0.0.1", "::1")
TEST_CLIENT: Final = "testserver"
"""The host name that Starlette's `TestClient` sends; no public site can have it."""
ANY_HOST: Final = "*"
OWNER: Final = "local"
"""The owner of all chats on a server without authentication."""
PLACES: Final = ("here", "workers")
OUR_AGENTS: Final = Path(__file__).parent.parent / "agents"
REPOSITORY_AGENTS: Final = Path(__file__).parents[3] / "agents"
"""The bundled agents in a clone, where they are not part of a wheel."""


class Settings(Struct, frozen=True, kw_only=True):
    """The settings of one server."""

    host: str = "127.0.0.1"
    port: int = 8000
    auth: str = "none"
    data: Path = Path(".mobox")
    database_url: str = ""
    redis_url: str = ""
    redis_prefix: str = "mobox"
    agents: Path | None = None
    agent: str | None = None
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    max_body: int = 8 * 1024 * 1024
    max_runs: int = defaults.RUNS
    max_runs_per_owner: int | None = None
    max_runs_per_minute: int = 60
    max_streams: int = 20
    hold: float = defaults.HOLD_SECONDS
    lease: float = defaults.LEASE_SECONDS
    workers: int = 1
    execute: str = "here"
    queue: float = defaults.QUEUE_SECONDS
    health_port: int | None = None
    health_host: str = "127.0.0.1"
    log_level: str = "info"

    def __post_init__(self) -> None:
        if self.auth == "none" and not is_loopback(self.host):
            raise InvalidSetting("host", self.host, _NEEDS_KEYS)

    def check_shared(self, field: str) -> None:
        """Refuse an in-memory database where several processes have to share one."""
        if self.database == "memory:":
            problem = "several processes cannot share memory:; use a database with --database-url"
            raise InvalidSetting(field, str(getattr(self, field)), problem)

    @property
    def database(self) -> str:
        """The database URL; by default SQLite in the data folder."""
        return self.database_url or f"sqlite:///{self.data / 'mobox.db'}"

    @property
    def agents_folder(self) -> Path:
        """The folder of agents: the setting, else `./agents`, else the bundled agents."""
        places = (Path("agents"), OUR_AGENTS, REPOSITORY_AGENTS)
        return self.agents or next(filter(Path.is_dir, places), OUR_AGENTS)

    @property
    def runs_per_owner(self) -> int:
        """The limit of concurrent runs of one owner; without authentication it is `max_runs`."""
        usual = defaults.RUNS_PER_OWNER if self.auth == "keys" else self.max_runs
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
            return None if ANY_HOST in self.allowed_hosts else self.hosts
        if ANY_HOST in self.allowed_hosts:
            raise InvalidSetting("allowed_hosts", ANY_HOST, _NEEDS_PRINCIPAL)
        return None if self.auth == "keys" and not self.allowed_hosts else self.hosts

    @property
    def origins(self) -> tuple[str, ...]:
        """The allowed cross-origin pages, as browsers write them in `Origin`."""
        return tuple(written_origin(listed_origin(text)) for text in self.allowed_origins)


class Setting(NamedTuple):
    """One setting: its field, environment variable, parser and help text."""

    field: str
    env: str
    parse: Callable[[str], Any]
    meaning: str
    is_address: bool = False
    """Whether it is a URL that may contain a password, which is masked in output."""

    @property
    def flag(self) -> str:
        """Its name on the command line."""
        return "--" + self.field.replace("_", "-")

    @property
    def default(self) -> str:
        """The default as text; "" where there is none, or it depends on other settings."""
        value = getattr(Settings(), self.field)
        return "" if value is None else ",".join(value) if isinstance(value, tuple) else str(value)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _hosts(text: str) -> tuple[str, ...]:
    return tuple(map(listed_host, _names(text)))


def _origins(text: str) -> tuple[str, ...]:
    names = _names(text)
    for name in names:
        listed_origin(name)
    return names


def _path(text: str) -> Path:
    return Path(text).expanduser()


def _port(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or int(text) > 65535:
        raise ValueError("expected a number from 0 to 65535")
    return int(text)


def _positive(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or int(text) < 1:
        raise ValueError("expected a whole number from 1 upwards")
    return int(text)


def _seconds(text: str) -> float:
    with suppress(ValueError):
        seconds = float(text)
        if 0 < seconds < math.inf:
            return seconds
    raise ValueError("expected seconds, more than 0")


def _auth(text: str) -> str:
    if text not in ("none", "keys"):
        raise ValueError("expected none or keys")
    return text


def is_loopback(host: str) -> bool:
    """Whether the address is reachable from this machine only."""
    with suppress(ValueError):
        return host in LOOPBACK_NAMES or ipaddress.ip_address(host).is_loopback
    return False


def _redis(text: str) -> str:
    schemes = ("redis://", "rediss://", "unix://")
    if not text.startswith(schemes):
        raise ValueError(f"expected a URL that starts with {', '.join(schemes)}")
    return text


def _level(text: str) -> str:
    levels = ("debug", "info", "warning", "error")
    if text.lower() not in levels:
        raise ValueError(f"expected one of {', '.join(levels)}")
    return text.lower()


def _place(text: str) -> str:
    if text.lower() not in PLACES:
        raise ValueError(f"expected one of {', '.join(PLACES)}")
    return text.lower()


SETTINGS: Final = (
    Setting("host", "HOST", str, "address to listen on; non-loopback requires --auth keys"),
    Setting("port", "PORT", _port, "port to listen on, 0 for any"),
    Setting("auth", "MOBOX_AUTH", _auth, "authentication: none (local only) or keys (API keys)"),
    Setting("data", "MOBOX_DATA", _path, "folder for the database and agent state"),
    Setting(
        "database_url",
        "DATABASE_URL",
        str,
        "sqlite:///PATH, postgresql://… or memory: (default: mobox.db in the data folder)",
        is_address=True,
    ),
    Setting(
        "redis_url",
        "REDIS_URL",
        _redis,
        "Redis or Valkey for notifications between processes, redis://HOST:PORT",
        is_address=True,
    ),
    Setting("redis_prefix", "MOBOX_REDIS_PREFIX", str, "prefix of the Redis channel name"),
    Setting(
        "agents", "MOBOX_AGENTS", _path, "folder of agents (default: ./agents, else the bundled)"
    ),
    Setting("agent", "MOBOX_AGENT", str, "default agent of chats (default: the first)"),
    Setting(
        "allowed_hosts", "MOBOX_ALLOWED_HOSTS", _hosts, "further host names of this server, a,b"
    ),
    Setting(
        "allowed_origins",
        "MOBOX_ALLOWED_ORIGINS",
        _origins,
        "origins allowed to send cross-origin requests (CORS), a,b",
    ),
    Setting("max_body", "MOBOX_MAX_BODY", _positive, "maximum size of a request body in bytes"),
    Setting("max_runs", "MOBOX_MAX_RUNS", _positive, "maximum number of concurrent runs"),
    Setting(
        "max_runs_per_owner",
        "MOBOX_MAX_RUNS_PER_OWNER",
        _positive,
        f"concurrent runs of one owner (default with keys: {defaults.RUNS_PER_OWNER})",
    ),
    Setting(
        "max_runs_per_minute",
        "MOBOX_MAX_RUNS_PER_MINUTE",
        _positive,
        "rate limit: runs that one owner may start per minute, with authentication",
    ),
    Setting(
        "max_streams",
        "MOBOX_MAX_STREAMS",
        _positive,
        "open streams and sockets of one owner, with authentication",
    ),
    Setting("hold", "MOBOX_HOLD", _seconds, "seconds that a waiting agent's process is kept alive"),
    Setting(
        "lease", "MOBOX_LEASE", _seconds, "seconds until the lease of a dead server's runs expires"
    ),
    Setting("workers", "MOBOX_WORKERS", _positive, "server processes that share the port"),
    Setting(
        "execute", "MOBOX_EXECUTE", _place, "where agents run: here, or workers (`mobox worker`)"
    ),
    Setting("queue", "MOBOX_QUEUE", _seconds, "seconds that a run waits for a worker"),
    Setting(
        "health_port", "MOBOX_HEALTH_PORT", _port, "port of a worker's health and metrics endpoint"
    ),
    Setting(
        "health_host",
        "MOBOX_HEALTH_HOST",
        str,
        "address of a worker's health endpoint, which has no authentication",
    ),
    Setting("log_level", "MOBOX_LOG_LEVEL", _level, "debug, info, warning or error"),
)


class GivenSetting(NamedTuple):
    """The given text of a setting, and the flag or variable it came from."""

    where: str
    text: str


def _given(
    setting: Setting, environment: Mapping[str, str], flags: Mapping[str, str | None]
) -> GivenSetting | None:
    """The flag, else the variable; an empty value counts as not set."""
    if flag := flags.get(setting.field):
        return GivenSetting(setting.flag, flag)
    if variable := environment.get(setting.env):
        return GivenSetting(setting.env, variable)
    return None


def read_settings(environment: Mapping[str, str], flags: Mapping[str, str | None]) -> Settings:
    """Read all settings; an invalid value raises `InvalidSetting` with its flag or variable."""
    values: dict[str, Any] = {}
    for setting in SETTINGS:
        if given := _given(setting, environment, flags):
            values[setting.field] = _parse(setting, given)
    try:
        return msgspec.structs.replace(Settings(), **values)
    except InvalidSetting as error:  # names the field; name the flag or variable instead
        raise _with_source(error, environment, flags) from None


def _with_source(
    error: InvalidSetting, environment: Mapping[str, str], flags: Mapping[str, str | None]
) -> InvalidSetting:
    all_given = {setting.field: _given(setting, environment, flags) for setting in SETTINGS}
    given = all_given.get(error.name)
    return error if given is None else InvalidSetting(given.where, error.value, error.problem)


def parse_setting(field: str, text: str) -> Any:
    """Parse the text of one setting; raises `InvalidSetting` with the field's name."""
    setting = next(setting for setting in SETTINGS if setting.field == field)
    return _parse(setting, GivenSetting(field, text))


def _parse(setting: Setting, given: GivenSetting) -> Any:
    try:
        return setting.parse(given.text)
    except ValueError as error:
        shown = _without_password(given.text) if setting.is_address else given.text
        raise InvalidSetting(given.where, shown, str(error)) from None


def show_settings(
    settings: Settings, environment: Mapping[str, str], flags: Mapping[str, str | None]
) -> str:
    """All settings as a table, each with the flag or variable that it comes from."""
    rows = []
    for setting in SETTINGS:
        given = _given(setting, environment, flags)
        rows.append((setting.field, _shown(settings, setting), given.where if given else ""))
    names, values = (max(len(row[column]) for row in rows) for column in (0, 1))
    lines = (f"{name:<{names}}  {value:<{values}}  {where}" for name, value, where in rows)
    return "\n".join(line.rstrip() for line in lines)


def _shown(settings: Settings, setting: Setting) -> str:
    """The effective value, with passwords in URLs masked."""
    holds = {"database_url": settings.database, "agents": settings.agents_folder}
    value = holds.get(setting.field, getattr(settings, setting.field))
    if isinstance(value, tuple):
        return ",".join(value)
    shown = "" if value is None else str(value)
    return _without_password(shown) if setting.is_address else shown


def _without_password(url: str) -> str:
    """Mask the password of a URL. It may contain unescaped `@` or `?`: rather mask too much."""
    place, mark, options = url.partition("?")
    if "@" in options:
        return re.sub(r"//.*", "//***", place)
    return re.sub(r"(?<=:)//(?!/).*@", "//***@", place) + (mark and "?***")
