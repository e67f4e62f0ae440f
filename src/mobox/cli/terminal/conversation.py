"""The command `mobox run`: one message, or a conversation at the prompt."""

from __future__ import annotations

import argparse
import shlex
import sys
from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from mobox.cli.terminal.background import Background
from mobox.cli.terminal.chat import DONE, WAITING, Place, TerminalChat, new_chat_id
from mobox.cli.terminal.console import Console
from mobox.cli.terminal.outputs import FramesOutput, JsonOutput, Output, TextOutput
from mobox.cli.terminal.style import one_line
from mobox.errors import MoboxError
from mobox.events.printable import prose
from mobox.formatters import Formatter, StoredRun, formatter_of_run, is_indexed, profiles_of
from mobox.server.app import open_process
from mobox.server.formats import served_format
from mobox.server.services import Process
from mobox.server.session_index import SessionIndex
from mobox.settings import OWNER, without_password

if TYPE_CHECKING:
    from mobox.capture.catalog import Agent, Catalog
    from mobox.settings import Settings
    from mobox.storage.log import Run

STDIN: Final = "-"
PROMPT: Final = "> "
MORE: Final = "… "
QUIT: Final = ("/quit", "/exit")
HELP: Final = """\
  /quit, Ctrl-D   leave
  Ctrl-C          stop the agent; twice: leave
  \\               at the end of a line: continue on the next
Everything else is sent to the agent.
"""
STARTERS: Final = 3
_STORE: Final = ("data", "database_url", "owner")
_USUAL: Final = ("owner", OWNER)


