"""Reads the runner's messages to an agent on stdin: the turn, answers to its requests, and stop.

docs/control-channel.md describes the lines. They are read by a thread of their own, with `os.read`:
a thread that waits in `sys.stdin` makes the interpreter abort at exit.

Rule 1: stop is Ctrl-C: `KeyboardInterrupt` in the main thread, wherever it waits. So is the end of
        stdin, since then the runner is gone.
Rule 2: an agent that never calls `read_turn` has no such thread, and can use stdin itself.
Rule 3: by hand, `python run_agent.py some words` makes the words the prompt.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from typing import Any

from .conversation import render
from .output import is_run_by_mobox

__all__ = ["NO_RESULTS", "Turn", "read_turn", "stopping", "turn", "wait_for_answer", "waits_for"]

STDIN = 0
CANCELLED = {"decision": "cancelled", "value": None, "reason": None}
NO_RESULTS = {"denied": "error", "cancelled": "interrupted"}
"""The status of a page's tool, by the decision that came instead of a result."""


class Turn:
    """The input of an agent."""

    def __init__(self, data: dict[str, Any]) -> None:
        prompt = data.get("prompt") or []
        self.parts: list[dict[str, Any]] = (
            [{"type": "text", "text": prompt}] if isinstance(prompt, str) else list(prompt)
        )
        self.kind: str = data.get("kind") or "message"
        """Why the agent is called: message, edit, regenerate, retry or answers."""
        self.chat_id: str = data.get("chat_id") or ""
        self.run_id: str = data.get("run_id") or ""
        self.attempt: int = data.get("attempt") or 1
        """How often this run was executed, with this time."""
        self.owner: str = data.get("owner") or ""
        self.parent: str | None = data.get("parent")
        """The message before the prompt in this branch of the chat, a run; none at its start."""
        self.back_to: str | None = data.get("back_to")
        """The user message to which an edit, a regeneration or a retry goes back."""
        self.history: list[dict[str, Any]] = list(data.get("history") or [])
        self.answers: list[dict[str, Any]] = list(data.get("answers") or [])
        """Answers to the requests of the last pause, in their order."""
        self.earlier_answers: list[dict[str, Any]] = list(data.get("earlier_answers") or [])
        """Answers to the requests of earlier pauses of this run."""
        self.resume: Any = data.get("resume")
        self.frontend: dict[str, Any] = {}
        """The latest data from the page: its tools, context, state, and more; never `None`."""
        self.see_page(data.get("frontend"))

    def see_page(self, page: Any) -> None:
        """The page sent new data with an answer."""
        nothing: dict[str, Any] = {"tools": [], "context": [], "state": None}
        nothing.update({"instructions": [], "properties": {}})
        self.frontend = {**nothing, **(page if isinstance(page, dict) else {})}

    @property
    def state(self) -> Any:
        """The state that is shared with the page, as the page has it."""
        return self.frontend["state"]

    def tool(self, name: str) -> dict[str, Any] | None:
        """The tool of the page that has this name: what `call_frontend` may call."""
        return next((tool for tool in self.frontend["tools"] if tool.get("name") == name), None)

    @property
    def prompt(self) -> str:
        """The text of the prompt; its files and data are in `parts`. Empty if answers came."""
        return _words(self.parts)

    def messages(self, style: str | None = None) -> list[dict[str, Any]]:
        """History and prompt for a model: what this agent itself said, not its subagents.

        Each message has `role` and `content`, a text, and `files` and `tool_calls` where there are
        any. With a `style` they are a provider's own JSON: anthropic, openai (chat completions),
        responses (OpenAI's other API) or gemini. A note on stderr names what it cannot say.
        """
        messages, note = render(self.history, self.parts, style)
        if note:
            sys.stderr.write(f"mobox: {note}\n")
        return messages

    def answer(self, request_id: str) -> dict[str, Any] | None:
        """The answer to that request, if it came while no process of the agent ran."""
        given = [*self.answers, *self.earlier_answers]
        return next((each for each in given if each.get("request_id") == request_id), None)


def _words(parts: list[dict[str, Any]]) -> str:
    return "\n".join(part["text"] for part in parts if part.get("type") == "text")


class _Channel:
    """The lines received on stdin."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._turn: Turn | None = None
        self._answers: dict[str, dict[str, Any]] = {}
        self._waiting: dict[str, None] = {}  # an ordered set
        self._reader: threading.Thread | None = None
        self.ended = False
        self.stopping = False

    def turn(self) -> Turn:
        with self._changed:
            if self._turn is None and self._reader is None:
                self._start()
            self._changed.wait_for(lambda: self._turn is not None or self.ended)
            self._turn = self._turn or Turn({})
            return self._turn

    def answer(self, request_id: str) -> dict[str, Any]:
        answer = self.turn().answer(request_id)
        if answer is not None:
            return answer
        with self._changed:
            self._changed.wait_for(lambda: request_id in self._answers or self.ended)
            self._waiting.pop(request_id, None)
            return self._answers.pop(request_id, CANCELLED)

    def ask(self, request_id: str) -> tuple[str, ...]:
        with self._changed:
            self._waiting[request_id] = None
            return tuple(self._waiting)

    def _start(self) -> None:
        by_hand = " ".join(sys.argv[1:])
        if by_hand and not is_run_by_mobox():
            self._turn = Turn({"prompt": by_hand})
        self._reader = threading.Thread(target=self._read, name="mobox-control", daemon=True)
        self._reader.start()

    def _read(self) -> None:
        held = b""
        while not self.ended:
            try:
                data = os.read(STDIN, 65536)
            except OSError:
                data = b""
            *lines, held = (held + data).split(b"\n")
            for line in lines if data else [held]:
                self._take(line)
            if not data:
                self._end(stop=is_run_by_mobox())

    def _take(self, line: bytes) -> None:
        message = _message_of(line)
        kind, data = message.get("type"), message.get("data")
        with self._changed:
            if kind == "turn" and self._turn is None:
                self._turn = Turn(data if isinstance(data, dict) else {})
            elif kind == "answer" and isinstance(data, dict):
                self._answers[str(data.get("request_id"))] = data
            elif kind == "frontend" and self._turn is not None:
                self._turn.see_page(data)
            self._changed.notify_all()
        if kind == "stop":
            self._end(stop=True)

    def _end(self, stop: bool) -> None:
        with self._changed:
            self.ended = True
            self.stopping = stop
            self._changed.notify_all()
        if stop:  # a real signal: it also wakes a main thread that sleeps or waits for a socket
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def _message_of(line: bytes) -> dict[str, Any]:
    """The message of a line; text typed by hand is a prompt."""
    try:
        message = json.loads(line)
    except ValueError:
        text = line.decode("utf-8", "replace").strip()
        return {"type": "turn", "data": {"prompt": text}} if text else {}
    return message if isinstance(message, dict) else {}


_channel = _Channel()


def read_turn() -> Turn:
    """Wait for the turn; the same one at every call."""
    return _channel.turn()


turn = read_turn


def wait_for_answer(request_id: str) -> dict[str, Any]:
    """Wait until a person has answered: `{"decision": …, "value": …, "reason": …}`.

    The decision is approved, denied, edited, answered or cancelled; cancelled also if no answer can
    come any more.
    """
    return _channel.answer(request_id)


def waits_for(request_id: str) -> tuple[str, ...]:
    """All requests that threads of this process wait for, including this one."""
    return _channel.ask(request_id)


def stopping() -> bool:
    """Whether the runner sent stop; for threads, which get no KeyboardInterrupt."""
    return _channel.stopping
