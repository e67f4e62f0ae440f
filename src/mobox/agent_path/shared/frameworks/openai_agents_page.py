"""The tools of the page as tools of the SDK: calls that wait for an approval, which is the result.

Rule 1: the agent's own tools win over those of the page with the same name.
Rule 2: all agents to which the first one hands off have them too, but for those that are given as
        a `Handoff`, which refers to its agent by itself.
"""

from __future__ import annotations

import json
from typing import Any

__all__ = ["PageTools"]

NOTHING = {"type": "object", "properties": {}}
FAILED = "An error occurred while running the tool."
"""The parser knows a failed call by these words of the SDK."""


class PageTools:
    """The tools of the page in one turn; `earlier` are those that it had when the run paused."""

    def __init__(self, sdk: Any, turn: Any, earlier: list[dict[str, Any]]) -> None:
        self._sdk = sdk
        named = {str(tool.get("name")): tool for tool in [*earlier, *turn.frontend["tools"]]}
        self.described = list(named.values())
        self._answers = {str(each.get("tool_call_id")): each for each in turn.answers}
        self._added: set[str] = set()

    def added_to(self, agent: Any) -> Any:
        """The agent with these tools; itself if there are none."""
        return self._clone(agent, {}) if self.described else agent

    def has(self, name: Any) -> bool:
        """Whether calls of this name are the page's to make."""
        return name in self._added

    def failure(self, answer: dict[str, Any]) -> str | None:
        """What the model is told if the page did not run a call; `None` if it did."""
        if answer.get("decision") in ("answered", "approved"):
            return None
        return f"{FAILED} {answer.get('reason') or answer.get('value') or ''}".rstrip()

    def _clone(self, agent: Any, known: dict[int, Any]) -> Any:
        if id(agent) in known:
            return known[id(agent)]
        own = {getattr(tool, "name", None) for tool in agent.tools}
        new = [tool for tool in self.described if tool.get("name") not in own]
        self._added |= {str(tool.get("name")) for tool in new}
        clone = known[id(agent)] = agent.clone(tools=[*agent.tools, *map(self._tool, new)])
        clone.handoffs = [
            self._clone(each, known) if isinstance(each, self._sdk.Agent) else each
            for each in agent.handoffs
        ]
        return clone

    def _tool(self, tool: dict[str, Any]) -> Any:
        return self._sdk.FunctionTool(
            name=str(tool.get("name")),
            description=str(tool.get("description") or tool.get("name")),
            params_json_schema=tool.get("parameters") or NOTHING,
            on_invoke_tool=self._result,
            strict_json_schema=False,
            needs_approval=True,
        )

    async def _result(self, context: Any, _arguments: str) -> str:
        value = self._answers.get(context.tool_call_id, {}).get("value")
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
