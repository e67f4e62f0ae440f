"""Agents that act without speaking, and what they have done."""

from __future__ import annotations

from pathlib import Path

from support.waiting import until

ACTING = """
read_turn()
with open(os.environ["ACTS"], "a", buffering=1) as file:
    while not os.path.exists(os.environ["ACTS"] + "-enough"):
        print(os.environ["MOBOX_STATE"], time.clock_gettime(time.CLOCK_BOOTTIME), file=file)
        time.sleep(0.001)
emit_text("enough")
emit_done()
"""
"""It acts until there is enough."""
ASKING = """
import threading

def act():
    with open(os.environ["ACTS"], "a", buffering=1) as file:
        while True:
            print(os.environ["MOBOX_STATE"], time.clock_gettime(time.CLOCK_BOOTTIME), file=file)
            time.sleep(0.001)

threading.Thread(target=act, daemon=True).start()
emit_text(ask("Sure?", id="r1")["decision"])
emit_done()
"""
"""It acts while it waits for an answer."""
YAML = "env: [ACTS]"


class Acts:
    """What agents have done, and when: each has written lines to one file."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "acts"

    def by(self, data: Path) -> list[float]:
        """The times of those that the server with this folder has executed."""
        lines = self.file.read_text().split("\n")[:-1] if self.file.exists() else []
        pairs = [line.split() for line in lines]
        return [float(time) for state, time in pairs if Path(state).is_relative_to(data)]

    async def after(self, data: Path, count: int) -> list[float]:
        """Those after the first `count`, once there are some; one may have been half done."""
        await until(lambda: len(self.by(data)) > count + 1)
        return self.by(data)[count + 1 :]

    def enough(self) -> None:
        """Let them end."""
        self.file.with_name("acts-enough").touch()


def is_frozen(data: Path) -> bool:
    """Whether the server with this folder has agents, and all their processes are stopped."""
    mark = f"MOBOX_STATE={data.absolute()}/state/".encode()
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            is_keeper = b"keeper.py" in (folder / "cmdline").read_bytes()
            if not is_keeper and mark in (folder / "environ").read_bytes():
                found.add((folder / "stat").read_text().rpartition(")")[2].split()[0])
        except OSError:
            continue
    return found == {"T"}
