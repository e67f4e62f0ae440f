"""Where in a graph's memory a turn starts, and what it is given.

Rule 1: a checkpoint has the run that made it in its metadata, `mobox_run`. The state after a run is
        the latest of these. So it is found after kill -9, and in any checkpointer.
Rule 2: a turn starts from the state after `turn.parent`, whether it is new, an edit, or another
        answer: LangGraph forks there. Answers continue the run itself.
Rule 3: a thread is named after the run that started it. If the state after the parent is not known
        (another framework answered, or it was killed before its first checkpoint), the last known
        one before it is used, with the messages since; if there is none, a new thread is started
        with the whole history.
Rule 4: calls that have no result get one before the next message: a provider refuses a call without
        one, and a call that was under way must not be made again by itself.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

from .langchain_messages import answer_of, messages_of, results_of

__all__ = ["RUN", "Start", "find_start", "messages_for", "with_memory"]

RUN = "mobox_run"
FILE = "langgraph.sqlite"
UNKNOWN = (
    "Interrupted: this call was under way when the agent was stopped. "
    "It is not known whether it took effect, and it was not repeated."
)
NOT_MADE = "Not carried out: the user sent another message instead of a decision about this call."
LOST = "the graph's state of this run is lost, so that its answers cannot be used; send it again"


class Start(NamedTuple):
    """Where a turn starts."""

    place: dict[str, Any]
    """The `configurable` of the graph: its thread, and the checkpoint to fork."""
    found: Any = None
    """The checkpoint there, if there is one."""
    known: int = 0
    """How many messages of the history it has."""


def with_memory(graph: Any, turn: Any) -> Any:
    """The graph with a checkpointer that outlives this process."""
    from langgraph.checkpoint.memory import InMemorySaver

    own = graph.checkpointer
    folder = _folder(turn)
    if own not in (None, False, True) and (type(own) is not InMemorySaver or folder is None):
        return graph
    if folder is None:
        return graph.copy(update={"checkpointer": InMemorySaver()})
    from .langchain_saver import FileSaver

    return graph.copy(update={"checkpointer": FileSaver(folder / FILE)})


def _folder(turn: Any) -> Path | None:
    """The state folder of the chat; none for an agent that is run by hand."""
    given = getattr(turn, "folder", None) or os.environ.get("MOBOX_STATE")
    return None if given is None else Path(given)


async def find_start(graph: Any, turn: Any) -> Start:
    """The place of the run's own state, or of the last one before it."""
    saver = graph.checkpointer
    runs = {each["id"]: n for n, each in enumerate(turn.history, 1) if each["role"] == "assistant"}
    threads = [name for name in {**runs, turn.run_id: 0} if await _latest(saver, name)]
    if turn.kind == "answers":
        return await _own_place(saver, threads, turn.run_id)
    for run in reversed(runs):
        found = await _checkpoint(saver, threads, run)
        if found is not None:
            names = found.config["configurable"]
            place = {name: names[name] for name in ("thread_id", "checkpoint_id")}
            return Start(place, found, runs[run])
    return Start({"thread_id": turn.run_id or "by-hand"})


async def _own_place(saver: Any, threads: list[str], run: str) -> Start:
    found = await _checkpoint(saver, threads, run)
    if found is None:
        raise RuntimeError(LOST)
    place = dict(found.config["configurable"])
    latest = await _latest(saver, place["thread_id"])
    if latest.config["configurable"]["checkpoint_id"] == place["checkpoint_id"]:
        del place["checkpoint_id"]  # a named checkpoint may be forked: tasks would run again
    return Start(place, found)


async def _checkpoint(saver: Any, threads: list[str], run: str) -> Any:
    """The latest checkpoint of a run. Its thread was started by a run of this branch."""
    for thread in threads:
        async for found in saver.alist(_thread(thread), filter={RUN: run}, limit=1):
            return found
    return None


async def _latest(saver: Any, thread: str) -> Any:
    return await saver.aget_tuple(_thread(thread)) if thread else None


def _thread(name: str) -> dict[str, Any]:
    return {"configurable": {"thread_id": name, "checkpoint_ns": ""}}


async def messages_for(graph: Any, turn: Any, start: Start) -> list[Any]:
    """The messages that the graph is given: all of the chat, or the new one after its memory."""
    if start.found is None:
        return messages_of(turn.history, turn.parts)
    state = await graph.aget_state({"configurable": start.place})
    known = state.values.get("messages") or []
    before, since = turn.history[: start.known], turn.history[start.known :]
    missing = _results(known, start.found.pending_writes or [], before)
    return [*missing, *_answer(known, missing, before), *messages_of(since, turn.parts)]


def _results(known: list[Any], writes: list[Any], history: list[Any]) -> list[Any]:
    """Results for the calls of the last answer that have none.

    One that had ended may be in the history only: its process was killed before it was stored.
    """
    from langchain_core.messages import ToolMessage

    calls: dict[str, Any] = {}
    for message in known:
        calls.update({call["id"]: call for call in getattr(message, "tool_calls", None) or []})
        calls.pop(getattr(message, "tool_call_id", None) or "", None)
    written = [each for each in _written(writes) if isinstance(each, ToolMessage)]
    made = {**results_of(history), **{each.tool_call_id: each for each in written}}
    is_paused = any(channel == "__interrupt__" for _, channel, _ in writes)
    text = NOT_MADE if is_paused else UNKNOWN
    return [
        made.get(name)
        or ToolMessage(content=text, tool_call_id=name, name=call["name"], status="error")
        for name, call in calls.items()
    ]


def _written(writes: list[Any]) -> list[Any]:
    """The messages of tasks that had ended, in a step that had not."""
    listed = [value for _, channel, value in writes if channel == "messages"]
    return [each for value in listed for each in (value if isinstance(value, list) else [value])]


def _answer(known: list[Any], results: list[Any], history: list[Any]) -> list[Any]:
    """What the agent had said when it was stopped, which is in no checkpoint."""
    from langchain_core.messages import AIMessage

    is_answered = known and isinstance(known[-1], AIMessage) and not results
    text = "" if is_answered else answer_of(history)
    return [AIMessage(content=text)] if text.strip() else []
