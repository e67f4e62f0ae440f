"""`mobox agents new`: creates an agent from a template, which answers at once."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from string import Template
from typing import Final

from mobox.capture.catalog import ID, load_agent
from mobox.cli.agents import FRAMEWORKS
from mobox.errors import InvalidSetting, UnknownFramework
from mobox.settings import Settings

TEMPLATES: Final = Path(__file__).with_name("templates")
README: Final = "README.md"


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Write the folder, and print how to use it."""
    name: str = arguments.name
    if arguments.framework not in FRAMEWORKS:
        raise UnknownFramework(arguments.framework, FRAMEWORKS)
    if not ID.fullmatch(name):
        raise InvalidSetting("NAME", name, f"expected {ID.pattern}")
    folder = (settings.agents or Path("agents")) / name
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise InvalidSetting("NAME", name, f"{folder} exists already") from None
    except OSError as error:
        raise InvalidSetting("agents", str(folder.parent), str(error.strerror)) from None
    create(folder, arguments.framework)
    _explain(folder, arguments)
    return 0


def create(folder: Path, framework: str) -> None:
    """Fill the folder of a new agent, which is named after it."""
    title = folder.name.replace("-", " ").capitalize()
    for template in (*sorted((TEMPLATES / framework).glob("*.*")), TEMPLATES / README):
        text = template.read_text("utf-8")
        if template.suffix in (".yaml", ".md"):
            text = Template(text).substitute(title=title, id=folder.name)
        (folder / template.name).write_text(text, "utf-8")


def _explain(folder: Path, arguments: argparse.Namespace) -> None:
    agent = load_agent(folder)
    where = [] if arguments.agents is None else ["--agents", arguments.agents]
    command = shlex.join(["mobox", "run", *where, agent.id, agent.starters[0]])
    print(f"Created {folder}. Its code is in {folder / 'run_agent.py'}. Try it:\n\n  {command}\n")
    if agent.models:
        print(f"Without a key of {agent.models[0]} its model is simulated.", end=" ")
    if (folder / "requirements.txt").exists():
        print("The first message installs its packages.", end=" ")
    print(f"The page of `{shlex.join(['mobox', 'serve', *where])}` lists it too.")
