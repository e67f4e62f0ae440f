"""StreamEvents as the nine events of the `agent:event` contract.

Rule 1: session_start comes first, complete or error last, once each; a run that waits has no last.
Rule 2: a thought or a text is told in chunks, then whole; a call when its input is whole, then its
        result. What is empty is not told.
Rule 3: every event has the next eventIndex: a client that knows the last one it has misses nothing.
Rule 4: what is told whole is in the log already, so it is persisted; chunks are transient.
Rule 5: there are nine types and no more: what none of them is made for is left out.

docs/agent-event.md is the contract as it is served.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from mobox.blocks import BETWEEN_THOUGHTS
from mobox.events import (
    JSON,
    Done,
    EventType,
    LogEntry,
    Raw,
    Retract,
    Source,
    Start,
    StreamEvent,
    Text,
    TextDelta,
    TextEnd,
    Thinking,
    ThinkingDelta,
    ThinkingEnd,
)
from mobox.formatters import StoredRun
from mobox.formatters.agent_event.blocks import Block, Blocks
from mobox.formatters.agent_event.citations import citation
from mobox.formatters.agent_event.endings import Ending
from mobox.formatters.agent_event.numbering import DEFAULT, PROFILES, Documents, Numbering
from mobox.formatters.agent_event.tools import Tools
from mobox.formatters.profiles import profile_named

__all__ = ["AgentEventFormatter"]

Writer = Callable[["AgentEventFormatter", Any], Documents]
Stretch = tuple[str | None, type[StreamEvent] | None, bytes, list[str]]
"""The id and the class of deltas that come one after the other, how their chunks begin, and where
their block keeps them."""
NO_STRETCH: Stretch = (None, None, b"", [])

_SIGNATURES = ("signature", "thoughtSignature")
"""What vendors call it."""


class AgentEventFormatter:
    """Writes one run of one session."""

    PROFILES: ClassVar[tuple[str, ...]] = tuple(PROFILES)
    INDEXED: ClassVar = True

    def __init__(
        self,
        message_id: str,
        profile: str = DEFAULT,
        *,
        session_id: str = "session_1",
        user_id: str | None = None,
        first_event_index: int = 0,
        last_event_index: int = -1,
    ) -> None:
        """Events up to `last_event_index` are counted and not told: the client has them."""
        self._session = {"sessionId": session_id, "userId": user_id}
        self._numbering = Numbering(
            message_id,
            first_event_index,
            last_event_index,
            tells_pending=profile_named(profile, PROFILES),
        )
        self._has_begun = False
        self._blocks = Blocks(self._numbering)
        self._tools = Tools(self._numbering, self._blocks)
        self._ending = Ending(self._numbering)
        self._retracted: set[str | None] = set()
        self._stretch = NO_STRETCH

    @classmethod
    def of_run(cls, run: StoredRun, profile: str) -> AgentEventFormatter:
        """For whoever reads a run and has asked nothing."""
        return cls(
            run.id,
            profile,
            session_id=run.chat_id,
            user_id=run.owner,
            first_event_index=run.first_event_index,
        )

    @property
    def event_count(self) -> int:
        """How many events the run has so far, also those that the client had already."""
        return self._numbering.count

    def format(self, entry: LogEntry) -> Documents:
        """The events that tell `entry`."""
        return self._tell((entry,))

    def format_joined(self, entries: Iterable[LogEntry], between: bytes) -> bytes:
        """The events that tell the entries of one read, with `between` between each two."""
        return between.join(self._tell(entries))

    def _tell(self, entries: Iterable[LogEntry]) -> Documents:
        """Nine of ten are deltas that go on with a block."""
        documents: Documents = []
        own, delta_class, prefix, pieces = self._stretch
        tell = self._numbering.piece
        for entry in entries:
            told = entry.event
            if type(told) is delta_class and told.id == own:
                if piece := told.delta:  # type: ignore[attr-defined]
                    pieces.append(piece)
                    documents += tell(entry, prefix, piece)
            else:
                documents += self._write(entry)
                own, delta_class, prefix, pieces = self._stretch = self._stretch_after(told)
        return documents

    def _write(self, entry: LogEntry) -> Documents:
        told = entry.event
        self._numbering.turn_to(entry)
        block = self._blocks.find(told.id)
        if block is not None and block.told_by is type(told):
            return self._blocks.write(told.id, told.delta)  # type: ignore[attr-defined]
        return self.WRITERS[told.type](self, told)

    def _stretch_after(self, told: StreamEvent) -> Stretch:
        """What the next event is, if it is more of the same, and how its chunk begins."""
        block = self._blocks.find(told.id)
        # An empty one has left its block as it was, with whatever the next chunk is to tell.
        if block is None or block.told_by is not type(told) or not told.delta:  # type: ignore[attr-defined]
            return NO_STRETCH
        return told.id, block.told_by, block.prefix, block.pieces

    def pause(self) -> Documents:
        """Nothing: the session goes on, and so does the run when somebody has answered."""
        return []

    def resume(self) -> Documents:
        """Nothing: whoever goes on has what came before, by its index."""
        return []

    # The run

    def _start(self, told: Start | Raw) -> Documents:
        if self._has_begun:
            return []
        self._has_begun = True
        config: dict[str, JSON] = dict.fromkeys(("model", "agent", "framework"))
        if isinstance(told, Start):
            config = {name: getattr(told, name) for name in config}
        return self._numbering.persisted("session_start", **self._session, modelConfig=config)

    def _done(self, told: Done) -> Documents:
        return [*self._blocks.close_all(), *self._ending.end(told)]

    # Blocks

    def _text(self, told: Text) -> Documents:
        """The answer; what a subagent says is a thought to whoever reads the answer."""
        block = Block("thinking" if told.scope else "message", TextDelta, told.scope)
        return self._blocks.open(told.id, block) + self._blocks.write(told.id, told.content)

    def _thinking(self, told: Thinking) -> Documents:
        block = self._blocks.find(told.id)
        opening = []
        if block is None or block.told_by is not ThinkingDelta:
            block = Block("thinking", ThinkingDelta, told.scope)
            opening = self._blocks.open(told.id, block)
        return opening + self._blocks.write(told.id, told.content, BETWEEN_THOUGHTS)

    def _more(self, told: TextDelta | ThinkingDelta) -> Documents:
        """More of a block that a later version began: RAW to us."""
        if isinstance(told, TextDelta):
            return self._text(Text(id=told.id, scope=told.scope, content=told.delta))
        return self._thinking(Thinking(id=told.id, scope=told.scope, content=told.delta))

    def _end_block(self, told: TextEnd | ThinkingEnd) -> Documents:
        signature = _signature(told) if isinstance(told, ThinkingEnd) else None
        return self._blocks.close(told.id, signature)

    def _source(self, told: Source) -> Documents:
        """A citation goes with the next piece of its text.

        That of a text which has ended says which it is, and goes with the next piece of any, or
        by itself.
        """
        if told.scope or told.id in self._tools or told.id in self._retracted:
            return []
        block = self._blocks.find(told.id)
        if block is not None:
            return self._cite(block, citation(told))
        places = self._blocks.places(told.id)
        cited = citation(told) | ({"blockIndex": places[-1]} if places else {})
        block = self._blocks.latest_message()
        if block is not None:
            return self._cite(block, cited)
        alone = Block("message")
        alone.cite(cited)
        return self._blocks.open(told.id, alone) + self._blocks.close(told.id)

    def _cite(self, block: Block, cited: dict[str, JSON]) -> Documents:
        if block.kind == "message":
            block.cite(cited)
        return []

    def _retract(self, told: Retract) -> Documents:
        # They have ended, but in the log of a later version, where an end may be RAW to us.
        ends = [document for name in told.blocks for document in self._blocks.close(name)]
        self._retracted |= set(told.blocks)
        self._numbering.retracted += self._blocks.take_back(told.blocks)
        return ends

    def _nothing(self, _told: StreamEvent) -> Documents:
        return []

    WRITERS: ClassVar[dict[EventType, Writer]] = {
        EventType.START: _start,
        EventType.DONE: _done,
        EventType.PAUSED: _nothing,
        EventType.ERROR: lambda run, told: run._ending.fail(told),
        EventType.STATUS: _nothing,
        EventType.TEXT: _text,
        EventType.TEXT_DELTA: _more,
        EventType.TEXT_END: _end_block,
        EventType.THINKING: _thinking,
        EventType.THINKING_DELTA: _more,
        EventType.THINKING_END: _end_block,
        EventType.TOOL_USE_START: lambda run, told: run._tools.start(told),
        EventType.TOOL_USE_DELTA: lambda run, told: run._tools.more(told),
        EventType.TOOL_USE_END: lambda run, told: run._tools.end(told),
        EventType.TOOL_RESULT: lambda run, told: run._tools.result(told),
        EventType.STEP_START: _nothing,
        EventType.STEP_END: _nothing,
        EventType.SUBAGENT_START: _nothing,
        EventType.SUBAGENT_END: _nothing,
        EventType.TODO_CREATE: _nothing,
        EventType.TODO_UPDATE: _nothing,
        EventType.TODO_DONE: _nothing,
        EventType.SOURCE: _source,
        EventType.FILE: _nothing,
        EventType.STATE: _nothing,
        EventType.INPUT_REQUEST: _nothing,
        EventType.INPUT_RESPONSE: _nothing,
        EventType.USAGE: lambda run, told: run._ending.use(told),
        EventType.RESULT: lambda run, told: run._ending.use(told),
        EventType.RETRACT: _retract,
        EventType.CUSTOM: _nothing,
        EventType.RAW: _start,
    }
    """What each event becomes. A RAW is nothing, unless it is the first: then it is the START of a
    later version."""


def _signature(told: ThinkingEnd) -> str | None:
    """What proves that a thought is the model's own, whichever vendor signed it."""
    bags = [bag for bag in (told.provider or {}).values() if isinstance(bag, dict)]
    signed = (bag.get(name) for bag in bags for name in _SIGNATURES)
    return next((signature for signature in signed if isinstance(signature, str)), None)
