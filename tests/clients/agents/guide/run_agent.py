"""Does what the first word of the message names; other messages are echoed.

say WORDS       streams these words
slow PORT       streams, waits at the gate with this port, streams on
tool            uses a tool of its own
approve         requests approval of a tool call
ask             asks a question with two options
name            asks a question without options
locate          calls the page's tool `locate`
extras          streams what the page sent with the message, as JSON
files           describes the files of the message
number          streams how many runs of this chat have had this message
history         streams the texts of the conversation

The ids of its calls and requests are the same in every run, as docs/agents.md advises.
"""

import base64
import hashlib
import json
import os
import socket
import sys
from pathlib import Path
from typing import Any

from shared.emitter import (
    approve,
    ask,
    call_frontend,
    emit_done,
    emit_text,
    emit_tool_result,
    emit_tool_use,
    read_turn,
)


def say(*words: str) -> None:
    """Words, each a delta of its own."""
    for word in words:
        emit_text(f"{word} ")


def slow(port: str) -> None:
    """Two halves of an answer, with a gate between them."""
    say("The", "first", "half.")
    with socket.create_connection(("127.0.0.1", int(port))) as connection:
        connection.recv(1)
    say("The", "second", "half.")


def tool() -> None:
    """A call that the agent executes itself."""
    emit_tool_use("look_up", {"query": "tides"}, id="call_look_up")
    emit_tool_result("call_look_up", {"high": "12:40"})
    say("High", "tide", "is", "at", "12:40.")


def approval() -> None:
    """A call that needs permission."""
    if not read_turn().answers:
        emit_tool_use("delete_file", {"path": "a.txt"}, id="call_delete")
    if approve("call_delete", "May I delete a.txt?", id="may_delete", resume="approve"):
        emit_tool_result("call_delete", "deleted")
        say("It", "is", "deleted.")
    else:
        emit_tool_result("call_delete", "not deleted", status="denied")
        say("It", "is", "still", "there.")


def question() -> None:
    """A question, of which the answer is repeated."""
    options = ["red", "blue"]
    answer = ask("Which colour?", id="colour", resume="ask", options=options)
    say("You", "chose", f"{answer['value']}.")


def name() -> None:
    """A question that takes any text."""
    answer = ask("What is your name?", id="name", resume="name")
    say("Hello,", f"{answer['value']}.")


def locate() -> None:
    """A tool that the page runs."""
    result = call_frontend("locate", {"precise": True}, id="call_locate", resume="locate")
    say("You", "are", "in", f"{_text_of(result['value'])}.")


def _text_of(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def extras() -> None:
    """All that came with the message."""
    emit_text(json.dumps(read_turn().frontend))


def files() -> None:
    """The files of the message: type, size and hash."""
    for part in read_turn().parts:
        if part["type"] == "file":
            content = _content_of(part)
            digest = hashlib.sha256(content).hexdigest()[:12]
            say(f"{part.get('media_type')}", f"{len(content)}", digest)


def _content_of(part: dict[str, Any]) -> bytes:
    """What the file contains: it is in the chat's folder, or is a data URL."""
    if path := part.get("path"):
        return (Path(os.environ["MOBOX_STATE"]) / path).read_bytes()
    return base64.b64decode(part["url"].partition(",")[2])


def number() -> None:
    """A count that differs from run to run."""
    counted = Path(os.environ["MOBOX_STATE"]) / "runs"
    runs = len(counted.read_text()) + 1 if counted.exists() else 1
    counted.write_text("|" * runs)
    say("Number", f"{runs}.")


def history() -> None:
    """The conversation as this turn has it."""
    emit_text(" / ".join(message["content"] for message in read_turn().messages()))


COMMANDS = {
    "say": say,
    "slow": slow,
    "tool": tool,
    "approve": approval,
    "ask": question,
    "name": name,
    "locate": locate,
    "extras": extras,
    "files": files,
    "number": number,
    "history": history,
}


def main() -> None:
    turn = read_turn()
    first, *rest = (turn.resume or turn.prompt).split() or ["say"]
    if first == "say" or first not in COMMANDS:
        say(*(rest if first == "say" else ["Echo:", first, *rest]))
    else:
        COMMANDS[first](*rest[:1] if first == "slow" else ())
    emit_done()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:  # stop
        sys.exit(130)