class Conversation:
    """The command, from its arguments to its exit code."""

    def __init__(
        self,
        settings: Settings,
        catalog: Catalog,
        agent: Agent,
        arguments: argparse.Namespace,
        console: Console,
    ) -> None:
        self._settings = settings
        self._catalog = catalog
        self._arguments = arguments
        self._console = console
        self._place = Place(
            owner=arguments.owner, agent=agent, chat_id=arguments.chat or new_chat_id()
        )

    def run(self) -> int:
        """Open the store and the supervisor, and chat."""
        self._check()
        text = self._prompt()
        # A process for the next turn is of use only if there may be one.
        settings = self._settings if text is None else replace(self._settings, max_spares=0)
        opened = partial(open_process, settings, self._catalog)
        with Background(opened) as background:
            chat = TerminalChat(
                background, self._console, self._place, partial(self._output, background)
            )
            if self._arguments.chat is not None:
                chat.check_stored()
            return self._converse(background, chat) if text is None else self._send(chat, text)

    def _check(self) -> None:
        """Refuse what makes no sense, before anything is opened."""
        arguments = self._arguments
        if arguments.profile and not arguments.to:
            arguments.usage_error("--profile needs --to")
        if arguments.to:
            profiles_of(arguments.to)  # raises for an unknown protocol
        is_for_programs = arguments.json or arguments.to
        if is_for_programs and arguments.prompt is None and sys.stdin and sys.stdin.isatty():
            arguments.usage_error("--json and --to need a PROMPT")

    def _prompt(self) -> str | None:
        """The one message to send; `None` for a conversation."""
        given: str | None = self._arguments.prompt
        if given is None and self._console.has_person:
            return None
        text = self._console.read_all() if given is None or given == STDIN else given
        if not text.strip():
            self._arguments.usage_error("the prompt is empty")
        return text

    def _output(self, background: Background[Process], run: Run) -> Output:
        if self._arguments.json:
            return JsonOutput(self._console)
        if self._arguments.to:
            return FramesOutput(self._console, background.run(self._formatter(background, run)))
        return TextOutput(self._console, self._command("logs", run.id))

    async def _formatter(self, background: Background[Process], run: Run) -> Formatter:
        """A formatter for the run, as a server has it."""
        storage, protocol = background.resource.storage, self._arguments.to
        fmt = served_format(self._settings, protocol, self._arguments.profile)
        index = 0
        if is_indexed(protocol):
            await storage.beyond(run.id, 0)  # by then the run before it has ended
            index = await SessionIndex(storage).first_of(run, fmt)
        stored = StoredRun(id=run.id, chat_id=run.chat_id, owner=run.owner, first_event_index=index)
        return formatter_of_run(protocol, stored, fmt.profile)

    # One message

    def _send(self, chat: TerminalChat, text: str) -> int:
        code = chat.send(text)
        if code == WAITING:
            self._console.write_problem(self._waiting())
        elif self._console.has_person and self._is_for_people:
            self._console.write(self._dim(f"{self._continue()}\n"))
        return code

    @property
    def _is_for_people(self) -> bool:
        return not self._arguments.json and not self._arguments.to

    def _waiting(self) -> str:
        return f"the run waits for an answer; to give it in a terminal: {self._again()}"

    def _continue(self) -> str:
        return f"Continue with: {self._again()}"

    def _again(self) -> str:
        """The command that continues this chat."""
        agent, chat = self._arguments.agent, self._place.chat_id
        return self._command("run", agent, "--chat", chat, options=("agents", *_STORE))

    def _command(self, *words: str, options: tuple[str, ...] = _STORE) -> str:
        """A command with the options of this one. A password is not shown."""
        given = [(name, getattr(self._arguments, name)) for name in options]
        more = [
            word
            for name, value in given
            if value and (name, value) != _USUAL and without_password(value) == value
            for word in (f"--{name.replace('_', '-')}", value)
        ]
        return shlex.join(["mobox", *words, *more])

    # A conversation

    def _converse(self, background: Background[Process], chat: TerminalChat) -> int:
        console = self._console
        self._greet(background.resource)
        has_sent = self._arguments.chat is not None
        with console.history(self._settings.data / "history"):
            if has_sent and chat.show_last() == WAITING:
                return self._leave(WAITING)
            while (text := self._read()) is not None:
                console.remember(text)
                if text in QUIT:
                    break
                if text == "/help":
                    console.write(self._dim(HELP))
                    continue
                console.write("\n")
                has_sent = True
                if self._answered(chat, text) == WAITING:
                    return self._leave(WAITING)
                console.write("\n")
        return self._leave(DONE) if has_sent else DONE

    def _answered(self, chat: TerminalChat, text: str) -> int:
        try:
            return chat.send(text)
        except MoboxError as error:
            self._console.write(f"mobox: {error}\n")
            return DONE

    def _leave(self, code: int) -> int:
        line = self._waiting() if code == WAITING else self._continue()
        self._console.write(self._dim(f"{line[0].upper()}{line[1:]}\n"))
        return code

    def _read(self) -> str | None:
        """The next message; `None` to leave."""
        has_interrupted = False
        while True:
            try:
                if text := self._message():
                    return text
            except EOFError:
                self._console.write("\n")
                return None
            except KeyboardInterrupt:
                self._console.write("\n")
                if has_interrupted:
                    return None
                self._console.write(self._dim("Ctrl-C again, or Ctrl-D, to leave\n"))
                has_interrupted = True

    def _message(self) -> str:
        lines = [self._console.read(self._console.style.paint("prompt", PROMPT))]
        while lines[-1].endswith("\\"):
            lines[-1] = lines[-1][:-1]
            lines.append(self._console.read(MORE))
        return "\n".join(lines).strip()

    def _greet(self, process: Process) -> None:
        agent, style = self._place.agent, self._console.style
        icon = f"{prose(agent.icon)} " if agent.icon else ""
        self._console.write(f"{icon}{style.paint('bold', one_line(agent.name))}\n")
        source = process.models.source(agent)
        facts = [f"{source} model"] if source in ("simulated", "recorded") else []
        description = style.fits(agent.description) if agent.description else ""
        lines = [description, " · ".join([*facts, "/help for help, Ctrl-D to leave"])]
        lines += [f"  {style.fits(each, 4)}" for each in self._starters()]
        self._console.write(self._dim("\n".join(filter(None, lines))) + "\n\n")

    def _starters(self) -> list[str]:
        is_new = self._arguments.chat is None
        starters = [f'Try: "{text}"' for text in self._place.agent.starters[:STARTERS]]
        return starters if is_new else []

    def _dim(self, text: str) -> str:
        return self._console.style.paint("dim", text)
