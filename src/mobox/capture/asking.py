"""The turn of a function agent, and its input requests.

Rule 1: an input request is emitted at once, and the run waits from when the function does. One with
        a fixed `id=` that was answered in an earlier execution is answered at once.
Rule 2: `await` it, or call `result()` in a thread. If the function is stopped meanwhile, both are
        cancelled. The answer then goes to the next execution, in `Turn.answers`.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from mobox.agent_path.shared import control
from mobox.agent_path.shared.output import plain
from mobox.emit import Emitted, input_request, paused, tool_result, tool_use
from mobox.errors import WouldBlock
from mobox.events import JSON
from mobox.events import turn as turns
from mobox.events.turn import Answer, Frontend

Then = Callable[[Answer], None]


def _mark_of(call: Emitted) -> str:
    """A digest of a call's name and input."""
    content = [call["data"].get(field) for field in ("name", "input")]
    return hashlib.sha256(msgspec.json.encode(plain(content), order="sorted")).hexdigest()[:12]


class Moves(NamedTuple):
    """Callbacks: the function waits for the answer; it has taken it."""

    waits: Callable[[], None]
    takes: Callable[[], None]


class Question:
    """An input request to a user, or a call of a frontend tool."""

    def __init__(self, request_id: str, moves: Moves | None = None) -> None:
        self.id = request_id
        self.is_taken = False
        """Whether the function has received the answer, which may be available before."""
        self._moves = moves
        self._answer: Future[Answer] = Future()

    def __await__(self) -> Generator[Any, None, Answer]:
        self._wait()
        answer = yield from asyncio.wrap_future(self._answer).__await__()
        return self._take(answer)

    def result(self) -> Answer:
        """Wait for the answer, in a thread; raises `concurrent.futures.CancelledError`."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            self._wait()
            return self._take(self._answer.result())
        raise WouldBlock

    def _wait(self) -> None:
        if self._moves is not None and not self._answer.done():
            self._moves.waits()

    def _take(self, answer: Answer) -> Answer:
        self.is_taken = True
        if self._moves is not None:
            self._moves.takes()
        return answer

    def answer(self, answer: Answer) -> None:
        """Set the answer."""
        if self._answer.set_running_or_notify_cancel():
            self._answer.set_result(answer)

    def cancel(self) -> None:
        """Cancel: the function is being stopped."""
        self._answer.cancel()


class Turn(control.Turn):
    """The input of a function agent: `prompt`, `messages()`, `history`, `frontend` and more."""

    def __init__(self, turn: turns.Turn, folder: Path, emit: Callable[[Emitted], None]) -> None:
        super().__init__(msgspec.to_builtins(turn))
        self.stopping = False
        """Whether it is being stopped; for threads, which cannot be interrupted."""
        self._folder = folder
        self._emit = emit
        self._open: dict[str, tuple[Question, Then | None]] = {}
        self._answered: list[Question | None] = []  # `None`: not requested in this execution
        self._resume: JSON = None
        self.when_answers_read: Callable[[], None] = lambda: None
        """Called when all input requests are answered, and the function has the answers."""

    @property
    def folder(self) -> Path:
        """The chat's state folder, kept for later turns."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return self._folder

    def _state_folder(self) -> Path:
        return self._folder

    def ask(
        self, prompt: str, kind: str = "question", resume: JSON = None, **more: Any
    ) -> Question:
        """Ask the user; `more` are fields of an input request: `id`, `options`, `schema` and so on.

        The answer may take days, and then goes to another execution: with a fixed `id=` the same
        question is answered at once there.
        """
        return self._request(input_request(kind, prompt=prompt, **more), resume)

    def approve(
        self,
        call: Emitted | str,
        prompt: str = "May I?",
        allow: Sequence[str] | None = None,
        **more: Any,
    ) -> Question:
        """Ask whether a tool call may be carried out: `(await …).approved`.

        `allow=["approve", "edit", "reject", "respond"]` lists the allowed decisions; the `value` of
        an `edited` answer is the changed input, that of an `answered` one replaces the tool's
        result.

        A call made by `emit.tool_use` is emitted here, once in all executions, and keeps its first
        id; an approval is for that call only, with these arguments. For a call that was already
        emitted, pass its id.
        """
        if isinstance(call, Emitted):
            more["id"] = self._approval_of(call, more.get("id"))
        call_id = call if isinstance(call, str) else call.id
        about = {"tool_call_id": call_id, "allowed": None if allow is None else list(allow)}
        return self.ask(prompt, kind="approval", **about, **more)

    def _approval_of(self, call: Emitted, wanted: str | None) -> str:
        """The id of the approval request for a call, which is emitted unless it was before."""
        mark = _mark_of(call)
        for name in (wanted or f"approval_{mark}", f"{wanted or 'approval'}_{mark}"):
            earlier = self._call_of_request(name)
            if earlier is None:
                break
            if _mark_of(tool_use(earlier["name"], earlier.get("input"))) == mark:
                call["data"]["id"] = earlier["id"]
                return name
        self._emit(call)
        return name

    def _call_of_request(self, request_id: str) -> dict[str, Any] | None:
        """The tool call of an input request of an earlier execution of this run."""
        parts = self._earlier_parts
        requests = (part["request"] for part in parts if part["type"] == "request")
        calls = {request.get("id"): request.get("tool_call_id") for request in requests}
        return self._earlier_call(calls.get(request_id))

    def _earlier_call(self, call_id: str | None) -> dict[str, Any] | None:
        parts = self._earlier_parts
        calls = (part for part in parts if part["type"] == "tool" and part["id"] == call_id)
        return next(calls, None)

    @property
    def _earlier_parts(self) -> list[dict[str, Any]]:
        """The message parts of earlier executions of this run, if there were any."""
        is_continued = bool(self.answers or self.earlier_answers)
        return list(self.history[-1]["parts"]) if is_continued and self.history else []

    def call_frontend(self, name: str, arguments: JSON = None, **more: Any) -> Question:
        """Call a frontend tool; the answer's `value` is its result, which is also emitted."""
        resume = more.pop("resume", None)
        call = tool_use(name, arguments, **more)
        request = input_request("tool", id=f"result_of_{call.id}", tool_call_id=call.id)

        def emit_result(answer: Answer) -> None:
            if earlier is None or earlier.get("status") is None:
                status = control.NO_RESULTS.get(answer.decision)
                output = answer.reason if answer.value is None else answer.value
                self._emit(tool_result(call.id, output, status=status))

        earlier = self._earlier_call(call.id)
        if earlier is None:
            self._emit(call)
        return self._request(request, resume, emit_result)

    def _request(self, request: Emitted, resume: JSON, then: Then | None = None) -> Question:
        question = Question(request.id, Moves(self.pause, self._see_taken))
        self._open[question.id] = (question, then)
        before = self.answer(question.id)
        if before is not None:
            self.take_answer(question.id, msgspec.convert(before, Answer))
        elif self.stopping:
            question.cancel()
        else:
            self._resume = resume
            self._emit(request)
        return question

    def pause(self) -> None:
        """Emit PAUSED: the function waits for answers."""
        names = tuple(self._open)  # empty if the answer came just before a thread starts to wait
        if names and not self.stopping:
            self._emit(paused(*names, resume=self._resume))

    @property
    def has_all_answers(self) -> bool:
        """Whether all input requests are answered, and the function has the answers."""
        taken = (question is not None and question.is_taken for question in self._answered)
        return not self._open and all(taken)

    def _see_taken(self) -> None:
        if self.has_all_answers:
            self.when_answers_read()

    # Called by the execution

    def take_answer(self, request_id: str, answer: Answer) -> None:
        """An input request was answered, of this or an earlier execution."""
        question, then = self._open.pop(request_id, (None, None))
        self._answered.append(question)
        if then is not None:
            then(answer)
        if question is not None:
            question.answer(answer)

    def see_frontend(self, frontend: Frontend) -> None:
        """The client sent new frontend state with an answer."""
        self.see_page(msgspec.to_builtins(frontend))

    def stop(self) -> None:
        """Stop: cancel all open questions."""
        self.stopping = True
        for question, _ in list(self._open.values()):
            question.cancel()
