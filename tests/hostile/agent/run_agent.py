"""A hostile agent: runs the attacks that its message names, and writes what each has achieved."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import sys
import time

from hostile.attacks import Attack, Targets, every
from hostile.attacks.spares import look_around

SECONDS = 15


def main() -> None:
    look_around()
    turn = json.loads(sys.stdin.readline())
    order = json.loads(turn["data"]["prompt"][0]["text"])
    targets = Targets(**order["targets"])
    attacks = [every()[name] for name in order["attacks"]]
    for attack in attacks:
        report(attack.name, outcome(attack, targets, forks=order["forks"]))
    os.write(1, b'{"type": "done", "data": {}}\n')


def outcome(attack: Attack, targets: Targets, *, forks: bool) -> str:
    """What an attack has achieved: in a process of its own if others follow."""
    if not forks:  # an exception ends the run, as that of any agent
        return json.dumps({"achieved": attack.run(targets), "problem": ""})
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        os.write(writable, tried(attack, targets).encode()[:4000])
        os._exit(0)
    os.close(writable)
    with os.fdopen(readable, "rb") as results:
        found = results.read().decode("utf-8", "replace")
    _, status = os.waitpid(child, 0)
    if found:
        return found
    # A machine without 32-bit calls answers them with this signal; all else is a broken attack.
    is_answer = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGSEGV
    text = f"ended with status {status}"
    return json.dumps({"achieved": "", "problem": text, "broken": "" if is_answer else text})


def tried(attack: Attack, targets: Targets) -> str:
    begun = time.monotonic()
    achieved, problem, broken = "", "", ""
    try:
        achieved = attack.run(targets) or ""
    except (OSError, sqlite3.Error, ValueError) as error:  # how the system refuses something
        problem = f"{type(error).__name__}: {error}"
    except Exception as error:  # noqa: BLE001 - a mistake of the attack must not count as stopped
        broken = f"{type(error).__name__}: {error}"
    seconds = round(time.monotonic() - begun, 2)
    texts = {"achieved": achieved[:500], "problem": problem[:500], "broken": broken[:500]}
    return json.dumps({**texts, "seconds": seconds})


def report(name: str, result: str) -> None:
    line = json.dumps({**json.loads(result), "name": name})
    text = {"type": "text", "data": {"content": line + "\n"}}
    os.write(1, json.dumps(text).encode() + b"\n")


if __name__ == "__main__":
    main()
