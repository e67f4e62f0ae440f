"""What a function is asked to do, and how it asks back.

Rule 1: a question is said when it is asked, and the run waits from when the function does; what is
        asked under a fixed `id=` and was answered before, by whichever execution it was asked, is
        answered at once.
Rule 2: `await` it, or in a thread wait for its `result()`. Where the function is stopped meanwhile,
        both are cancelled. The answer then comes to the next execution, in `Turn.answers`.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from mobox import turn as told
from mobox.agent_path.shared import control
from mobox.agent_path.shared.output import plain
from mobox.emit import Emitted, input_request, paused, tool_result, tool_use
from mobox.errors import WouldBlock
from mobox.events import JSON
from mobox.turn import Answer, Frontend

__all__ = ["Question", "Turn"]

Then = Callable[[Answer], None]


def _mark_of(call: Emitted) -> str:
    """The same for calls that do the same."""
    does = [call["data"].get(field) for field in ("name", "input")]
    return hashlib.sha256(msgspec.json.encode(plain(does), order="sorted")).hexdigest()[:12]


class Moves(NamedTuple):
    """What who asked does."""

    waits: Callable[[], None]
    takes: Callable[[], None]


class Question:
    """Something that a person was asked, or a page."""

    def __init__(self, request_id: str, moves: Moves | None = None) -> None:
        self.id = request_id
        self.is_taken = False
        """Whether who asked has the answer, which may be there for a while before."""
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
        """It was answered."""
        if self._answer.set_running_or_notify_cancel():
            self._answer.set_result(answer)

    def cancel(self) -> None:
        """Nobody waits for an answer any more."""
        self._answer.cancel()


class Turn(control.Turn):
    """What a function is asked to do: `prompt`, `messages()`, `history`, `frontend` and more."""

    def __init__(self, turn: told.Turn, folder: Path, say: Callable[[Emitted], None]) -> None:
        super().__init__(msgspec.to_builtins(turn))
        self.stopping = False
        """Whether somebody wants it to end; for threads, which nothing interrupts."""
        self._folder = folder
        self._say = say
        self._open: dict[str, tuple[Question, Then | None]] = {}
        self._answered: list[Question | None] = []  # `None` is one that nobody asked here
        self._resume: JSON = None
        self.when_heard: Callable[[], None] = lambda: None
        """Called when all that was asked is answered, and who asked has it."""

    @property
    def folder(self) -> Path:
        """Where this chat's agents may keep what they need in later turns."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return self._folder

    def ask(
        self, prompt: str, kind: str = "question", resume: JSON = None, **more: Any
    ) -> Question:
        """Ask a person; `id`, `options`, `schema` and what else a request has are known.

        The answer may take days, and then comes to another execution: give `id=` a fixed name, and
        the same question is answered at once there.
        """
        return self._asked(input_request(kind, prompt=prompt, **more), resume)

    def approve(
        self,
        call: Emitted | str,
        prompt: str = "May I?",
        allow: Sequence[str] | None = None,
        **more: Any,
    ) -> Question:
        """Ask whether a tool call may be carried out: `(await …).approved`.

        `allow=["approve", "edit", "reject", "respond"]` says what a person may decide; of an answer
        that is `edited` the `value` is the changed input, of one that is `answered` the words in
        the tool's place.

        A call of `emit.tool_use` is said here, once in all executions, and gets the id that it had
        when it was said; an approval is of that call only, with these arguments. Of one that was
        said already, tell the id.
        """
        if isinstance(call, Emitted):
            more["id"] = self._approval_of(call, more.get("id"))
        call_id = call if isinstance(call, str) else call.id
        about = {"tool_call_id": call_id, "allowed": None if allow is None else list(allow)}
        return self.ask(prompt, kind="approval", **about, **more)

    def _approval_of(self, call: Emitted, wanted: str | None) -> str:
        """The id of the request for it; the call is said by now, by whichever execution."""
        mark = _mark_of(call)
        for name in (wanted or f"approval_{mark}", f"{wanted or 'approval'}_{mark}"):
            said = self._call_asked_about(name)
            if said is None:
                break
            if _mark_of(tool_use(said["name"], said.get("input"))) == mark:
                call["data"]["id"] = said["id"]
                return name
        self._say(call)
        return name

    def _call_asked_about(self, request_id: str) -> dict[str, Any] | None:
        """The call that an earlier execution of this run asked about by that request."""
        requests = (part["request"] for part in self._said if part["type"] == "request")
        asked = {request.get("id"): request.get("tool_call_id") for request in requests}
        return self._call_said(asked.get(request_id))

    def _call_said(self, call_id: str | None) -> dict[str, Any] | None:
        calls = (part for part in self._said if part["type"] == "tool" and part["id"] == call_id)
        return next(calls, None)

    @property
    def _said(self) -> list[dict[str, Any]]:
        """What earlier executions of this run have said: they were answered, or there were none."""
        is_continued = bool(self.answers or self.earlier_answers)
        return list(self.history[-1]["parts"]) if is_continued and self.history else []

    def call_frontend(self, name: str, arguments: JSON = None, **more: Any) -> Question:
        """Call a tool of the page; the answer's `value` is its result, and is told to all."""
        resume = more.pop("resume", None)
        call = tool_use(name, arguments, **more)
        request = input_request("tool", id=f"result_of_{call.id}", tool_call_id=call.id)

        def tell(answer: Answer) -> None:
            if said is None or said.get("status") is None:
                status = control.NO_RESULTS.get(answer.decision)
                output = answer.reason if answer.value is None else answer.value
                self._say(tool_result(call.id, output, status=status))

        said = self._call_said(call.id)
        if said is None:
            self._say(call)
        return self._asked(request, resume, tell)

    def _asked(self, request: Emitted, resume: JSON, then: Then | None = None) -> Question:
        question = Question(request.id, Moves(self.pause, self._see_taken))
        self._open[question.id] = (question, then)
        before = self.answer(question.id)
        if before is not None:
            self.take_answer(question.id, msgspec.convert(before, Answer))
        elif self.stopping:
            question.cancel()
        else:
            self._resume = resume
            self._say(request)
        return question

    def pause(self) -> None:
        """Nothing more can be said without an answer."""
        names = tuple(self._open)  # none, if the answer came to who is about to wait in a thread
        if names and not self.stopping:
            self._say(paused(*names, resume=self._resume))

    @property
    def heard(self) -> bool:
        """Whether all that was asked is answered, and who asked has it."""
        taken = (question is not None and question.is_taken for question in self._answered)
        return not self._open and all(taken)

    def _see_taken(self) -> None:
        if self.heard:
            self.when_heard()

    # What happens to it

    def take_answer(self, request_id: str, answer: Answer) -> None:
        """A request was answered, by whomever it was made."""
        question, then = self._open.pop(request_id, (None, None))
        self._answered.append(question)
        if then is not None:
            then(answer)
        if question is not None:
            question.answer(answer)

    def see_frontend(self, frontend: Frontend) -> None:
        """The page told more of itself."""
        self.see_page(msgspec.to_builtins(frontend))

    def stop(self) -> None:
        """It is to end: nobody waits any more."""
        self.stopping = True
        for question, _ in list(self._open.values()):
            question.cancel()
