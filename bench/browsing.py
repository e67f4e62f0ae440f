"""A real server and a real browser, for what can only be seen in a page."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from bench.chromium import ARGUMENTS, find_chromium

__all__ = ["browsed", "served", "write_agent"]

_MOBOX = "import sys; from mobox.cli import main; sys.exit(main())"


def write_agent(folder: Path, source: str) -> Path:
    """A folder of agents with one in it, of this source."""
    agent = folder / "agents" / "bench"
    agent.mkdir(parents=True)
    (agent / "agent.yaml").write_text("name: Bench\nframework: emitted\n")
    (agent / "run_agent.py").write_text(textwrap.dedent(source))
    return agent.parent


@contextmanager
def served(data: Path, agents: Path) -> Iterator[str]:
    """The address of `mobox serve`, which ends with the block."""
    flags = ["--port", "0", "--data", str(data), "--agents", str(agents)]
    command = [sys.executable, "-c", _MOBOX, "serve", *flags]
    ours = {"HOST", "PORT", "DATABASE_URL"}
    clean = {k: v for k, v in os.environ.items() if k not in ours and not k.startswith("MOBOX_")}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=clean) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"http://\S+", process.stdout.readline())
            if found is None:
                raise RuntimeError("the server did not start")
            yield found[0]
        finally:
            process.terminate()


@contextmanager
def browsed() -> Iterator[Browser]:
    """A browser without windows."""
    chromium = find_chromium()
    if chromium is None:
        raise RuntimeError("this bench needs a browser: `apt-get install chromium`")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        yield browser
        browser.close()
