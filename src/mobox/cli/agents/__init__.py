"""`mobox agents`: lists, creates, installs and checks the agents of a folder."""

from __future__ import annotations

import argparse
import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from mobox.cli.options import add_settings
from mobox.errors import InvalidSetting
from mobox.registry import needs_extra
from mobox.settings import SETTINGS, Settings, read_settings

if TYPE_CHECKING:
    from mobox.capture.catalog import Agent, Catalog
    from mobox.cli.options import Commands
    from mobox.models.config import ModelsConfig
    from mobox.supervisor.sandboxes import Sandboxes

FRAMEWORKS = (
    "adk", "anthropic", "claude", "deepagents", "emitted", "gemini", "langchain", "langgraph",
    "openai", "openai-agents", "smolagents",
)  # fmt: skip
"""What a new agent can be written with: the folders of `templates`."""
FIELDS = ("agents", "environments", "data", "models", "sandbox")
"""The settings of a server that these commands have."""


def add(commands: Commands) -> None:
    """Declare the command and its own commands."""
    command = commands.add_parser(
        "agents",
        help="list, create, install and check agents",
        description="Manages the agents of a folder, which `mobox serve` serves.",
    )
    actions = command.add_subparsers(required=True, metavar="ACTION")
    listed = actions.add_parser("list", help="list the agents, their models and packages")
    listed.add_argument("--json", action="store_true", help="write JSON")
    new = actions.add_parser(
        "new",
        help="create an agent that answers at once",
        epilog=f"Frameworks: {', '.join(FRAMEWORKS)}.",
    )
    new.add_argument("name", metavar="NAME", help="lowercase letters, digits and dashes")
    new.add_argument("--framework", required=True, metavar="X", help="one of those below")
    install = actions.add_parser("install", help="install the packages that agents need")
    _add_ids(install)
    install.add_argument(
        "--allow-builds",
        action="store_true",
        help="also build packages from source, which runs their code",
    )
    check = actions.add_parser("check", help="find out why an agent cannot run")
    _add_ids(check)
    for action, module in (
        (listed, "listing"),
        (new, "creating"),
        (install, "installing"),
        (check, "checking"),
    ):
        add_settings(action, FIELDS)
        action.set_defaults(run=run, module=module)


def _add_ids(action: argparse.ArgumentParser) -> None:
    action.add_argument("ids", metavar="ID", nargs="*", help="some agents [all]")


def run(arguments: argparse.Namespace) -> int:
    """Run the action, whether or not a server is running."""
    settings = _settings(arguments)
    with needs_extra("server", "mobox agents"):
        # Imported here, as other commands need no YAML.
        action: Any = import_module(f"mobox.cli.agents.{arguments.module}")
        code: int = action.run(arguments, settings)
    return code


def _settings(arguments: argparse.Namespace) -> Settings:
    """The settings of agents; variables of other settings are ignored."""
    names = {SETTINGS[field].env for field in FIELDS}
    environment = {name: value for name, value in os.environ.items() if name in names}
    flags = {field: getattr(arguments, field) for field in FIELDS}
    return replace(read_settings(environment, flags), beside=Path())


def load(settings: Settings) -> tuple[Catalog, ModelsConfig]:
    """The agents of the folder, and the providers of their models."""
    from mobox.capture.catalog import Catalog
    from mobox.models.config import load_config

    folder, config = settings.agents_folder, load_config(settings)
    if not folder.is_dir():
        raise InvalidSetting("agents", str(folder), "no such folder")
    return Catalog.load(folder, config.providers), config


def sandboxes_of(settings: Settings) -> Sandboxes:
    """The sandboxes that a server with these settings has; raises `InvalidSetting`."""
    from mobox.supervisor.sandboxes import Sandboxes, choose

    return Sandboxes(settings.sandbox, choose(settings.sandbox))


def source_of(name: str, agent: Agent, config: ModelsConfig) -> str:
    """Where an agent's responses of a provider come from; "no key" where there are none."""
    provider = config.providers[name]
    is_own = agent.cassette is not None or provider.is_own(agent.env)
    if config.is_missing(provider) and not is_own:
        return "no key"
    return config.source(name, agent)


def chosen(catalog: Catalog, ids: list[str]) -> list[Agent]:
    """The agents of these ids, or all."""
    return [catalog.get(name) for name in ids] if ids else list(catalog)
