"""Asks a person on behalf of the Claude Agent SDK: approvals, questions, and the page's tools.

Rule 1: a request is asked after its call was emitted, and waits in the SDK's callback. Its id is
        made of the call's, so that another process finds the answer.
Rule 2: the program asks for one call after the other. Further calls of the same tool in the same
        message are asked at once with the first, and their answers kept until the program asks;
        only for tools of MCP servers, whose rules do not depend on the input.
Rule 3: the journal knows a call as asked until just before it is let through.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from .. import control, emitter
from .claude_memory import Journal, calls_of

__all__ = ["PAGE", "Calls", "Person", "approval", "page_result", "question", "spoken"]

PAGE = "mcp__page__"
"""The name that the program puts before the page's tools."""
QUESTIONS = "AskUserQuestion"
MOST_SECONDS = 5.0
"""How long a call that is asked about may take to be emitted."""
DECISIONS = ("approve", "edit", "reject", "respond")
DENIED = "The user denied this call."
STOPPED = "The user stopped the run."


def approval(call: str) -> str:
    """The id of the request to approve a call."""
    return f"may_{call}"


def question(call: str, number: int) -> str:
    """The id of a call's question."""
    return f"ask_{call}_{number}"


def page_result(call: str) -> str:
    """The id of the request to run a tool of the page."""
    return f"result_of_{call}"


class Call(NamedTuple):
    """A call of a tool."""

    id: str
    name: str
    input: Any
    message: str | None
    scope: tuple[str, ...]


class Calls:
    """The calls that were emitted."""

    def __init__(self) -> None:
        self._calls: dict[str, Call] = {}
        self._taken: set[str] = set()
        self._changed = asyncio.Condition()

    async def see(self, message: Any) -> list[Call]:
        """A message was emitted: its calls."""
        parent = getattr(message, "parent_tool_use_id", None)
        scope = () if parent is None else (*self._scope(parent), parent)
        of = getattr(message, "message_id", None)
        found = [
            Call(name, call["name"], call["input"], of, scope)
            for name, call in calls_of(message).items()
        ]
        async with self._changed:
            self._calls.update({call.id: call for call in found})
            self._changed.notify_all()
        return found

    async def find(self, call_id: str) -> Call:
        """A call by its id, once it was emitted."""
        await self._until(lambda: call_id in self._calls)
        return self._calls.get(call_id) or Call(call_id, "", {}, None, ())

    async def take(self, name: str, arguments: Any) -> Call:
        """The first call of a tool with this input that was not taken before."""

        def fits() -> Call | None:
            fit = (c for c in self._calls.values() if c.name == name and c.input == arguments)
            return next((call for call in fit if call.id not in self._taken), None)

        await self._until(lambda: fits() is not None)
        call = fits() or Call("", name, arguments, None, ())
        self._taken.add(call.id)
        return call

    def like(self, call: Call) -> list[Call]:
        """The calls of the same tool in the same message."""
        return [each for each in self._calls.values() if _is_like(each, call)]

    def _scope(self, call_id: str) -> tuple[str, ...]:
        return self._calls[call_id].scope if call_id in self._calls else ()

    async def _until(self, happens: Callable[[], bool]) -> None:
        async def wait() -> None:
            async with self._changed:
                await self._changed.wait_for(happens)

        try:
            await asyncio.wait_for(wait(), MOST_SECONDS)
        except asyncio.TimeoutError:
            return


def _is_like(one: Call, other: Call) -> bool:
    same = (one.name, one.message) == (other.name, other.message)
    return same and one.message is not None and one.name.startswith("mcp__")


