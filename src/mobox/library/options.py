"""The options of `Mobox` and `mount`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final, TypedDict

from mobox.capture.catalog import Agent, Catalog
from mobox.errors import InvalidSetting
from mobox.settings import ANY_HOST, RUNS_PER_OWNER, Settings, parse_setting, setting_text


class Options(TypedDict, total=False):
    """The agents, and those settings of a server that apply inside another program."""

    agents: Iterable[Agent | str | Path]
    """Function agents, and folders of agents."""
    agent: str
    """The default agent."""
    data: str | Path
    database_url: str
    redis_url: str
    redis_prefix: str
    allowed_hosts: Sequence[str]
    """Further host names of the app besides loopback; `"*"` allows any."""
    allowed_origins: Sequence[str]
    max_body: int
    max_runs: int
    max_runs_per_owner: int
    max_runs_per_minute: int
    max_streams: int
    hold: float
    lease: float


_KNOWN: Final = tuple(Options.__annotations__)
_UNDECORATED: Final = "not an agent: decorate the function with @mobox.agent"


def settings_of(options: Options) -> Settings:
    """The options as a server's settings, by the same rules; runs are limited per owner."""
    given: dict[str, Any] = {"max_runs_per_owner": RUNS_PER_OWNER}
    for name, value in options.items():
        if name not in _KNOWN:
            raise InvalidSetting(name, str(value), f"unknown option; known: {', '.join(_KNOWN)}")
        if name != "agents" and (text := setting_text(value)):
            is_any = (name, text) == ("allowed_hosts", ANY_HOST)
            given[name] = (ANY_HOST,) if is_any else parse_setting(name, text)
    return Settings(**given)


def catalog_of(options: Options) -> Catalog:
    """The agents; an invalid one raises, as a program may not show warnings."""
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
