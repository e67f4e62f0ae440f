"""Asks the person of a turn, in a process or in a function agent.

Rule 1: requests that are asked together are emitted together, before the run waits.
Rule 2: if the agent is stopped meanwhile, the answer is `cancelled`, even if one has just come: it
        goes to the next process, and the journal stays as it is.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, NamedTuple

from .. import control, emitter
from .claude_memory import Journal

__all__ = ["Answer", "Asking", "Request"]

Answer = dict[str, Any]
"""`decision`, `value` and `reason`."""


class Request(NamedTuple):
    """A request of input."""

    id: str
    kind: str
    prompt: str | None
    more: dict[str, Any]


class Asking:
    """The requests of one turn."""

    def __init__(self, turn: Any, journal: Journal) -> None:
        self._turn, self._journal = turn, journal
        self._waiting = 0

    @property
    def is_waiting(self) -> bool:
        """Whether something waits for an answer."""
        return self._waiting > 0

    @property
    def is_stopping(self) -> bool:
        """Whether the agent is being stopped."""
        return bool(getattr(self._turn, "stopping", False) or control.stopping())

    def known(self, request_id: str) -> Answer | None:
        """The answer that came before this process."""
        answer: Answer | None = self._turn.answer(request_id)
        return answer

    def ask(self, *requests: Request) -> list[Coroutine[Any, Any, Answer]]:
        """Emit requests; returns what to await for their answers."""
        if hasattr(self._turn, "ask"):  # of a function agent
            questions = [self._question(each) for each in requests]
            return [self._wait(_answer_of(question)) for question in questions]
        new = [each for each in requests if self.known(each.id) is None]
        waiting: tuple[str, ...] = ()
        for each in new:
            emitter.emit_input_request(each.kind, each.id, prompt=each.prompt, **each.more)
            waiting = control.waits_for(each.id)
        if new:
            emitter.emit_paused(*waiting)
        return [self._wait(_in_thread(control.wait_for_answer, each.id)) for each in requests]

    def _question(self, request: Request) -> Any:
        return self._turn.ask(request.prompt, request.kind, id=request.id, **request.more)

    async def _wait(self, answer: Awaitable[Answer]) -> Answer:
        self._waiting += 1
        given: Answer = {}
        try:
            given = await answer
        except asyncio.CancelledError:
            if not self.is_stopping:
                raise
        finally:
            self._waiting -= not self.is_stopping
        if self.is_stopping:
            self._journal.freeze()
            return dict(control.CANCELLED)
        return given


async def _answer_of(question: Any) -> Answer:
    answer = await question
    return {name: getattr(answer, name) for name in ("decision", "value", "reason")}


async def _in_thread(function: Callable[[str], Answer], request_id: str) -> Answer:
    """Call it in a thread of its own: those of a pool are few, and block the end of the process."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Answer] = loop.create_future()

    def finish(value: Answer) -> None:
        if not done.done():
            done.set_result(value)

    def work() -> None:
        value = function(request_id)
        if not loop.is_closed():
            loop.call_soon_threadsafe(finish, value)

    threading.Thread(target=work, name="mobox-ask", daemon=True).start()
    return await done
