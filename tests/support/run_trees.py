"""A run without its course: what was said, called and planned, by whom, and how it all ended.

Two streams that tell the same run give the same tree, whatever the order in which parallel agents
take turns, however their words are cut, and whatever the ids of their messages.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from mobox import StreamEvent
from mobox import events as ev

Scope = tuple[str, ...]


@dataclass
class Tree:
    """What a run comes to."""

    turns: dict[Scope, list[list[Any]]] = field(default_factory=dict)
    """The blocks of each agent's turns: their kind and text, or the call that they are."""
    calls: dict[str | None, dict[str, Any]] = field(default_factory=dict)
    agents: dict[str | None, tuple[Any, ...]] = field(default_factory=dict)
    plans: list[tuple[ev.EventType, Scope, tuple[ev.TodoItem, ...]]] = field(default_factory=list)
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    usage: int = 0
    end: str = "waits"

    def text(self, scope: Scope = ()) -> str:
        """All that an agent answered."""
        blocks = [block for turn in self.turns.get(scope, []) for block in turn]
        return "".join(block[1] for block in blocks if block[0] == "text")


def tree_of(log: Iterable[StreamEvent]) -> Tree:
    """The tree of a log."""
    tree = Tree()
    blocks: dict[str | None, list[Any]] = {}
    for event in log:
        match event:
            case ev.StepStart(kind="turn"):
                tree.turns.setdefault(event.scope, []).append([])
            case ev.Text() | ev.Thinking():
                kind = "text" if isinstance(event, ev.Text) else event.source
                blocks[event.id] = [kind, event.content]
                tree.turns.setdefault(event.scope, [[]])[-1].append(blocks[event.id])
            case ev.TextDelta() | ev.ThinkingDelta():
                blocks[event.id][1] += event.delta
            case ev.ToolUseStart():
                tree.turns.setdefault(event.scope, [[]])[-1].append(["call", event.id])
                tree.calls[event.id] = {"name": event.name, "display": event.display}
            case ev.ToolUseEnd():
                tree.calls[event.id] |= {"input": event.input}
            case ev.ToolResult(partial=False):
                output = None if event.status == "error" else event.output  # in other words
                tree.calls[event.id] |= {"output": output, "status": event.status}
            case ev.SubagentStart():
                tree.agents[event.id] = (event.scope, event.agent, event.task)
            case ev.SubagentEnd():
                tree.agents[event.id] += (event.status,)
            case ev.TodoCreate() | ev.TodoUpdate() | ev.TodoDone():
                tree.plans.append((event.type, event.scope, event.items))
            case ev.InputRequest():
                tree.asked.append((event.kind, event.tool_call_id))
            case ev.Usage(per="call"):
                tree.usage += event.input + event.output
            case ev.Done():
                tree.end = event.reason
            case _:
                pass
    return tree
