"""A chat with an agent in the terminal: turns, answers, and stopping.

Rule 1: runs are executed and stored as a server does it, by the same supervisor. A server on the
        same database shows the chat, and may continue it.
Rule 2: Ctrl-C stops the run; a second one quits, and the agent is killed.
Rule 3: a run whose request was not answered here stays waiting. It can be answered later, in a
        terminal or in a page.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from mobox.capture.catalog import Agent
from mobox.cli.terminal.background import Background
from mobox.cli.terminal.console import FRAME, Console
from mobox.cli.terminal.dialog import NO_PAGE, Call, Dialog
from mobox.cli.terminal.layout import STEP
from mobox.cli.terminal.outputs import Output
from mobox.errors import DecisionNotAllowed, InvalidRequest, NotWaiting
from mobox.events import FAILURES, Done, DoneReason, InputRequest, LogEntry
from mobox.events.printable import prose
from mobox.events.turn import Action, Answer, PromptText, Request, UserMessage
from mobox.server.services import Process
from mobox.storage.log import Run, active_of
from mobox.supervisor.input_requests import input_requests_of

DONE: Final = 0
FAILED: Final = 1
WAITING: Final = 3
STOPPED: Final = 130
_STOPS: Final = ("cancelled", "interrupted")

MakeOutput = Callable[[Run], Output]


def exit_code(reason: DoneReason) -> int:
    """The exit code of a command whose run ended so."""
    if reason in FAILURES:
        return FAILED
    return STOPPED if reason in _STOPS else DONE


class Place(Struct, frozen=True, kw_only=True):
    """Whose chat it is, and which."""

    owner: str
    agent: Agent
    chat_id: str


def new_chat_id() -> str:
    """The id of a new chat."""
    return f"chat_{secrets.token_hex(8)}"


class TerminalChat:
    """One chat."""

    def __init__(
        self, background: Background[Process], console: Console, place: Place, output: MakeOutput
    ) -> None:
        self._background = background
        self._storage = background.resource.storage
        self._supervisor = background.resource.supervisor
        self._console = console
        self._place = place
        self._output = output

    def send(self, text: str) -> int:
        """Send a message and show the run that answers it; an exit code."""
        run = self._background.run(self._begin(text))
        return self._show(run)

    async def _begin(self, text: str) -> Run:
        message = UserMessage(id=f"m_{secrets.token_hex(8)}", parts=(PromptText(text=text),))
        place = self._place
        request = Request(
            chat_id=place.chat_id, action=Action.SUBMIT, agent=place.agent.id, message=message
        )
        return (await self._supervisor.begin(place.owner, request)).run

    # What is stored

    def check_stored(self) -> None:
        """Raise `ChatNotFound`, unless the chat exists."""
        self._background.run(self._storage.chat(self._place.owner, self._place.chat_id))

    def show_last(self) -> int:
        """Show the last message and its answer. If that goes on, then as for a new message."""
        last = self._background.run(self._last())
        if last is None:
            return DONE
        run, prompt = last
        self._console.write(f"> {prose(prompt)}\n\n")
        code = self._show(run)
        self._console.write("\n")
        return code

    async def _last(self) -> tuple[Run, str] | None:
        """The last run that is not superseded, and the text of the message that it answers."""
        owner, chat_id = self._place.owner, self._place.chat_id
        live = [run for run in await self._storage.runs(owner, chat_id) if not run.superseded]
        if not live:
            return None
        history = await self._storage.history(owner, chat_id)
        texts = [each.body.text for each in history.messages if isinstance(each.body, UserMessage)]
        return active_of(live) or live[-1], texts[-1] if texts else ""

    # Showing a run

    def _show(self, run: Run) -> int:
        output = self._output(run)
        shown = _Shown(run, output)
        while True:
            self._follow(shown)
            if shown.reason is not None:
                output.end(waits=False)
                return exit_code(shown.reason)
            output.pause()
            if not shown.is_stopping and not self._answer_all(shown):
                output.end(waits=True)
                return WAITING

    def _follow(self, shown: _Shown) -> None:
        """Show the entries until the run waits or ends."""
        # A run that is being stopped may still wait for a moment.
        until_end = shown.is_stopping
        entries = self._storage.follow(shown.run.id, shown.after, through_pauses=until_end)
        stream = self._background.each(entries)
        try:
            with self._console.without_echo(), self._console.interrupts() as interrupts:
                while (batches := stream.next(FRAME)) is not None:
                    for batch in batches:
                        shown.show(batch)
                    if not batches:
                        shown.output.idle(time.monotonic() - shown.started)
                    if interrupts.count and not shown.is_stopping:
                        self._stop(shown)
        except KeyboardInterrupt:  # the second one
            self._background.call_soon(self._supervisor.hurry)
            raise

    def _stop(self, shown: _Shown) -> None:
        shown.stop()
        self._background.start(self._supervisor.stop(shown.run.owner, shown.run.id))

    # Answers

    def _answer_all(self, shown: _Shown) -> bool:
        """Answer the open requests of a waiting run; false if it stays waiting."""
        while (request := self._background.run(self._next_request(shown.run))) is not None:
            try:
                answer = self._answer(shown, *request)
            except EOFError:
                self._console.write("\n")
                return False
            except KeyboardInterrupt:
                self._console.write("\n")
                self._stop(shown)
                return True
            if answer is None:
                return False
            try:
                self._background.run(
                    self._supervisor.answer(shown.run.owner, shown.run.id, (answer,))
                )
            except NotWaiting:  # it was answered somewhere else
                return True
            except (DecisionNotAllowed, InvalidRequest) as problem:
                self._console.write(f"{STEP}{problem}\n")
        return True

    async def _next_request(self, run: Run) -> tuple[InputRequest, Call | None] | None:
        """The first request without an answer, and the call that it is about."""
        if (await self._storage.run(run.owner, run.id)).status != "waiting":
            return None
        requests = await input_requests_of(self._storage, run.id)
        for request in requests.waited_for:
            call = requests.call_of(request)
            return request, None if call is None else Call(call.name, call.input)
        return None

    def _answer(self, shown: _Shown, request: InputRequest, call: Call | None) -> Answer | None:
        """The answer; `None` if there is no person to give it."""
        if request.kind == "tool":
            return Answer(decision="denied", request_id=request.id, reason=NO_PAGE)
        if not shown.output.is_for_people or not self._console.has_person:
            return None
        return Dialog(self._console).answer(request, call)


class _Shown:
    """A run that is shown, and how far."""

    def __init__(self, run: Run, output: Output) -> None:
        self.run = run
        self.output = output
        self.after = 0
        self.reason: DoneReason | None = None
        """Why it ended."""
        self.started = time.monotonic()
        self.is_stopping = False

    def show(self, entries: Sequence[LogEntry]) -> None:
        self.output.show(entries)
        self.after = entries[-1].seq
        if isinstance(entries[-1].event, Done):
            self.reason = entries[-1].event.reason

    def stop(self) -> None:
        """A person stops it."""
        self.is_stopping = True
        self.output.stop()
