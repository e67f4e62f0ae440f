"""Leading the server astray by what is in the state folder; the tests look at the result."""

from __future__ import annotations

import os

from hostile.attacks import MACHINE, POSSIBLE, STOPPED, Section, Targets
from hostile.attacks.tools import state

STATE = Section("The state folder")
SAME = "agents run as the server's user"


@STATE.attack("read outside by a link", POSSIBLE, why=SAME)
def link_outside(at: Targets) -> str:
    path = os.path.join(state(), "link")
    os.symlink(os.path.join(at.private_state, "secret"), path)
    try:
        with open(path) as file:
            return "read another chat's file" if at.canary in file.read() else ""
    finally:
        os.unlink(path)


@STATE.attack("keep a hard link to the database", POSSIBLE, why=SAME)
def hard_link(at: Targets) -> str:
    path = os.path.join(state(), "hard")
    os.link(f"{at.data}/mobox.db", path)
    os.unlink(path)
    return "has a second name of the database"


@STATE.attack("hard links to programs of the system", MACHINE, why="as far as its user may")
def link_program(at: Targets) -> str:
    path = os.path.join(state(), "program")
    os.link("/usr/bin/env", path)
    os.unlink(path)
    return "has a second name of a program"


@STATE.attack("move its own state folder", POSSIBLE, why=SAME)
def move_state(at: Targets) -> str:
    path = state()
    os.rename(path, path + "-moved")
    os.rename(path + "-moved", path)
    return "moved it"


@STATE.attack("take the place of another chat's folder", POSSIBLE, why=SAME)
def take_place(at: Targets) -> str:
    path = os.path.join(os.path.dirname(state()), "another-chat")
    os.mkdir(path)  # the tests look for it, and remove it
    return "made the folder of another chat"


@STATE.attack("make a device", MACHINE, STOPPED, why="root may")
def make_device(at: Targets) -> str:
    path = os.path.join(state(), "device")
    os.mknod(path, 0o600 | 0o020000, os.makedev(1, 3))
    os.unlink(path)
    return "made one"


# The tests send a second message with a large file, which the server puts into `files`.


@STATE.attack("replace the folder of files by a link", agent="small")
def link_files(at: Targets) -> str:
    os.symlink(at.private_state, os.path.join(state(), "files"))
    return ""


@STATE.attack("replace the folder of files by a pipe, on which a reader would wait", agent="small")
def pipe_files(at: Targets) -> str:
    os.mkfifo(os.path.join(state(), "files"))
    return ""


@STATE.attack("replace the folder of files by one that cannot be read", agent="small")
def closed_files(at: Targets) -> str:
    os.mkdir(os.path.join(state(), "files"), 0)
    return ""


@STATE.attack("claim that its folder is lent to another process", agent="small")
def forged_loan(at: Targets) -> str:
    os.symlink("../../" + os.path.basename(at.private_state), os.path.join(state(), ".mobox-lent"))
    return ""


@STATE.attack("claim the same with a name that there might be", agent="small")
def forged_spare(at: Targets) -> str:
    os.symlink(f"{at.server}-000000000000", os.path.join(state(), ".mobox-lent"))
    return ""


@STATE.attack("file names with control sequences for terminals", agent="small")
def escaping_names(at: Targets) -> str:
    for name in ("\x1b]0;owned\x07", "\x1b[2J", "line\nbreak", "\udcff\udcfe"):
        with open(os.path.join(state(), name), "w") as file:
            file.write(name.encode("utf-8", "replace").decode())
    return ""


@STATE.attack("delete its own state folder", agent="small")
def delete_state(at: Targets) -> str:
    import shutil

    shutil.rmtree(state(), ignore_errors=True)
    return ""
