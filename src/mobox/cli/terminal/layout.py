"""Places lines and streamed text on a terminal: groups, indents, and the names of agents.

Rule 1: groups of lines have an empty line between them; all work with tools is one group.
Rule 2: the work of a subagent is indented below the line that started it. If agents alternate, a
        line names the one that continues.
Rule 3: one block streams at a time. It continues on a new line after other lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from mobox.cli.terminal.style import Style, Wrapped
from mobox.events import Scope
from mobox.events.placeholders import Placeholders

STEP: Final = "  "
"""The indent of one level."""
WORK: Final = "work"
"""The group of tool calls, subagents and notes."""
TEXT: Final = "text"
"""The group of answers; each block is one of its own."""
_ROOT: Final[Scope] = ()


class Block(Struct):
    """A text or a thought that comes in pieces."""

    scope: Scope
    is_thought: bool
    wrapped: Wrapped
    placeholders: Placeholders
    has_text: bool = False
    held: str = ""
    """Line ends that are written only if more text follows."""
    has_ended: bool = False
    """Whether only a block that continues it on the same line may follow."""


class Layout:
    """The text written so far, as far as the next line depends on it."""

    def __init__(self, style: Style) -> None:
        self.style = style
        self.agents: dict[str, str] = {}
        """The names of subagents, by the calls that started them."""
        self.live: Block | None = None
        """The block whose line is open."""
        self.last: str | None = None
        """The call that the last line is about."""
        self._out: list[str] = []
        self._is_line_open = False
        self._group = ""
        self._agent: Scope = _ROOT
        self._plan: tuple[Scope, int] = (_ROOT, 0)

    @property
    def is_line_open(self) -> bool:
        """Whether the cursor is in the middle of a line."""
        return self._is_line_open

    @property
    def streaming(self) -> Block | None:
        """The block that streams."""
        return None if self.live is None or self.live.has_ended else self.live

    @property
    def agent(self) -> Scope:
        """The agent that the last line belongs to."""
        return self._agent

    def taken(self) -> str:
        """The text since the last call."""
        text, self._out = "".join(self._out), []
        return text

    def line(self, scope: Scope, text: str, group: str = WORK, about: str | None = None) -> None:
        """A line of an agent, maybe about a call."""
        self._begin(group, scope)
        self._write(f"{STEP * len(scope)}{text}\n")
        self.last = about

    def enter(self, scope: Scope) -> None:
        """The next lines of this agent belong below the last one."""
        self._agent = scope

    def plan(self, scope: Scope, lines: Sequence[str]) -> None:
        """A plan; if the same agent's plan was written last, it replaces that."""
        where, rows = self._plan
        if rows and where == scope and self.style.moves:
            self._write(f"\033[{rows}A\033[J")
        else:
            if rows:
                self._write("\n")
            self._begin("plan", scope)
        self._write("".join(f"{STEP * len(scope)}{line}\n" for line in lines))
        self._plan = (scope, len(lines))

    def stream(self, block: Block, text: str) -> None:
        """More text of a block."""
        if self.live is not block:
            text = text.lstrip()
            if not text:
                return
            self._begin("thought" if block.is_thought else TEXT, block.scope)
            self.live = block
            block.wrapped.begin()
            block.held = ""
            self._write(STEP * len(block.scope) + self._mark(block))
        shown = text.rstrip("\n")
        if shown:
            block.has_text = True
            self._write(self._painted(block, block.wrapped.feed(block.held + shown)))
            block.held = ""
        block.held += text[len(shown) :]

    def end_line(self) -> None:
        """Complete the open line; its block may continue on another."""
        if self.live is not None:
            self._write(self._painted(self.live, self.live.wrapped.end()))
            self.live = None
        if self._is_line_open:
            self._write("\n")

    def _begin(self, group: str, scope: Scope) -> None:
        """Be at the start of a line of this group and agent."""
        self.end_line()
        group = WORK if scope else group
        if self._group and (group != self._group or group == TEXT):
            self._write("\n")
        self._group, self._plan, self.last = group, (_ROOT, 0), None
        if scope != self._agent[: len(scope)]:  # neither the same nor one above it
            name = self.agents.get(scope[-1], "subagent")
            line = self.style.paint("dim", f"{self.style.symbols.back} {name}")
            self._write(f"{STEP * (len(scope) - 1)}{line}\n")
        self._agent = scope

    def _mark(self, block: Block) -> str:
        if not block.is_thought:
            return ""
        symbol = STEP if block.has_text else f"{self.style.symbols.thought} "
        return self.style.paint("dim", symbol)

    def _painted(self, block: Block, text: str) -> str:
        """A thought is dim: each line by itself, so that no line end is inside of a colour."""
        if not block.is_thought:
            return text
        return "\n".join(
            self.style.paint("dim", line) if line.strip() else line for line in text.split("\n")
        )

    def _write(self, text: str) -> None:
        if text:
            self._out.append(text)
            self._is_line_open = not text.endswith("\n")
