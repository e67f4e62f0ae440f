"""Agents on the Claude Agent SDK: `run(options)`.

    from claude_agent_sdk import ClaudeAgentOptions
    from shared.frameworks.claude import run
    run(ClaudeAgentOptions(system_prompt="You are brief."))

The SDK's own sessions are the memory; they are kept in the chat's state folder. docs/claude.md
describes memory, approvals, questions, the page's tools and errors.

Rule 1: the options' own rules decide what needs an approval; a person is asked instead of a prompt.
Rule 2: a run that waits for a person keeps its process; if that has ended, claude_late.py gives the
        calls their results.
Rule 3: a stop interrupts the session, so that it can be continued; while it waits for a person, the
        session is left as it is.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import tempfile
import uuid
import warnings
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from dataclasses import asdict, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from ..control import Turn, read_turn
from ..objects import emit_object
from ..output import write_exit
from .claude_content import Block, content_of, history_of, prompt_of, result, text
from .claude_late import AGAIN, Late, deferred_session, late_results
from .claude_memory import Journal, Memory, Record, Sessions
from .claude_people import PAGE, Person
from .loading import load

__all__ = ["messages", "run", "stream"]

LOWEST, BELOW = "0.2.182", "0.3"
SECONDS_TO_STOP = 0.8
"""How long a stopped session may take to end; the process is terminated after a second."""
SECONDS_TO_DEFER = 30.0
"""How long the program may take to make a deferred call, until it is reported as not made."""


def run(options: Any = None, **more: Any) -> None:
    """Run an agent for the turn of this process; the arguments are those of `stream`."""
    _load()
    turn = read_turn()
    if asyncio.run(_emit(options, turn, more)):
        sys.stderr.flush()
        os._exit(130)  # a tool in a thread would keep the process
    write_exit()


async def _emit(options: Any, turn: Turn, more: dict[str, Any]) -> bool:
    """Emit all messages; whether it was stopped."""
    task = asyncio.current_task()
    assert task is not None
    with suppress(NotImplementedError):  # not on Windows
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, task.cancel)
    try:
        async with aclosing(stream(options, turn, **more)) as native:
            async for message in native:
                emit_object(message)
    except asyncio.CancelledError:
        return True
    return False


def messages(turn: Any) -> list[dict[str, Any]]:
    """The prompt as a message of the SDK's streaming input, with the history before it."""
    return [_message([*history_of(turn), *prompt_of(turn)])]


async def stream(options: Any, turn: Any, **more: Any) -> AsyncGenerator[Any, None]:
    """The SDK's messages for one turn.

    `options` is a `ClaudeAgentOptions`, a function of the turn that returns one, or `None`; `more`
    are fields of it that replace those of `options`.
    """
    sdk = _load()
    given = options(turn) if callable(options) else options or sdk.ClaudeAgentOptions()
    async with aclosing(_Execution(sdk, replace(given, **more), turn).messages()) as native:
        async for message in native:
            yield message


