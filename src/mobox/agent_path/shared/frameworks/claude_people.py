"""Asks a person on behalf of the Claude Agent SDK: approvals, questions, and the page's tools.

Rule 1: a request is asked after its call was emitted and stored, and waits in the SDK's callback.
        Its id is made of the call's, so that another process finds the answer.
Rule 2: the program asks for one call after the other. Further calls of the same tool in the same
        message are asked with the first, and their answers kept until the program asks; only for
        tools of MCP servers, whose rules do not depend on the input.
Rule 3: the journal knows a call as asked until just before it is let through.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from .claude_asking import Answer, Asking, Request
from .claude_calls import Call, Calls
from .claude_memory import Journal

__all__ = ["PAGE", "Person", "answer_text", "approval", "page_result", "question"]

PAGE = "mcp__page__"
"""The name that the program puts before the page's tools."""
QUESTIONS = "AskUserQuestion"
DECISIONS = ("approve", "edit", "reject", "respond")
DENIED = "The user denied this call."
STOPPED = "The user stopped the run."
FAILED = "The page could not run this call."


def approval(call: str) -> str:
    """The id of the request to approve a call."""
    return f"may_{call}"


def question(call: str, number: int) -> str:
    """The id of a call's question."""
    return f"ask_{call}_{number}"


def page_result(call: str) -> str:
    """The id of the request to run a tool of the page."""
    return f"result_of_{call}"


def answer_text(value: Any) -> str:
    """An answer as words: several of a list's options are joined."""
    if isinstance(value, list):
        return ", ".join(answer_text(each) for each in value)
    return value if isinstance(value, str) else json.dumps(value)


class Person:
    """Who is asked in one turn; `own` is the `can_use_tool` of the options."""

    def __init__(self, sdk: Any, turn: Any, journal: Journal, own: Any = None) -> None:
        self._sdk, self._own, self._journal = sdk, own, journal
        self._asking = Asking(turn, journal)
        self._approvals: dict[str, asyncio.Task[Answer]] = {}
        self._calls = Calls()

    @property
    def is_waited_for(self) -> bool:
        """Whether something waits for an answer."""
        return self._asking.is_waiting

    async def see(self, message: Any) -> None:
        """A message was emitted."""
        await self._calls.see(message)

    def leave(self) -> None:
        """The process ends: wait for nobody."""
        for task in self._approvals.values():
            task.cancel()

    # Approvals

    async def may_use(self, name: str, arguments: dict[str, Any], context: Any) -> Any:
        """The SDK's `can_use_tool`."""
        decided = await self._own(name, arguments, context) if self._own is not None else None
        if decided is not None:
            return decided
        if name == QUESTIONS:
            return await self._questions(context.tool_use_id, arguments)
        answer = self._asking.known(approval(context.tool_use_id))
        if answer is None:
            answer = await self._approval(await self._calls.find(context.tool_use_id, name))
        if answer["decision"] not in ("approved", "edited"):
            return self._denied(answer)
        self._journal.let(context.tool_use_id)
        is_edited = answer["decision"] == "edited" and isinstance(answer["value"], dict)
        given = answer["value"] if is_edited else arguments
        return self._sdk.PermissionResultAllow(updated_input=given)

    async def _approval(self, call: Call) -> Answer:
        if call.id not in self._approvals:
            alike = [call] if self._own is not None else await self._calls.like(call)
            new = [each for each in alike if each.id not in self._approvals]
            group = asyncio.ensure_future(self._ask_to_approve(new))
            for number, each in enumerate(new):
                self._approvals[each.id] = asyncio.ensure_future(_one_of(group, number))
        return await self._approvals[call.id]

    async def _ask_to_approve(self, calls: list[Call]) -> list[Any]:
        for call in calls:
            if not call.scope:  # a subagent's call cannot be resumed
                await self._journal.ask(call.id)
        return self._asking.ask(*(_to_approve(call) for call in calls))

    def _denied(self, answer: Answer) -> Any:
        if answer["decision"] == "answered":  # the person's words instead of the tool's
            return self._sdk.PermissionResultDeny(message=answer_text(answer["value"]))
        is_stop = answer["decision"] == "cancelled" and self._asking.is_stopping
        message = STOPPED if is_stop else answer.get("reason") or DENIED
        return self._sdk.PermissionResultDeny(message=message, interrupt=is_stop)

    # Questions

    async def _questions(self, call_id: str, arguments: dict[str, Any]) -> Any:
        call = await self._calls.find(call_id, QUESTIONS)
        questions = arguments.get("questions") or []
        if not call.scope:
            await self._journal.ask(call.id)
        requests = [_to_answer(call, number, each) for number, each in enumerate(questions)]
        answers = await asyncio.gather(*self._asking.ask(*requests))
        refused = [each for each in answers if each["decision"] != "answered"]
        if refused:
            return self._denied(refused[0])
        self._journal.let(call.id)
        pairs = zip([each["question"] for each in questions], answers)
        texts = {name: answer_text(answer["value"]) for name, answer in pairs}
        return self._sdk.PermissionResultAllow(updated_input={**arguments, "answers": texts})

    # The page's tools

    def page_tool(self, tool: dict[str, Any]) -> Any:
        """A tool of the page as one of the SDK's."""
        name = str(tool.get("name"))

        async def call_page(arguments: dict[str, Any]) -> dict[str, Any]:
            return await self._call_page(await self._calls.take(PAGE + name, arguments))

        schema = tool.get("parameters") or {"type": "object", "properties": {}}
        return self._sdk.tool(name, str(tool.get("description") or name), schema)(call_page)

    async def _call_page(self, call: Call) -> dict[str, Any]:
        if not call.scope:
            await self._journal.ask(call.id)
        about = {"tool_call_id": call.id, **_scope(call)}
        (waiting,) = self._asking.ask(Request(page_result(call.id), "tool", None, about))
        answer = await waiting
        has_run = answer["decision"] == "answered"
        words = answer_text(answer["value"]) if has_run else answer.get("reason") or FAILED
        return {"content": [{"type": "text", "text": words}], "is_error": not has_run}


async def _one_of(group: asyncio.Task[list[Any]], number: int) -> Answer:
    answer: Answer = await (await asyncio.shield(group))[number]
    return answer


def _to_approve(call: Call) -> Request:
    about = {"tool_call_id": call.id, "allowed": list(DECISIONS), **_scope(call)}
    return Request(approval(call.id), "approval", f"Allow {call.name}?", about)


def _to_answer(call: Call, number: int, asked: dict[str, Any]) -> Request:
    labels = [option.get("label") for option in asked.get("options") or []]
    about = {"options": labels, **_scope(call)}
    return Request(question(call.id, number), "question", str(asked.get("question") or ""), about)


def _scope(call: Call) -> dict[str, Any]:
    return {"scope": list(call.scope)} if call.scope else {}
