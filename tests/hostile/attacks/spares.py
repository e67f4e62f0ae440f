"""What a process does that was started before its turn: run by the agents with `warm`."""

from __future__ import annotations

import json
import os
from contextlib import suppress

from hostile.attacks import POSSIBLE, Section, Targets
from hostile.attacks.network import ask
from hostile.attacks.tools import state

SPARES = Section("Processes that wait for their turn")
EARLY: dict[str, str] = {}
"""What was found out before the turn."""


def look_around() -> None:
    """Called before the turn is read."""
    what = os.environ.get("HOSTILE_EARLY", "")
    if what == "look":
        EARLY["model"] = str(ask(os.environ["ANTHROPIC_BASE_URL"], os.environ["ANTHROPIC_API_KEY"]))
        EARLY["state"] = json.dumps(os.listdir(state()))
        try:
            around = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(state()))))
            EARLY["chats"] = json.dumps(os.listdir(around))
        except OSError as error:
            EARLY["chats"] = f"OSError {error}"
    elif what == "write":
        with open(os.path.join(state(), "early"), "w") as file:
            file.write("early")


@SPARES.attack("call models before its turn", agent="warm")
def early_model(at: Targets) -> str:
    assert is_spare(), "no spare"
    return "" if EARLY["model"].startswith("(403") else EARLY["model"]


@SPARES.attack("see a chat before its turn", agent="warm")
def early_state(at: Targets) -> str:
    assert is_spare(), "no spare"
    return "" if json.loads(EARLY["state"]) in ([], [".cache"]) else EARLY["state"]


@SPARES.attack(
    "see other chats before its turn", POSSIBLE, agent="warm", why="it is the server's user"
)
def early_chats(at: Targets) -> str:
    assert is_spare(), "no spare"
    return EARLY["chats"] if os.path.basename(at.private_state) in EARLY["chats"] else ""


@SPARES.attack("leave a file for the next chat before its turn", agent="warm-writer")
def early_file(at: Targets) -> str:
    return "the chat has it" if is_spare() else ""


@SPARES.attack("move the chat's folder away at the end", agent="warm-mover")
def moved_folder(at: Targets) -> str:
    assert is_spare(), "no spare"
    with open(os.path.join(state(), "kept"), "w") as file:
        file.write("kept")
    with suppress(OSError):  # of a server that is root, the folder above is root's
        os.mkdir(os.path.join(os.path.dirname(state()), "deep"))
        os.rename(state(), os.path.join(os.path.dirname(state()), "deep", "moved"))
        os.symlink(at.private_state, state())
    return ""  # the tests look for the folder


def is_spare() -> bool:
    return "/.spares/" in state()