class _Execution:
    """One turn of a session."""

    def __init__(self, sdk: Any, options: Any, turn: Any) -> None:
        folder = _folder(turn) / "claude"
        home = Path(options.env.get("CLAUDE_CONFIG_DIR") or folder / "home")
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._sdk, self._turn = sdk, turn
        self._options = replace(options, env={"CLAUDE_CONFIG_DIR": str(home), **options.env})
        self._memory, self._sessions = Memory(folder / "runs"), Sessions(home, folder)
        self._has_ended = False

    async def messages(self) -> AsyncGenerator[Any, None]:
        """The messages of the turn, with the results that an earlier process has left to it."""
        journal, resumed = self._begin()
        late = await late_results(self._turn, self._options, journal)
        if late.results and self._turn.kind == "answers":  # else they are an earlier run's calls
            yield self._late_message(late)
        person = Person(self._sdk, self._turn, journal, self._options.can_use_tool)
        options = self._with_person(person, resumed)
        if late.deferred is not None:
            async with aclosing(self._deferred(late.deferred, options, journal, person)) as native:
                async for message in native:
                    yield message
            if self._has_ended:
                return
            late = Late([result(late.deferred, AGAIN, True)])
            yield self._late_message(late)
        content = self._content(late, is_new=not resumed)
        async with aclosing(self._talk(options, journal, person, content)) as native:
            async for message in native:
                yield message

    # The start

    def _begin(self) -> tuple[Journal, dict[str, Any]]:
        """The journal of this run, and the options to go on from where it starts."""
        turn = self._turn
        found = self._memory.read(turn.run_id if turn.kind == "answers" else turn.parent)
        resumed = self._sessions.options(found) if found is not None else None
        if found is None or resumed is None:
            return Journal(self._memory, self._sessions, Record(turn.run_id)), {}
        if "fork_session" not in resumed:
            self._sessions.belongs_to(found.session, turn.run_id)
        record = replace(found, run=turn.run_id, is_whole=False)
        return Journal(self._memory, self._sessions, record), resumed

    def _with_person(self, person: Person, resumed: dict[str, Any]) -> Any:
        tools = self._turn.frontend["tools"]
        named = [PAGE + str(tool.get("name")) for tool in tools]
        servers = self._options.mcp_servers
        if tools and isinstance(servers, dict):
            made = [person.page_tool(tool) for tool in tools]
            page = self._sdk.create_sdk_mcp_server(PAGE.split("__")[1], tools=made)
            servers = {**servers, PAGE.split("__")[1]: page}
        elif tools:
            sys.stderr.write("mobox: the page's tools need `mcp_servers` to be a dict\n")
        return replace(
            self._options,
            mcp_servers=servers,
            allowed_tools=[*self._options.allowed_tools, *named],
            can_use_tool=person.may_use,
            include_partial_messages=True,
            forward_subagent_text=True,
            continue_conversation=False,
            session_id=None,
            **{"resume": None, "fork_session": False, "resume_session_at": None, **resumed},
        )

    def _content(self, late: Late, is_new: bool) -> list[Block]:
        earlier = history_of(self._turn) if is_new else []
        blocks = [*earlier, *late.results, *prompt_of(self._turn)]
        if is_new and self._turn.kind == "answers":
            blocks.append(text(f"The user has answered meanwhile: {self._turn.answers}"))
        return blocks or [text("Continue.")]

    def _late_message(self, late: Late) -> Any:
        """The results as the SDK's own message: the program does not repeat what it is given."""
        blocks = [
            self._sdk.ToolResultBlock(each["tool_use_id"], each["content"], each.get("is_error"))
            for each in late.results
        ]
        return self._sdk.UserMessage(content=blocks)

    # The session

    async def _talk(
        self, options: Any, journal: Journal, person: Person, content: list[Block]
    ) -> AsyncGenerator[Any, None]:
        name = str(uuid.uuid4())

        async def prompt() -> AsyncGenerator[dict[str, Any], None]:
            yield _message(content, name)

        client = self._sdk.ClaudeSDKClient(options)
        try:
            await client.connect(prompt())
            async for message in self._received(client, journal, name):
                yield _shown(message)
                await person.see(message)
            self._has_ended = True
        finally:
            await self._close(client, journal, person)

    async def _deferred(
        self, call: str, options: Any, journal: Journal, person: Person
    ) -> AsyncGenerator[Any, None]:
        """Let the program make the deferred call and go on; another version may not know how to."""
        session = deferred_session(self._sessions, journal.record)
        resumed = {"resume": session, "fork_session": False, "resume_session_at": None}
        flags = {**_agents_flag(options), **options.extra_args}
        client = self._sdk.ClaudeSDKClient(replace(options, extra_args=flags, **resumed))
        try:
            await client.connect()
            received = self._received(client, journal)
            while not self._has_ended:
                seconds = SECONDS_TO_DEFER if call in journal.record.asked else None
                message = await _next(received, seconds)
                if message is None:
                    return
                yield _shown(message)
                await person.see(message)
                self._has_ended = type(message).__name__ == "ResultMessage"
        finally:
            await self._close(client, journal, person)

    async def _received(
        self, client: Any, journal: Journal, prompt: str = ""
    ) -> AsyncGenerator[Any, None]:
        """The messages, recorded. A failed result is the error: the SDK's exception repeats it."""
        has_failed = False
        try:
            async for message in client.receive_messages():
                has_failed = getattr(message, "is_error", False) is True
                yield journal.see(message, prompt)
        except Exception:
            if not has_failed:
                raise

    async def _close(self, client: Any, journal: Journal, person: Person) -> None:
        if not self._has_ended:
            with suppress(Exception):
                await asyncio.wait_for(_stop(client, journal, person), SECONDS_TO_STOP)
        person.leave()
        await client.disconnect()


async def _stop(client: Any, journal: Journal, person: Person) -> None:
    """End the session's turn, so that it can be continued later."""
    if person.is_waited_for:
        journal.freeze()
        person.leave()
    else:
        await client.interrupt()
    async for message in client.receive_messages():
        journal.see(message)
        if type(message).__name__ == "ResultMessage":
            return


async def _next(received: AsyncGenerator[Any, None], seconds: float | None = None) -> Any:
    """The next message; `None` if there is none, or none in time."""
    try:
        return await asyncio.wait_for(received.__anext__(), seconds)
    except (asyncio.TimeoutError, StopAsyncIteration):
        return None


def _message(content: list[Block], name: str | None = None) -> dict[str, Any]:
    said = {"role": "user", "content": content_of(content)}
    named = {} if name is None else {"uuid": name}
    return {"type": "user", "message": said, "parent_tool_use_id": None, **named}


def _agents_flag(options: Any) -> dict[str, str]:
    """The subagents as the program's flag: it makes a deferred call before the SDK names them."""
    agents = {
        name: {field: value for field, value in asdict(each).items() if value is not None}
        for name, each in (options.agents or {}).items()
    }
    return {"agents": json.dumps(agents)} if agents else {}


def _shown(message: Any) -> Any:
    """A message in which the page's tools have the names that the page knows."""
    if type(message).__name__ == "StreamEvent":
        block = message.event.get("content_block") or {}
        if str(block.get("name")).startswith(PAGE):
            renamed = {**block, "name": block["name"][len(PAGE) :]}
            return replace(message, event={**message.event, "content_block": renamed})
    if type(message).__name__ == "AssistantMessage":
        return replace(message, content=[_shown_block(block) for block in message.content])
    return message


def _shown_block(block: Any) -> Any:
    name = getattr(block, "name", None)
    is_page = isinstance(name, str) and name.startswith(PAGE)
    return replace(block, name=name[len(PAGE) :]) if is_page and name is not None else block


def _folder(turn: Any) -> Path:
    """The chat's state folder; a temporary one by hand."""
    own = getattr(turn, "folder", None) or os.environ.get("MOBOX_STATE")
    return Path(own) if own else Path(tempfile.mkdtemp(prefix="mobox-claude-"))


def _load() -> Any:
    load("claude-agent-sdk", LOWEST, BELOW, "claude_agent_sdk")
    sdk = import_module("claude_agent_sdk")
    # It warns about rules that allow tools without a question, which is what they are for.
    warnings.filterwarnings("ignore", category=sdk.CanUseToolShadowedWarning)
    return sdk