class Person:
    """Who is asked in one turn."""

    def __init__(self, sdk: Any, turn: Any, journal: Journal, own: Any = None) -> None:
        self._sdk, self._turn, self._journal = sdk, turn, journal
        self._own = own
        self._asked: dict[str, asyncio.Task[dict[str, Any]]] = {}
        self._waiting = 0
        self.calls = Calls()

    @property
    def is_waited_for(self) -> bool:
        """Whether something waits for an answer."""
        return self._waiting > 0

    async def see(self, message: Any) -> None:
        """A message was emitted: ask about its calls that are like one that is asked about."""
        for call in await self.calls.see(message):
            if any(each.id in self._asked for each in self.calls.like(call)):
                self._approval(call)

    def leave(self) -> None:
        """The process ends: wait for nobody."""
        for task in self._asked.values():
            task.cancel()

    # Approvals

    async def may_use(self, name: str, arguments: dict[str, Any], context: Any) -> Any:
        """The SDK's `can_use_tool`."""
        if self._own is not None:
            decided = await self._own(name, arguments, context)
            if decided is not None:
                return decided
        call = (await self.calls.find(context.tool_use_id))._replace(name=name, input=arguments)
        if name == QUESTIONS:
            return await self._questions(call)
        answer = await self._answer(call)
        if answer["decision"] in ("approved", "edited"):
            self._journal.let(call.id)
            edited = answer["decision"] == "edited" and isinstance(answer["value"], dict)
            return self._sdk.PermissionResultAllow(
                updated_input=answer["value"] if edited else arguments
            )
        return self._denied(answer)

    async def _answer(self, call: Call) -> dict[str, Any]:
        if self._own is None:
            for other in self.calls.like(call):
                self._approval(other)
        return await self._approval(call)

    def _approval(self, call: Call) -> asyncio.Task[dict[str, Any]]:
        if call.id not in self._asked:
            self._asked[call.id] = asyncio.ensure_future(self._ask_to_approve(call))
        return self._asked[call.id]

    async def _ask_to_approve(self, call: Call) -> Any:
        if not call.scope:  # a subagent's call cannot be resumed
            await self._journal.ask(call.id)
        about = {"tool_call_id": call.id, "allowed": list(DECISIONS), **_scope(call)}
        return await self.ask(approval(call.id), f"Allow {call.name}?", "approval", **about)

    def _denied(self, answer: dict[str, Any]) -> Any:
        if answer["decision"] == "answered":  # the person's words instead of the tool's
            return self._sdk.PermissionResultDeny(message=spoken(answer["value"]))
        is_stop = answer["decision"] == "cancelled" and self._is_stopping()
        message = STOPPED if is_stop else answer.get("reason") or DENIED
        return self._sdk.PermissionResultDeny(message=message, interrupt=is_stop)

    # Questions

    async def _questions(self, call: Call) -> Any:
        questions = call.input.get("questions") or []
        await self._journal.ask(call.id)
        asked = [self._question(call, number, each) for number, each in enumerate(questions)]
        answers = await asyncio.gather(*asked)
        refused = [each for each in answers if each["decision"] != "answered"]
        if refused:
            return self._denied(refused[0])
        self._journal.let(call.id)
        told = {
            each["question"]: spoken(answer["value"]) for each, answer in zip(questions, answers)
        }
        return self._sdk.PermissionResultAllow(updated_input={**call.input, "answers": told})

    async def _question(self, call: Call, number: int, each: dict[str, Any]) -> dict[str, Any]:
        labels = [option.get("label") for option in each.get("options") or []]
        name, asked = question(call.id, number), str(each.get("question") or "")
        answer: dict[str, Any] = await self.ask(name, asked, options=labels, **_scope(call))
        return answer

    # The page's tools

    def page_tool(self, tool: dict[str, Any]) -> Any:
        """A tool of the page as one of the SDK's."""
        name = str(tool.get("name"))

        async def call_page(arguments: dict[str, Any]) -> dict[str, Any]:
            call = await self.calls.take(PAGE + name, arguments)
            request = page_result(call.id)
            await self._journal.ask(call.id)
            answer = await self.ask(request, None, kind="tool", tool_call_id=call.id)
            ran = answer["decision"] == "answered"
            said = spoken(answer["value"]) if ran else answer.get("reason") or "It failed."
            return {"content": [{"type": "text", "text": said}], "is_error": not ran}

        schema = tool.get("parameters") or {"type": "object", "properties": {}}
        return self._sdk.tool(name, str(tool.get("description") or name), schema)(call_page)

    # Asking

    async def ask(self, request: str, prompt: Any, kind: str = "question", **more: Any) -> Any:
        """Ask and wait for the answer: `decision`, `value`, `reason`."""
        self._waiting += 1
        try:
            answer = await self._asked_of(request, prompt, kind, more)
        except asyncio.CancelledError:
            if not self._is_stopping():
                raise
            answer = {}
        finally:
            self._waiting -= not self._is_stopping()
        if self._is_stopping():  # it waits on in the next process, which gets the answer
            self._journal.freeze()
            return dict(control.CANCELLED)
        return answer

    async def _asked_of(self, request: str, prompt: Any, kind: str, more: dict[str, Any]) -> Any:
        if hasattr(self._turn, "ask"):  # of a function agent
            return _plain(await self._turn.ask(prompt, kind, id=request, **more))
        return await _in_thread(lambda: emitter.ask(prompt, kind, id=request, **more))

    def _is_stopping(self) -> bool:
        return bool(getattr(self._turn, "stopping", False) or control.stopping())


def _scope(call: Call) -> dict[str, Any]:
    return {"scope": list(call.scope)} if call.scope else {}


def _plain(answer: Any) -> dict[str, Any]:
    return {name: getattr(answer, name) for name in ("decision", "value", "reason")}


def spoken(value: Any) -> str:
    """An answer as words: several of a list's options are joined."""
    if isinstance(value, list):
        return ", ".join(spoken(each) for each in value)
    return value if isinstance(value, str) else json.dumps(value)


async def _in_thread(function: Callable[[], Any]) -> Any:
    """Call it in a thread of its own: those of a pool are few, and block the end of the process."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()

    def finish(value: Any) -> None:
        if not done.done():
            done.set_result(value)

    def work() -> None:
        value = function()
        if not loop.is_closed():
            loop.call_soon_threadsafe(finish, value)

    threading.Thread(target=work, name="mobox-ask", daemon=True).start()
    return await done
