"""What can be said of a box when it is made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final, TypedDict

from mobox import defaults
from mobox.catalog import Agent, Catalog
from mobox.errors import InvalidSetting
from mobox.server.settings import ANY_HOST, Settings, parse_setting

__all__ = ["Options", "catalog_of", "settings_of"]


class Options(TypedDict, total=False):
    """The settings of a server that make sense in somebody else's, and its agents."""

    agents: Iterable[Agent | str | Path]
    """Functions that are agents, and folders of agents."""
    agent: str
    """Who answers in chats that name nobody."""
    data: str | Path
    database_url: str
    redis_url: str
    redis_prefix: str
    allowed_hosts: Sequence[str]
    """Names of the app besides this machine's; `"*"` is any."""
    allowed_origins: Sequence[str]
    max_body: int
    max_runs: int
    max_runs_per_owner: int
    max_runs_per_minute: int
    max_streams: int
    hold: float
    lease: float


_KNOWN: Final = tuple(Options.__annotations__)
_UNDECORATED: Final = "no agent yet: decorate it with @mobox.agent"


def settings_of(options: Options) -> Settings:
    """The same as a server's settings, by the same rules; here everything is some owner's."""
    given: dict[str, Any] = {"max_runs_per_owner": defaults.RUNS_PER_OWNER}
    for name, told in options.items():
        if name not in _KNOWN:
            raise InvalidSetting(name, str(told), f"no option; known: {', '.join(_KNOWN)}")
        if name != "agents" and (text := _text(told)):
            is_any = (name, text) == ("allowed_hosts", ANY_HOST)
            given[name] = (ANY_HOST,) if is_any else parse_setting(name, text)
    return Settings(**given)


def _text(told: object) -> str:
    """As it would be told to a server; "" where it is not."""
    if isinstance(told, tuple | list):
        return ",".join(map(str, told))
    return "" if told is None else str(told)


def catalog_of(options: Options) -> Catalog:
    """The agents; what is wrong with one is raised, since nobody would look for a warning."""
    catalog = Catalog()
    agents: Iterable[object] = options.get("agents", ())
    for agent in agents:
        if isinstance(agent, Agent):
            catalog.add(agent)
        elif isinstance(agent, str | Path) and Path(agent).is_dir():
            catalog.add_folder(Path(agent))
        else:
            why = _UNDECORATED if callable(agent) else "no such folder"
            raise InvalidSetting("agents", getattr(agent, "__name__", str(agent)), why)
    for problem in catalog.problems:
        raise problem
    if "agent" in options:
        catalog.get(options["agent"])
    return catalog
