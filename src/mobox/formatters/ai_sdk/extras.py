"""What a page sends along with a message: its tools, a system prompt, and fields of its own.

`tools` and `system` have the form in which assistant-ui's transport sends them. Whatever has
another form is the application's own, and is passed on under its name, never refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec
from msgspec import UNSET, Struct, UnsetType

from mobox.events import JSON
from mobox.events.turn import Frontend, FrontendTool


class Tool(Struct, rename="camel"):
    """A tool that the page runs; its name is here or, in an object of tools, its key."""

    name: str | None = None
    description: str | None = None
    parameters: JSON | UnsetType = UNSET
    input_schema: JSON | UnsetType = UNSET

    def neutral(self, key: str | None) -> FrontendTool | None:
        name = key or self.name
        schemas = [each for each in (self.parameters, self.input_schema) if each is not UNSET]
        if not name:
            return None
        return FrontendTool(
            name=name,
            description=self.description or "",
            parameters=schemas[0] if schemas else None,
        )


_NOTHING: Final = Frontend()


def read_frontend(fields: Mapping[str, JSON], headers: Mapping[str, str]) -> Frontend | None:
    """The frontend data of a body's fields that are not Mobox's own; `None` if there is none."""
    own = dict(fields)
    tools = read_tools(own.get("tools"))
    if tools is not None:
        del own["tools"]
    system = own.get("system")
    if isinstance(system, str):
        del own["system"]
    frontend = Frontend(
        tools=tools or (),
        instructions=(system,) if isinstance(system, str) and system else (),
        body=own,
        headers=dict(headers),
    )
    return None if frontend == _NOTHING else frontend


def read_tools(value: JSON) -> tuple[FrontendTool, ...] | None:
    """Tools in an object by name, or in a list; `None` if the value is anything else."""
    try:
        tools = [tool.neutral(name) for name, tool in _named_tools(value)]
    except msgspec.ValidationError:
        return None
    return tuple(tool for tool in tools if tool) if all(tools) else None


def _named_tools(value: JSON) -> Iterator[tuple[str | None, Tool]]:
    if isinstance(value, dict):
        yield from msgspec.convert(value, dict[str, Tool]).items()
    else:
        yield from ((None, tool) for tool in msgspec.convert(value, list[Tool]))
