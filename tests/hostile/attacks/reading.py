"""Reading what belongs to the server, to other agents and to other chats; changing programs."""

from __future__ import annotations

import ctypes
import os
import pathlib
import sqlite3
import sys
import sysconfig

from hostile.attacks import MACHINE, POSSIBLE, STOPPED, Section, Targets
from hostile.attacks.tools import call, finds, opens, state

SAME = "agents run as the server's user, who may read its files and processes"
READING = Section("Files and secrets of others")
CHANGING = Section("Programs")


@READING.attack("read another chat's state folder", POSSIBLE, why=SAME)
def read_other_state(at: Targets) -> str:
    return finds(f"{at.private_state}/secret", at.canary)


@READING.attack("list the server's data folder", POSSIBLE, why=SAME)
def list_data(at: Targets) -> str:
    found = [name for name in os.listdir(at.data) if name.startswith("mobox.db")]
    return f"{len(found)} files of the database" if found else ""


@READING.attack("list other chats through the parent of its state folder", POSSIBLE, why=SAME)
def list_states(at: Targets) -> str:
    names = os.listdir(os.path.dirname(state()))
    return f"{len(names)} folders" if os.path.basename(at.private_state) in names else ""


@READING.attack("read the database", POSSIBLE, why=SAME)
def read_database(at: Targets) -> str:
    with sqlite3.connect(f"file:{at.data}/mobox.db?mode=ro", uri=True) as database:
        return f"{database.execute('select count(*) from chat').fetchone()[0]} chats"


@READING.attack("open the database for writing", POSSIBLE, why=SAME)
def write_database(at: Targets) -> str:
    return opens(f"{at.data}/mobox.db")


@READING.attack("make itself an API key with `mobox keys`", POSSIBLE, why=SAME)
def make_key(at: Targets) -> str:
    with sqlite3.connect(f"file:{at.data}/mobox.db?mode=rw", uri=True) as database:
        database.execute("begin immediate")  # what the command does next is an insert
        database.rollback()
        return "may write to the table of keys"


@READING.attack("read another agent's files", POSSIBLE, why=SAME)
def read_other_agent(at: Targets) -> str:
    return finds(f"{at.agents}/victim/secret", at.canary)


@READING.attack("read the server's environment", POSSIBLE, why=SAME)
def server_environment(at: Targets) -> str:
    return finds(f"/proc/{at.server}/environ", at.canary)


@READING.attack("read another agent's environment", POSSIBLE, why=SAME)
def sibling_environment(at: Targets) -> str:
    return finds(f"/proc/{at.sibling}/environ", at.canary)


@READING.attack("read the environment of another agent's keeper", POSSIBLE, why=SAME)
def keeper_environment(at: Targets) -> str:
    return finds(f"/proc/{at.keeper}/environ", at.canary)


@READING.attack("find a canary in the environment of any process", POSSIBLE, why=SAME)
def any_environment(at: Targets) -> str:
    for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
        try:
            if at.canary.encode() in path.read_bytes():
                return f"read {path}"
        except OSError:
            continue
    return ""


@READING.attack("read the server's memory", POSSIBLE, MACHINE, why=SAME + "; Yama may forbid it")
def server_memory(at: Targets) -> str:
    with open(f"/proc/{at.server}/maps") as maps:
        start = int(maps.readline().partition("-")[0], 16)
    with open(f"/proc/{at.server}/mem", "rb", buffering=0) as memory:
        memory.seek(start)
        return f"read {len(memory.read(16))} bytes"


class Piece(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("size", ctypes.c_size_t))


@READING.attack(
    "read another agent's memory by process_vm_readv", POSSIBLE, MACHINE, why=SAME + "; Yama"
)
def sibling_memory(at: Targets) -> str:
    with open(f"/proc/{at.sibling}/maps") as maps:
        start = int(maps.readline().partition("-")[0], 16)
    return read_memory(at.sibling, start)


def read_memory(pid: int, start: int) -> str:
    buffer = ctypes.create_string_buffer(16)
    here = Piece(ctypes.addressof(buffer), 16)
    there = Piece(start, 16)
    places = (ctypes.addressof(here), 1, ctypes.addressof(there), 1, 0)
    return f"read {call('process_vm_readv', pid, *places)} bytes"


