"""Parses the output of one agent in one branch, turn by turn.

Rule 1: a turn is streamed in partial events, and repeated complete by one that is not partial: only
        what that adds is new. Without streaming there is only the complete event.
Rule 2: usage and sources are taken from the complete event.
"""

from __future__ import annotations

from typing import Final

from mobox.events import (
    JSON,
    Events,
    Outcome,
    Retract,
    StepEnd,
    StepStart,
    StreamEvent,
)
from mobox.parsers.adk import wire
from mobox.parsers.gemini import wire as parts_wire
from mobox.parsers.gemini.calls import OpenCalls, used
from mobox.parsers.gemini.content import Content

Part = dict[str, JSON]
_BESIDES: Final = frozenset({"thought", "thoughtSignature"})
"""Keys of a part other than its kind."""


class Speaker:
    """The turns of one agent in one branch."""

    def __init__(self, name: str, scope: tuple[str, ...], calls: OpenCalls) -> None:
        self.content = Content(calls, scope)
        self._name = name
        self._scope = scope
        self._calls = calls
        self._turn: str | None = None
        self._turns = 0
        self._streamed: set[str] = set()  # kinds of parts that were streamed
        self._pieces: list[str] = []  # the streamed text

    def piece(self, event: wire.Event, parts: list[Part]) -> Events:
        """A partial event of a turn."""
        if not parts:
            return []
        events = self._begin(event)
        for part in parts:
            events += self.content.part(part) if not self._is_known(part) else []
            self._note(part)
        return events

    def delta_of(self, part: parts_wire.DeltaPart) -> StreamEvent | None:
        """`piece` for a part that continues the open block; `None` for any other."""
        delta = self.content.delta_of(part.text, bool(part.thought))
        if delta is not None:
            self._streamed.add("text")
            if not part.thought:
                self._pieces.append(part.text)
        return delta

    def whole(self, event: wire.Event, parts: list[Part]) -> Events:
        """A complete turn."""
        events = self._begin(event)
        new = [part for part in parts if not _is_answer(part) and not self._was_streamed(part)]
        words = "".join(str(part["text"]) for part in parts if _is_answer(part))
        if self._streamed:
            events += self._rest(words)
        else:
            new = parts
        events += self.content.read(new)
        cited = parts_wire.Candidate(
            grounding_metadata=event.grounding_metadata, citation_metadata=event.citation_metadata
        )
        return events + self.content.cite(cited) + self._end(event)

    def interrupt(self) -> Events:
        """The turn ends without its complete event."""
        if self._turn is None:
            return []
        return [*self.content.leave(), self._leave("interrupted", None)]

    def _begin(self, event: wire.Event) -> Events:
        if self._turn is not None:
            return []
        self._turns += 1
        self._turn = event.id or f"{self._name}:{self._turns}"
        self.content.begin(self._turn)
        self._pieces.clear()
        self._streamed.clear()
        return [
            StepStart(
                id=self._turn, scope=self._scope, kind="turn", name=self._name, number=self._turns
            )
        ]

    def _end(self, event: wire.Event) -> Events:
        ends = self.content.leave()
        usage = used(event.usage_metadata, self._turn or "", self._scope, event.model_version)
        return [*ends, *usage, self._leave("ok", event.finish_reason)]

    def _leave(self, status: Outcome, reason: str | None) -> StepEnd:
        name, self._turn = self._turn, None
        return StepEnd(id=name, scope=self._scope, status=status, reason=reason)

    # Parts that were streamed already

    def _note(self, part: Part) -> None:
        self._streamed |= part.keys() - _BESIDES
        if _is_answer(part):
            self._pieces.append(str(part["text"]))

    def _was_streamed(self, part: Part) -> bool:
        if "functionCall" in part:
            return self._is_known(part)
        kinds = part.keys() - _BESIDES - {"functionResponse"}
        return bool(kinds) and kinds <= self._streamed

    def _is_known(self, part: Part) -> bool:
        """Whether this is a call that was sent already, and whose input is complete."""
        call = part.get("functionCall")
        name = call.get("id") if isinstance(call, dict) else None
        return isinstance(name, str) and name in self._calls and name != self.content.coming

    def _rest(self, words: str) -> Events:
        """The rest of the text after the streamed part; all of it if it is a different text."""
        streamed = "".join(self._pieces)
        if not words or words == streamed:
            return []
        if words.startswith(streamed):
            return self.content.part({"text": words[len(streamed) :]})
        blocks = tuple(self.content.texts)
        again = Retract(scope=self._scope, blocks=blocks, reason="replaced")
        return [*self.content.leave(), again, *self.content.part({"text": words})]


def _is_answer(part: Part) -> bool:
    """Whether a part is text of the answer."""
    return isinstance(part.get("text"), str) and not part.get("thought")
