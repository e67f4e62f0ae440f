"""Ends the step that an earlier process has left open, with the answers that came since.

Rule 1: the approved call is made, alone. Code is not run again from its start: it would make its
        other calls twice. The model is told which calls were made, and that the code ended there.
Rule 2: a call that was under way is unknown, and is not made again.
Rule 3: what a call cannot be made with, because JSON does not hold it, is not made up: the call is
        reported as not made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..output import plain
from .smolagents_asking import outcome_of, unwrapped
from .smolagents_calls import as_text
from .smolagents_memory import Call, Journal, told

__all__ = ["make_late_calls"]

NOT_MADE = "This call was not made: the process ended before it was approved."
AGAIN = f"{NOT_MADE} The user has approved it since. If it is still needed, call it again."


def make_late_calls(
    agent: Any, turn: Any, journal: Journal, put: Callable[[dict[str, Any]], None]
) -> None:
    """Give every call of the open step a result, and emit it."""
    left = [call for call in journal.open.calls if call.output is None]
    for call in left:
        if call.request and not call.was_made:
            _decide(call, agent, turn, journal)
    for call in reversed(left):  # those of code and of agents before it or them
        text = told(call, journal.open)
        if call.output is None:
            status = "unknown" if text == call.result else "interrupted"
            journal.change(call, output=text, status=status)
        put(_line(call))


def _decide(call: Call, agent: Any, turn: Any, journal: Journal) -> None:
    answer = turn.answer(call.request)
    if answer is None:
        journal.change(call, output=NOT_MADE, status="error")
        return
    outcome = outcome_of(call.kind, answer)
    if not outcome.is_made:
        journal.change(call, output=as_text(outcome.output), status=outcome.status)
        return
    tool = _tool(call, agent)
    if tool is None or not (call.is_whole or outcome.arguments is not None):
        journal.change(call, output=AGAIN, status="error")
        return
    given = call.arguments if outcome.arguments is None else outcome.arguments
    journal.change(call, arguments=plain(given), was_made=True)
    try:
        output, status = as_text(tool(**given)), "ok"
    except Exception as error:  # noqa: BLE001 - the model gets it, as from smolagents
        output, status = f"{type(error).__name__}: {error}", "error"
    journal.change(call, output=output, status=status)


def _tool(call: Call, agent: Any) -> Any:
    """The tool of a call, which may be one of a managed agent."""
    for name in call.agents:
        agent = agent.managed_agents.get(name)
        if agent is None:
            return None
    tool = agent.tools.get(call.name)
    return None if tool is None else unwrapped(tool)


def _line(call: Call) -> dict[str, Any]:
    scope = {"scope": call.scope} if call.scope else {}
    about = {"tool_use_id": call.id, "content": call.output, "status": call.status}
    return {"type": "tool_result", "data": {**about, **scope}}
