"""What an agent that is a function says, beside an SDK's objects: it yields `emit.text("Hello")`.

Each name makes the line that `emit_*` of `mobox.emitter` prints, of the same arguments. What opens
something has an `id`, and whatever belongs to it takes either:

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
    """A line that is to be said: `{"type": …, "data": {…}}`."""

    @property
    def id(self) -> str:
        """Of what it opens, "" if it opens nothing."""
        return str(self["data"].get("id", ""))


def _line_of(emit: Callable[P, object]) -> Callable[P, Emitted]:
    """A function that returns what `emit` would print."""

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

# Words
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

# Things
source = _line_of(emitter.emit_source)
file = _line_of(emitter.emit_file)
state = _line_of(emitter.emit_state)
custom = _line_of(emitter.emit_custom)
chart = _line_of(emitter.emit_chart)

# Asking a person; `Turn.ask` does all of it
input_request = _line_of(emitter.emit_input_request)
paused = _line_of(emitter.emit_paused)
