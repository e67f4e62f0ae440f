"""What can be set on a server: by flag, else by environment, else as it is here."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Struct

from mobox.errors import InvalidSetting

__all__ = ["SETTINGS", "Setting", "Settings", "read_settings", "show_settings"]

LOOPBACK_NAMES: Final = ("localhost", "127.0.0.1", "::1")


class Settings(Struct, frozen=True, kw_only=True):
    """The settings of one server."""

    host: str = "127.0.0.1"
    port: int = 8000
    data: Path = Path(".mobox")
    database_url: str = ""
    agents: Path | None = None
    agent: str | None = None
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    max_body: int = 8 * 1024 * 1024
    max_runs: int = 200
    hold: float = 600
    log_level: str = "info"

    @property
    def database(self) -> str:
        """Where things are stored: in the data folder, where nothing else is said."""
        return self.database_url or f"sqlite:///{self.data / 'mobox.db'}"

    @property
    def hosts(self) -> tuple[str, ...]:
        """The names under which the server may be addressed."""
        return (*LOOPBACK_NAMES, self.host, *self.allowed_hosts)


class Setting(NamedTuple):
    """How a field is set."""

    field: str
    env: str
    parse: Callable[[str], Any]
    meaning: str

    @property
    def flag(self) -> str:
        """Its name on the command line."""
        return "--" + self.field.replace("_", "-")


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port <= 65535:
        raise ValueError("expected a number from 0 to 65535")
    return port


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError("expected a number from 1 upwards")
    return number


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds < float("inf"):
        raise ValueError("expected seconds, more than 0")
    return seconds


def _loopback(text: str) -> str:
    """Without keys anybody who reaches the server owns everything on it."""
    if text in LOOPBACK_NAMES:
        return text
    try:
        if ipaddress.ip_address(text).is_loopback:
            return text
    except ValueError:
        pass
    raise ValueError("without keys a server listens on this machine only: 127.0.0.1, ::1, localhost")


def _level(text: str) -> str:
    levels = ("debug", "info", "warning", "error")
    if text.lower() not in levels:
        raise ValueError(f"expected one of {', '.join(levels)}")
    return text.lower()


SETTINGS: Final = (
    Setting("host", "HOST", _loopback, "address to listen on"),
    Setting("port", "PORT", _port, "port to listen on, 0 for any"),
    Setting("data", "MOBOX_DATA", Path, "folder for the database and what agents keep"),
    Setting("database_url", "DATABASE_URL", str, "sqlite:///PATH or memory:"),
    Setting("agents", "MOBOX_AGENTS", Path, "folder of agents (default: ./agents, else our own)"),
    Setting("agent", "MOBOX_AGENT", str, "agent of chats that name none"),
    Setting("allowed_hosts", "MOBOX_ALLOWED_HOSTS", _names, "further names of this server, a,b"),
    Setting("allowed_origins", "MOBOX_ALLOWED_ORIGINS", _names, "pages of others that may post, a,b"),
    Setting("max_body", "MOBOX_MAX_BODY", _positive, "bytes of a request"),
    Setting("max_runs", "MOBOX_MAX_RUNS", _positive, "runs at the same time"),
    Setting("hold", "MOBOX_HOLD", _seconds, "seconds for which a waiting agent is kept"),
    Setting("log_level", "MOBOX_LOG_LEVEL", _level, "debug, info, warning or error"),
)


def read_settings(environment: Mapping[str, str], flags: Mapping[str, str | None]) -> Settings:
    """The settings; a value that cannot be used raises `InvalidSetting`, which says where it is."""
    values: dict[str, Any] = {}
    for setting in SETTINGS:
        flag, variable = flags.get(setting.field), environment.get(setting.env)
        told = flag if flag is not None else variable
        if told:  # an empty variable is one that is not set
            where = setting.flag if flag is not None else setting.env
            values[setting.field] = _parse(setting, where, told)
    return msgspec.structs.replace(Settings(), **values)


def _parse(setting: Setting, where: str, told: str) -> Any:
    try:
        return setting.parse(told)
    except ValueError as error:
        raise InvalidSetting(where, told, str(error)) from None


def show_settings(
    settings: Settings, environment: Mapping[str, str], flags: Mapping[str, str | None]
) -> str:
    """All settings, and where each comes from."""
    rows = []
    for setting in SETTINGS:
        value = getattr(settings, setting.field)
        if setting.field == "database_url":
            value = settings.database
        by_flag = flags.get(setting.field) is not None
        told = setting.flag if by_flag else setting.env if environment.get(setting.env) else ""
        shown = ",".join(value) if isinstance(value, tuple) else "" if value is None else value
        rows.append((setting.field, str(shown), told and f"from {told}"))
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    return "\n".join(
        f"{name:<{widths[0]}}  {value:<{widths[1]}}  {told}".rstrip() for name, value, told in rows
    )
