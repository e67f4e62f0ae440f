"""The tools of the page as tools of an agent, by LangChain's middleware."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import ToolMessage
from langgraph.config import get_config
from langgraph.types import interrupt

from .langchain_answers import FRONTEND, TURN

__all__ = ["FrontendTools"]

STATUS = {"answered": "success", "approved": "success"}


class FrontendTools(AgentMiddleware):
    """Offers the page's tools to the model; a call of one pauses the run until the page ran it."""

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Add the tools."""
        return handler(_with_tools(request))

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Add the tools."""
        return await handler(_with_tools(request))

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Call the page instead of a tool of the agent."""
        return _call(request) if _is_of_page(request) else handler(request)

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Call the page instead of a tool of the agent."""
        return _call(request) if _is_of_page(request) else await handler(request)


def _tools() -> list[dict[str, Any]]:
    turn = get_config()["configurable"].get(TURN)
    return [] if turn is None else list(turn.frontend["tools"])


def _with_tools(request: Any) -> Any:
    return request.override(tools=[*request.tools, *map(_tool, _tools())])


def _tool(tool: dict[str, Any]) -> dict[str, Any]:
    parameters = tool.get("parameters") or {"type": "object", "properties": {}}
    about = {"name": tool["name"], "description": tool.get("description") or tool["name"]}
    return {"type": "function", "function": {**about, "parameters": parameters}}


def _is_of_page(request: Any) -> bool:
    is_own = request.tool is not None  # the agent's own tool wins
    return not is_own and request.tool_call["name"] in [tool["name"] for tool in _tools()]


def _call(request: Any) -> ToolMessage:
    call = request.tool_call
    answer = interrupt({FRONTEND: {"tool_call_id": call["id"], "name": call["name"]}})
    value, reason = answer.get("value"), answer.get("reason")
    return ToolMessage(
        content=_text(reason if value is None else value),
        tool_call_id=call["id"],
        name=call["name"],
        status=STATUS.get(str(answer.get("decision")), "error"),
    )


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
