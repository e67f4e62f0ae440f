"""What can be set on a server: by flag, else by environment, else as it is here."""

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
from mobox.server.origins import listed_host, listed_origin, written_origin

__all__ = [
    "ANY_HOST",
    "OWNER",
    "SETTINGS",
    "Setting",
    "Settings",
    "is_loopback",
    "parse_setting",
    "read_settings",
    "show_settings",
]

_NEEDS_KEYS: Final = (
    "without keys a server listens on this machine only: 127.0.0.1, ::1, localhost;"
    " with --auth keys on any"
)
_NEEDS_PRINCIPAL: Final = (
    "any name is for an app that knows who asks, create_app(…, principal=…); a server that asks for"
    " keys needs no names"
)
LOOPBACK_NAMES: Final = ("localhost", "127.0.0.1", "::1")
TEST_CLIENT: Final = "testserver"
"""What Starlette's `TestClient` calls every app; no page on the internet can be called so."""
ANY_HOST: Final = "*"
OWNER: Final = "local"
"""Whose everything is on a server without keys."""
PLACES: Final = ("here", "workers")
OUR_AGENTS: Final = Path(__file__).parent.parent / "agents"
REPOSITORY_AGENTS: Final = Path(__file__).parents[3] / "agents"
"""Where ours are while they are not part of a wheel."""


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
        """Refuse what lets several processes work together where each would be alone."""
        if self.database == "memory:":
            problem = "memory: is of one process; several need --database-url of a database"
            raise InvalidSetting(field, str(getattr(self, field)), problem)

    @property
    def database(self) -> str:
        """Where things are stored: in the data folder, where nothing else is said."""
        return self.database_url or f"sqlite:///{self.data / 'mobox.db'}"

    @property
    def agents_folder(self) -> Path:
        """Where agents are looked for: where it is said, else beside us, else in the package."""
        places = (Path("agents"), OUR_AGENTS, REPOSITORY_AGENTS)
        return self.agents or next(filter(Path.is_dir, places), OUR_AGENTS)

    @property
    def runs_per_owner(self) -> int:
        """How many runs of one owner may go on; where all is one owner's, as many as there may."""
        usual = defaults.RUNS_PER_OWNER if self.auth == "keys" else self.max_runs
        return min(self.max_runs, self.max_runs_per_owner or usual)

    @property
    def hosts(self) -> tuple[str, ...]:
        """The names under which the server may be addressed."""
        return (*LOOPBACK_NAMES, self.host, *self.allowed_hosts)

    def hosts_of(self, *, is_hooked: bool) -> tuple[str, ...] | None:
        """The same; `None` is any name, as where keys are asked for and no names are listed.

        What an app goes by may be what any page can say, or what a browser says by itself.
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
        """The origins whose pages may ask, as browsers say them."""
        return tuple(written_origin(listed_origin(text)) for text in self.allowed_origins)


class Setting(NamedTuple):
    """How a field is set."""

    field: str
    env: str
    parse: Callable[[str], Any]
    meaning: str
    is_address: bool = False
    """Whether a password may be in it, which nobody is shown."""

    @property
    def flag(self) -> str:
        """Its name on the command line."""
        return "--" + self.field.replace("_", "-")

    @property
    def default(self) -> str:
        """What holds where nothing is said; "" where that is nothing, or depends."""
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
    """Whether only this machine reaches it."""
    with suppress(ValueError):
        return host in LOOPBACK_NAMES or ipaddress.ip_address(host).is_loopback
    return False


def _redis(text: str) -> str:
    schemes = ("redis://", "rediss://", "unix://")
    if not text.startswith(schemes):
        raise ValueError(f"expected an address that begins with {', '.join(schemes)}")
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
    Setting("host", "HOST", str, "address to listen on; with keys not only on this machine"),
    Setting("port", "PORT", _port, "port to listen on, 0 for any"),
    Setting("auth", "MOBOX_AUTH", _auth, "who may ask: none is everybody here, keys who has one"),
    Setting("data", "MOBOX_DATA", _path, "folder for the database and what agents keep"),
    Setting(
        "database_url",
        "DATABASE_URL",
        str,
        "sqlite:///PATH, postgresql://…, or memory: (else mobox.db in data)",
        is_address=True,
    ),
    Setting(
        "redis_url",
        "REDIS_URL",
        _redis,
        "Redis or Valkey by which processes tell each other news, redis://HOST:PORT",
        is_address=True,
    ),
    Setting("redis_prefix", "MOBOX_REDIS_PREFIX", str, "how the channel's name begins there"),
    Setting("agents", "MOBOX_AGENTS", _path, "folder of agents (else ./agents, else our own)"),
    Setting("agent", "MOBOX_AGENT", str, "agent of chats that name none (else the first)"),
    Setting("allowed_hosts", "MOBOX_ALLOWED_HOSTS", _hosts, "further names of this server, a,b"),
    Setting(
        "allowed_origins", "MOBOX_ALLOWED_ORIGINS", _origins, "origins whose pages may ask, a,b"
    ),
    Setting("max_body", "MOBOX_MAX_BODY", _positive, "bytes of a request"),
    Setting("max_runs", "MOBOX_MAX_RUNS", _positive, "runs at the same time"),
    Setting(
        "max_runs_per_owner",
        "MOBOX_MAX_RUNS_PER_OWNER",
        _positive,
        f"runs of one owner at the same time (else {defaults.RUNS_PER_OWNER} with keys)",
    ),
    Setting(
        "max_runs_per_minute",
        "MOBOX_MAX_RUNS_PER_MINUTE",
        _positive,
        "runs that one owner may begin in a minute, where owners are known",
    ),
    Setting(
        "max_streams",
        "MOBOX_MAX_STREAMS",
        _positive,
        "streams and sockets of one owner, where owners are known",
    ),
    Setting("hold", "MOBOX_HOLD", _seconds, "seconds for which a waiting agent is kept"),
    Setting("lease", "MOBOX_LEASE", _seconds, "seconds after which a dead server's runs are lost"),
    Setting("workers", "MOBOX_WORKERS", _positive, "processes that serve together at the port"),
    Setting(
        "execute", "MOBOX_EXECUTE", _place, "where agents run: here, or workers (`mobox worker`)"
    ),
    Setting("queue", "MOBOX_QUEUE", _seconds, "seconds for which a run waits for a worker"),
    Setting("health_port", "MOBOX_HEALTH_PORT", _port, "port for the health of a `mobox worker`"),
    Setting("health_host", "MOBOX_HEALTH_HOST", str, "address for a worker's health, with no key"),
    Setting("log_level", "MOBOX_LOG_LEVEL", _level, "debug, info, warning or error"),
)


class Told(NamedTuple):
    """What somebody said of a setting, and by which flag or variable."""

    where: str
    text: str


def _told(
    setting: Setting, environment: Mapping[str, str], flags: Mapping[str, str | None]
) -> Told | None:
    """The flag, else the variable; an empty one is one that is not set."""
    if flag := flags.get(setting.field):
        return Told(setting.flag, flag)
    if variable := environment.get(setting.env):
        return Told(setting.env, variable)
    return None


def read_settings(environment: Mapping[str, str], flags: Mapping[str, str | None]) -> Settings:
    """The settings; a value that cannot be used raises `InvalidSetting`, which says where it is."""
    values: dict[str, Any] = {}
    for setting in SETTINGS:
        if told := _told(setting, environment, flags):
            values[setting.field] = _parse(setting, told)
    try:
        return msgspec.structs.replace(Settings(), **values)
    except InvalidSetting as error:  # which names the field, and not who set it
        raise _said_by(error, environment, flags) from None


def _said_by(
    error: InvalidSetting, environment: Mapping[str, str], flags: Mapping[str, str | None]
) -> InvalidSetting:
    told = {setting.field: _told(setting, environment, flags) for setting in SETTINGS}
    where = told.get(error.name)
    return error if where is None else InvalidSetting(where.where, error.value, error.problem)


def parse_setting(field: str, text: str) -> Any:
    """What a text means for a field; raises `InvalidSetting`, which names the field."""
    setting = next(setting for setting in SETTINGS if setting.field == field)
    return _parse(setting, Told(field, text))


def _parse(setting: Setting, told: Told) -> Any:
    try:
        return setting.parse(told.text)
    except ValueError as error:
        shown = _without_password(told.text) if setting.is_address else told.text
        raise InvalidSetting(told.where, shown, str(error)) from None


def show_settings(
    settings: Settings, environment: Mapping[str, str], flags: Mapping[str, str | None]
) -> str:
    """All settings, and where each comes from."""
    rows = []
    for setting in SETTINGS:
        told = _told(setting, environment, flags)
        rows.append((setting.field, _shown(settings, setting), told.where if told else ""))
    names, values = (max(len(row[column]) for row in rows) for column in (0, 1))
    lines = (f"{name:<{names}}  {value:<{values}}  {where}" for name, value, where in rows)
    return "\n".join(line.rstrip() for line in lines)


def _shown(settings: Settings, setting: Setting) -> str:
    """What holds, also where nothing is said; without the passwords that addresses may have."""
    holds = {"database_url": settings.database, "agents": settings.agents_folder}
    value = holds.get(setting.field, getattr(settings, setting.field))
    if isinstance(value, tuple):
        return ",".join(value)
    shown = "" if value is None else str(value)
    return _without_password(shown) if setting.is_address else shown


def _without_password(url: str) -> str:
    """A password may hold what ends it, if nobody has escaped that: rather too little is shown."""
    place, mark, options = url.partition("?")
    if "@" in options:
        return re.sub(r"//.*", "//***", place)
    return re.sub(r"(?<=:)//(?!/).*@", "//***@", place) + (mark and "?***")
