"""Events for agents that are functions: they yield `emit.text("Hello")` or an SDK's objects.

Each function returns the line that `emit_*` of `mobox.emitter` prints for the same arguments. Lines
that open something have an `id`, which later lines refer to:

    search = emit.search("Lisbon weather")
    yield search
    yield emit.search_result(found, id=search.id)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec

from mobox.agent_path.shared import emitter
from mobox.agent_path.shared.output import told_to

P = ParamSpec("P")


class Emitted(dict[str, Any]):
    """A line to emit: `{"type": …, "data": {…}}`."""

    @property
    def id(self) -> str:
        """The id of what it opens, "" if it opens nothing."""
        return str(self["data"].get("id", ""))


def _line_of(emit: Callable[P, object]) -> Callable[P, Emitted]:
    """A function that returns the line which `emit` would print."""

    def line(*args: P.args, **kwargs: P.kwargs) -> Emitted:
        lines: list[Any] = []
        with told_to(lines.append):
            emit(*args, **kwargs)
        return Emitted(lines[0])

    line.__doc__ = emit.__doc__
    return line


# The run
start = _line_of(emitter.emit_start)
status = _line_of(emitter.emit_status)
error = _line_of(emitter.emit_error)
usage = _line_of(emitter.emit_usage)
usage_total = _line_of(emitter.emit_usage_total)
result = _line_of(emitter.emit_result)
done = _line_of(emitter.emit_done)

# Text
text = _line_of(emitter.emit_text)
thinking = _line_of(emitter.emit_thinking)
think = _line_of(emitter.emit_think)

# Tools
tool_use = _line_of(emitter.emit_tool_use)
tool_result = _line_of(emitter.emit_tool_result)
search = _line_of(emitter.emit_search)
search_result = _line_of(emitter.emit_search_result)

# Plans, steps, subagents
todo_create = _line_of(emitter.emit_todo_create)
todo_update = _line_of(emitter.emit_todo_update)
todo_done = _line_of(emitter.emit_todo_done)
step_start = _line_of(emitter.emit_step_start)
step_end = _line_of(emitter.emit_step_end)
subagent_spawn = _line_of(emitter.emit_subagent_spawn)
subagent_start = _line_of(emitter.emit_subagent_start)
subagent_complete = _line_of(emitter.emit_subagent_complete)

# Sources, files, state
source = _line_of(emitter.emit_source)
file = _line_of(emitter.emit_file)
state = _line_of(emitter.emit_state)
custom = _line_of(emitter.emit_custom)
chart = _line_of(emitter.emit_chart)

# Input requests; `Turn.ask` also waits for the answer
input_request = _line_of(emitter.emit_input_request)
paused = _line_of(emitter.emit_paused)
