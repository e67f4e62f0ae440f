"""Ctrl-C while a person is asked, at the moments when Python's `input` alone would miss it."""

from __future__ import annotations

import subprocess
import sys
from textwrap import dedent

from server.live_server import LIMIT

# Readline calls this hook when it has shown its prompt. `raise` of the C library returns to it
# without a line of Python in between, so that no handler runs before readline waits for keys.
IN_TERMINAL = """
    import ctypes, os, pty, readline, signal, sys
    from functools import partial
    from mobox.cli.terminal.console import Console

    child, terminal = pty.fork()
    if child:
        while True:
            try:
                data = os.read(terminal, 1024)
            except OSError:
                sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            sys.stdout.buffer.write(data)
    console = Console()
    readline.set_pre_input_hook(partial(ctypes.CDLL(None)["raise"], signal.SIGINT))
    for _ in range(3):
        try:
            console.read("name? ")
        except KeyboardInterrupt:
            print("interrupted")
"""


def test_ctrl_c_between_the_prompt_and_the_first_key_is_not_lost() -> None:
    done = subprocess.run(
        [sys.executable, "-c", dedent(IN_TERMINAL)],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=True,
    )
    assert done.stdout.count("interrupted") == 3
