"""What can be said of a box when it is made."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypedDict

from mobox.catalog import Agent, Catalog
from mobox.errors import InvalidSetting
from mobox.server.settings import Settings

__all__ = ["Options", "catalog_of", "settings_of"]


class Options(TypedDict, total=False):
    """The settings of a server that make sense in somebody else's, and its agents."""

    agents: Iterable[Agent | str | Path]
    """Functions that are agents, and folders of agents."""
    agent: str
    """Who answers in chats that name nobody."""
    data: str | Path
    database_url: str
    allowed_hosts: tuple[str, ...]
    allowed_origins: tuple[str, ...]
    max_body: int
    max_runs: int
    max_runs_per_owner: int
    max_runs_per_minute: int
    max_streams: int
    hold: float
    lease: float


def settings_of(options: Options) -> Settings:
    """The same as a server's settings."""
    given: dict[str, Any] = {name: told for name, told in options.items() if name != "agents"}
    if "data" in given:
        given["data"] = Path(given["data"])
    return Settings(**given)


def catalog_of(options: Options) -> Catalog:
    """The agents; what is wrong with one is raised, since nobody would look for a warning."""
    catalog = Catalog()
    for agent in options.get("agents", ()):
        if isinstance(agent, Agent):
            catalog.add(agent)
        elif Path(agent).is_dir():
            catalog.add_folder(Path(agent))
        else:
            raise InvalidSetting("agents", str(agent), "no such folder")
    for problem in catalog.problems:
        raise problem
    if "agent" in options:
        catalog.get(options["agent"])
    return catalog