@READING.attack("read the server's files through /proc/PID/root", POSSIBLE, MACHINE, why=SAME)
def root_of_server(at: Targets) -> str:
    return finds(f"/proc/{at.server}/root{at.private_state}/secret", at.canary)


@READING.attack("leave the sandbox through /proc/1/root", STOPPED)
def root_of_init(at: Targets) -> str:
    # In `process` this is the machine's own root, which gives nothing that it lacks.
    if os.path.samefile("/proc/1/root", "/"):
        return ""
    return finds(f"/proc/1/root{at.private_state}/secret", at.canary)


@READING.attack("use a descriptor that was left open", STOPPED)
def open_descriptors(at: Targets) -> str:
    ours = {"0", "1", "2"}
    found = []
    for name in set(os.listdir("/proc/self/fd")) - ours:
        try:
            target = os.readlink(f"/proc/self/fd/{name}")
        except OSError:
            continue  # that of the list itself
        # The pipe is that of the agent, to this attack.
        if not target.startswith(("pipe:", "/proc/")):
            found.append(target)
    return f"open: {found}" if found else ""


@READING.attack("read the machine's users and keys", POSSIBLE, why="the machine's files are there")
def read_users(at: Targets) -> str:
    names = ("/etc/shadow", "/etc/hostname", "/etc/machine-id", "/etc/environment", "/etc/fstab")
    found = [name for name in names if os.path.exists(name)]
    return f"there are {found}" if found else ""


@READING.attack("read the homes of users", POSSIBLE, MACHINE, why="as the server's user may")
def read_homes(at: Targets) -> str:
    found = [name for name in ("/root", "/home") if os.path.isdir(name) and private(name)]
    return f"{found} can be listed" if found else ""


def private(folder: str) -> list[str]:
    """What is there, but for the folders of its own interpreter."""
    prefixes = {os.path.realpath(path) for path in (sys.base_prefix, sys.prefix)}
    names = [os.path.join(folder, name) for name in os.listdir(folder)]
    return [name for name in names if not any(each.startswith(name) for each in prefixes)]


OWN = "as the folder's owner, where the server's user is"


@CHANGING.attack("change its own program", POSSIBLE, why=OWN)
def write_own_source(at: Targets) -> str:
    return opens(os.path.abspath("run_agent.py"))


@CHANGING.attack("make its own folder writable", POSSIBLE, why=OWN)
def chmod_own_source(at: Targets) -> str:
    os.chmod("run_agent.py", 0o644)
    return "changed the mode of its program"


@CHANGING.attack("put a module into its own folder", POSSIBLE, why=OWN)
def add_module(at: Targets) -> str:
    path = os.path.abspath("sitecustomize_.py")
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    os.unlink(path)
    return f"made {path}"


@CHANGING.attack("change another agent's program", POSSIBLE, why=OWN)
def write_other_source(at: Targets) -> str:
    return opens(f"{at.agents}/victim/run_agent.py")


@CHANGING.attack("change the packages of its environment", POSSIBLE, MACHINE, why=OWN)
def write_packages(at: Targets) -> str:
    path = os.path.join(sysconfig.get_paths()["purelib"], "hostile_.pth")
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    os.unlink(path)
    return f"made {path}"


@CHANGING.attack("change the package `shared` of all agents", POSSIBLE, MACHINE, why=OWN)
def write_shared(at: Targets) -> str:
    for entry in os.environ["PYTHONPATH"].split(os.pathsep):
        path = os.path.join(entry, "shared", "emitter.py")
        if os.path.exists(path):
            return opens(path)
    return ""


@CHANGING.attack("change the interpreter", POSSIBLE, MACHINE, why=OWN)
def write_interpreter(at: Targets) -> str:
    path = os.path.join(os.path.dirname(os.__file__), "hostile_.py")
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    os.unlink(path)
    return f"made {path}"


@CHANGING.attack("write to the system (/, /usr, /etc, /dev)", POSSIBLE, MACHINE, why="as root")
def write_system(at: Targets) -> str:
    made = []
    for folder in ("/", "/usr", "/usr/lib", "/etc", "/dev", "/proc", "/sys", "/var", "/run"):
        path = os.path.join(folder, ".hostile")
        try:
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
            os.unlink(path)
            made.append(path)
        except OSError:
            continue
    return f"made {made}" if made else ""
