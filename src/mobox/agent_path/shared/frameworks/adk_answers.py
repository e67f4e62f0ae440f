"""Answers as what ADK continues with: a response for each call that asked.

============================ =====================================================================
call                         response
============================ =====================================================================
`adk_request_confirmation`   `confirmed`; if the tool asked for a `payload`, the answer's value, or
                             what the tool proposed
others, that ADK calls       the answer's value, as `result` if it is no object; the reason as
long-running                 `error` if there is none
============================ =====================================================================

A plugin does what ADK does not:

Rule 1: the model gets the reason of a denial. That the call is not made, ADK sees to.
Rule 2: the page's tools are offered to the agent that talks to the person. A subagent has them not:
        it could not wait. The agent's own tools win over those with the same name.
"""

from __future__ import annotations

from typing import Any

from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.base_tool import BaseTool
from google.genai import types

from .adk_memory import CONFIRMATION, original_of, response_event

__all__ = ["Answers"]

LOST = "the session in which this run paused is lost, so that its answers cannot be used; retry it"
USED = "this run was continued with these answers before, and interrupted; retry it"
DENIED = "This tool call is rejected."
"""ADK's own words, by which the parser knows a denied call."""
DECLINED = "The user declined."
POSITIVE = ("answered", "approved")
NOTHING = {"type": "object", "properties": {}}

Answer = dict[str, Any]


class Answers:
    """The answers of one turn."""

    def __init__(self, turn: Any) -> None:
        self._answers: list[Answer] = turn.answers
        self._decisions: dict[str, Answer] = {}  # by the call that they are about
        self.plugin = _Plugin(turn, self._decisions)

    def continuation(self, events: list[Any]) -> tuple[list[Any], Any]:
        """What continues the run that paused after these events: events to add, and a message.

        ADK hides a message with a confirmation from the model. So the other responses get events
        of their own then.
        """
        calls = {call.id: (event, call) for event in events for call in event.get_function_calls()}
        used = {each.id for event in events for each in event.get_function_responses()}
        known = [each for each in self._answers if each["request_id"] in calls]
        if not known:
            raise RuntimeError(LOST)
        responses = [self._response(calls[each["request_id"]][1], each) for each in known]
        confirmations = [each for each in responses if each.name == CONFIRMATION]
        if any(each.id in used for each in confirmations):
            raise RuntimeError(USED)
        others = [each for each in responses if each not in confirmations and confirmations]
        parts = [types.Part(function_response=each) for each in confirmations or responses]
        added = [response_event(calls[each.id][0], each, "user") for each in others]
        return added, types.Content(role="user", parts=parts)

    def _response(self, call: Any, answer: Answer) -> Any:
        is_approval = call.name == CONFIRMATION
        value = self._confirmation(call, answer) if is_approval else _value(answer)
        return types.FunctionResponse(id=call.id, name=call.name, response=value)

    def _confirmation(self, call: Any, answer: Answer) -> dict[str, Any]:
        self._decisions[original_of(call)] = answer
        confirmed: dict[str, Any] = {"confirmed": answer.get("decision") in POSITIVE}
        payload = (call.args.get("toolConfirmation") or {}).get("payload")
        if payload is not None:
            confirmed["payload"] = payload if answer.get("value") is None else answer["value"]
        return confirmed


def _value(answer: Answer) -> dict[str, Any]:
    value = answer.get("value")
    if answer.get("decision") not in POSITIVE:
        return {"error": answer.get("reason") or value or DECLINED}
    return value if isinstance(value, dict) else {"result": value}


class _Plugin(BasePlugin):
    def __init__(self, turn: Any, decisions: dict[str, Answer]) -> None:
        super().__init__(name="mobox")
        self._turn, self._decisions = turn, decisions

    async def before_tool_callback(
        self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any
    ) -> dict[str, Any] | None:
        """The result of a call that was denied."""
        answer = self._decisions.get(tool_context.function_call_id)
        if answer is None or answer.get("decision") in POSITIVE:
            return None
        return {"error": f"{DENIED} {answer.get('reason') or ''}".rstrip()}

    async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> None:
        """Add the page's tools."""
        is_root = callback_context.session.id == self._turn.chat_id and not callback_context.branch
        tools = self._turn.frontend["tools"] if is_root else []
        new = [_PageTool(tool) for tool in tools if tool.get("name") not in llm_request.tools_dict]
        llm_request.append_tools(new)


class _PageTool(BaseTool):
    """A tool of the page: a call has no result until the page has run it."""

    def __init__(self, tool: dict[str, Any]) -> None:
        name = str(tool.get("name"))
        about = str(tool.get("description") or name)
        super().__init__(name=name, description=about, is_long_running=True)
        self._parameters = tool.get("parameters") or NOTHING

    def _get_declaration(self) -> Any:
        about = {"name": self.name, "description": self.description}
        return types.FunctionDeclaration(**about, parameters_json_schema=self._parameters)

    async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> None:
        """Return nothing: the result comes with the next turn."""
