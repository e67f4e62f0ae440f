"""What is written for the entries of a run: text for people, or a format for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from mobox.cli.terminal.console import Console
from mobox.cli.terminal.rendering import CONTINUES, Renderer
from mobox.delivery import sse
from mobox.events import LogEntry, StreamEvent, Text, TextDelta, encode_many
from mobox.events.printable import prose
from mobox.formatters import Formatter, joining


class Output(Protocol):
    """Writes a run."""

    @property
    def is_for_people(self) -> bool:
        """Whether a person reads it, who may answer."""
        ...

    def show(self, entries: Sequence[LogEntry]) -> None:
        """Write the next entries."""
        ...

    def idle(self, elapsed: float) -> None:
        """Nothing has come for a moment; so many seconds since the start of the turn."""
        ...

    def stop(self) -> None:
        """A person has stopped the run."""
        ...

    def pause(self) -> None:
        """The run waits for an answer, which may be given now."""
        ...

    def end(self, *, waits: bool) -> None:
        """Nothing more is written: the run has ended, or stays waiting."""
        ...


class TextOutput:
    """Text; if stdout is no terminal, only the answer is written there."""

    is_for_people = True

    def __init__(self, console: Console, logs: str) -> None:
        """`logs` is the command that shows the agent's output."""
        self._console = console
        self._renderer = Renderer(console.style, logs, shows_answer=not console.is_split)
        self._answer = _Answer() if console.is_split else None
        self._is_stopping = False

    def show(self, entries: Sequence[LogEntry]) -> None:
        if self._answer is not None:
            self._console.write_answer("".join(map(self._answer.text, entries)))
        self._console.write(self._renderer.feed(entries))

    def idle(self, elapsed: float) -> None:
        if self._renderer.is_line_open or elapsed < 0.5:
            return
        doing = "Stopping" if self._is_stopping else self._renderer.activity or "Working"
        facts = [doing, f"{elapsed:.0f} s"]
        if (others := self._renderer.waiting_agents) > 0:
            facts.insert(1, "1 more agent" if others == 1 else f"{others} more agents")
        facts.append("Ctrl-C again to quit" if self._is_stopping else "Ctrl-C to stop")
        self._console.show_status(" · ".join(facts))

    def stop(self) -> None:
        self._is_stopping = True

    def pause(self) -> None:
        self._console.write(self._renderer.flush())

    def end(self, *, waits: bool) -> None:
        self.pause()
        if self._answer is not None:
            self._console.write_answer(self._answer.end())


class _Answer:
    """The text of the root agent alone, with an empty line where other events are in between."""

    def __init__(self) -> None:
        self._has_text = self._is_line_open = False
        self._is_next = True

    def text(self, entry: LogEntry) -> str:
        """What an entry adds."""
        event = entry.event
        if event.scope or event.type in CONTINUES:
            piece = "" if event.scope else _text_of(event)
            return self._more(prose(piece)) if piece else ""
        self._is_next = True
        return self.end()

    def end(self) -> str:
        """A line end, if one is missing."""
        is_open, self._is_line_open = self._is_line_open, False
        return "\n" if is_open else ""

    def _more(self, text: str) -> str:
        if self._is_next and not (text := text.lstrip("\n")):
            return ""
        before = "\n" if self._is_next and self._has_text else ""
        self._is_next, self._has_text = False, True
        self._is_line_open = not text.endswith("\n")
        return before + text


def _text_of(event: StreamEvent) -> str:
    if isinstance(event, Text):
        return event.content
    return event.delta if isinstance(event, TextDelta) else ""


class JsonOutput:
    """The log itself, as JSON lines."""

    is_for_people = False

    def __init__(self, console: Console) -> None:
        self._console = console

    def show(self, entries: Sequence[LogEntry]) -> None:
        self._console.write_bytes(encode_many(entries))

    def idle(self, elapsed: float) -> None:
        pass

    def stop(self) -> None:
        pass

    def pause(self) -> None:
        pass

    def end(self, *, waits: bool) -> None:
        pass


class FramesOutput(JsonOutput):
    """The frames of a protocol, as Server-Sent Events."""

    def __init__(self, console: Console, formatter: Formatter) -> None:
        super().__init__(console)
        self._formatter = formatter
        self._join = joining(formatter)

    def show(self, entries: Sequence[LogEntry]) -> None:
        self._console.write_bytes(sse.frame(self._join(entries, sse.BETWEEN)))

    def end(self, *, waits: bool) -> None:
        if waits:
            self._console.write_bytes(sse.encode(self._formatter.pause()))
