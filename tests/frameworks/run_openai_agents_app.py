"""Drive `mobox.frameworks.openai_agents.agent` in an app, and print what came of it as JSON.

The tests run it with the Python of the frameworks' venv, in an empty folder. The model is a
scripted endpoint in this process.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel

import mobox.emitter
from agents import Agent, RunContextWrapper, SQLiteSession, ToolOutputImage, function_tool
from frameworks.function_app import FunctionApp, of
from frameworks.scripted_anthropic import call, say
from frameworks.scripted_openai import ScriptedOpenAI, scripted_openai
from mobox.events.turn import Frontend, FrontendTool
from mobox.frameworks import openai_agents

END = [say("That is all.")]
LIMIT = 60
PIXEL = "data:image/png;base64,iVBORw0KGgo="
SCRIPTS = {
    "talk": [[say("One.")], [say("Two.")], [say("Three.")]],
    "delete": [[call("call_1", "delete_file", path="a.txt")], END],
    "hold": [[call("call_1", "hold")], [say("I was stopped.")]],
    "count": [[call("call_1", "count")], [call("call_2", "ask_count")], END],
    "form": [[call("call_1", "fill_form", who="Ann")], END],
    "paint": [[call("call_1", "paint")], END, [say("Blue.")]],
    "city": [[say('{"name": "Lisbon"}')]],
    "clean": [[call("call_o", "clean", input="[[inner clean]] Clean.")], END],
    "inner": [[call("call_i", "delete_file", path="a.txt")], [say("It is clean.")]],
    "hand": [
        [call("call_1", "transfer_to_writer")],
        [call("call_2", "delete_file", path="b")],
        END,
    ],
}
EFFECTS: list[str] = []
HELD = asyncio.Event()


@function_tool(needs_approval=True)
def delete_file(path: str) -> str:
    """Delete a file."""
    EFFECTS.append(f"deleted {path}")
    return f"deleted {path}"


@function_tool
async def hold() -> str:
    """Hold."""
    HELD.set()
    await asyncio.Event().wait()
    return "released"


@function_tool
def paint() -> ToolOutputImage:
    """Paint."""
    return ToolOutputImage(image_url=PIXEL)


class City(BaseModel):
    name: str


def app_with(endpoint: ScriptedOpenAI, chat: str, thing: Any, **options: Any) -> FunctionApp:
    return FunctionApp(endpoint, chat, openai_agents.agent("tested", thing, **options))


def states(chat: str) -> list[Path]:
    """The stored states of paused runs."""
    return list(Path(chat).rglob("openai-agents/*"))


async def approved_later(endpoint: ScriptedOpenAI) -> Any:
    """The app is closed while the run waits; the tokens of both executions are counted once."""
    async with app_with(endpoint, "later", Agent(name="a", tools=[delete_file])) as app:
        first = await app.say("[[delete later]] Go.", "paused")
        stored = [file.stat().st_mode & 0o777 for file in states("later")]
        await app.reopen()
        second = await app.answer("call_1", decision="approved")
        left = [file.name for file in states("later")]
    used = of("usage", [*first, *second], "per", "input", "execution")
    turns = of("result", [*first, *second], "num_turns")
    return [stored, EFFECTS.copy(), app.told()[-1], used, turns, left]


async def denied(endpoint: ScriptedOpenAI) -> Any:
    async with app_with(endpoint, "denied", Agent(name="a", tools=[delete_file])) as app:
        await app.say("[[delete denied]] Go.", "paused")
        events = await app.answer("call_1", decision="denied", reason="It is the only copy.")
    return [EFFECTS.copy(), of("tool_result", events, "status", "output"), app.told()[-1]]


async def lost_state(endpoint: ScriptedOpenAI) -> Any:
    """The state is not there any more: an error says so, and nothing is called."""
    async with app_with(endpoint, "lost", Agent(name="a", tools=[delete_file])) as app:
        await app.say("[[delete lost]] Go.", "paused")
        for file in states("lost"):
            file.unlink()
        events = await app.answer("call_1", decision="approved")
    return [EFFECTS.copy(), of("error", events, "code")]


async def stopped(endpoint: ScriptedOpenAI) -> Any:
    """A stop inside a tool: the next message has the call, as interrupted."""
    async with app_with(endpoint, "stopped", Agent(name="a", tools=[hold])) as app:
        HELD.clear()
        await app.begin("[[hold stopped]] Go.")
        await HELD.wait()
        await app.stop()
        await app.say("What happened?")
    return app.told()


async def session(endpoint: ScriptedOpenAI) -> Any:
    """A session continues, goes back, and is refilled after a stop inside a tool."""

    def made(turn: Any) -> SQLiteSession:
        return SQLiteSession(turn.chat_id, turn.folder / "session.sqlite")

    told = []
    async with app_with(endpoint, "session", Agent(name="a", tools=[hold]), session=made) as app:
        await app.say("[[talk session]] Go.")
        await app.say("And then?")
        told.append(app.told())
        await app.regenerate()
        told.append(app.told())
    async with app_with(endpoint, "halted", Agent(name="a", tools=[hold]), session=made) as app:
        HELD.clear()
        await app.begin("[[hold halted]] Go.")
        await HELD.wait()
        await app.stop()
        await app.say("What happened?")
        told.append(app.told())
    more = {"session": made, "max_turns": 1}
    async with app_with(endpoint, "again", Agent(name="a", tools=[paint]), **more) as app:
        await app.say("[[paint again]] Go.")
        await app.regenerate()
        told.append(app.told())
    return told


async def context(endpoint: ScriptedOpenAI) -> Any:
    """A dict is stored with the pause; another object is made again."""

    @dataclass
    class Counter:
        counts: list[str] = field(default_factory=list)

    def noted(wrapper: RunContextWrapper[Any]) -> str:
        given = wrapper.context
        counts = given.counts if isinstance(given, Counter) else given.setdefault("counts", [])
        counts.append("x")
        return f"{type(given).__name__} {len(counts)}"

    @function_tool
    def count(wrapper: RunContextWrapper[Any]) -> str:
        """Count."""
        return noted(wrapper)

    @function_tool(needs_approval=True)
    def ask_count(wrapper: RunContextWrapper[Any]) -> str:
        """Count, if it is approved."""
        return noted(wrapper)

    found = []
    for chat, made in (("dict", lambda turn: {}), ("object", lambda turn: Counter())):
        agent = Agent(name="a", tools=[count, ask_count])
        async with app_with(endpoint, chat, agent, context=made) as app:
            await app.say(f"[[count {chat}]] Go.", "paused")
            await app.answer("call_2", decision="approved")
        found.append([text for kind, text in app.told() if kind == "result"])
    return found


async def page_tools(endpoint: ScriptedOpenAI) -> Any:
    """The page runs a tool, or fails to."""
    schema = {"type": "object", "properties": {"who": {"type": "string"}}}
    page = Frontend(tools=(FrontendTool(name="fill_form", parameters=schema),))
    found: list[Any] = []
    answers: tuple[dict[str, Any], ...] = (
        {"decision": "answered", "value": {"filled": True}},
        {"decision": "denied", "reason": "No such form."},
    )
    for number, answer in enumerate(answers):
        chat = f"form-{number}"
        writer = Agent(name="writer")
        async with app_with(endpoint, chat, Agent(name="a", handoffs=[writer])) as app:
            asked = await app.say(f"[[form {chat}]] Go.", "paused", frontend=page)
            events = await app.answer("call_1", **answer)
        found.append(of("input_request", asked, "kind", "tool_call_id"))
        found.append([app.told()[-1], of("tool_result", events, "status")])
    return found


async def images(endpoint: ScriptedOpenAI) -> Any:
    """An image of a tool is in the next turn's input too."""
    async with app_with(endpoint, "paint", Agent(name="a", tools=[paint])) as app:
        await app.say("[[paint paint]] Go.")
        await app.say("Which colour?")
    [output] = [each for each in endpoint.requests[-1]["input"] if "output" in each]
    return output["output"]


async def structured(endpoint: ScriptedOpenAI) -> Any:
    async with app_with(endpoint, "city", Agent(name="a", output_type=City)) as app:
        events = await app.say("[[city city]] Go.")
    deltas = "".join(delta for (delta,) in of("text_delta", events, "delta"))
    return [deltas, of("text", events, "content"), of("done", events, "reason")]


async def too_many_turns(endpoint: ScriptedOpenAI) -> Any:
    agent = Agent(name="a", tools=[paint])
    async with app_with(endpoint, "turns", agent, max_turns=1) as app:
        events = await app.say("[[paint turns]] Go.")
    return [of("error", events, "code"), of("done", events, "reason")]


async def inner_approval(endpoint: ScriptedOpenAI) -> Any:
    """A call inside an agent that is a tool is approved after the app was closed."""
    cleaner = Agent(name="cleaner", tools=[delete_file])
    clean = cleaner.as_tool("clean", "Cleans.", on_stream=mobox.emitter.emit_object)
    async with app_with(endpoint, "clean", Agent(name="a", tools=[clean])) as app:
        asked = await app.say("[[clean clean]] Go.", "paused")
        await app.reopen()
        events = await app.answer("call_i", decision="approved")
    return [
        of("input_request", asked, "tool_call_id", "scope"),
        EFFECTS.copy(),
        of("tool_result", events, "id", "scope", "output"),
        of("subagent_end", events, "id", "agent"),
        app.told("inner")[-1],
        of("done", events, "reason"),
    ]


async def handed_off(endpoint: ScriptedOpenAI) -> Any:
    """The other agent's call is approved; the next message has the hand-off in its input."""
    writer = Agent(name="writer", tools=[delete_file])
    async with app_with(endpoint, "hand", Agent(name="a", handoffs=[writer])) as app:
        started = await app.say("[[hand hand]] Go.", "paused")
        await app.reopen()
        await app.answer("call_2", decision="approved")
    kinds = of("tool_use_start", started, "name", "kind")
    return [kinds, EFFECTS.copy(), [kind for kind, _ in app.told()]]


async def made_by_functions(endpoint: ScriptedOpenAI) -> Any:
    """What returns an agent: an async function, a context manager; anything else is an error."""
    closed = []

    async def later() -> Agent:
        return Agent(name="later")

    @asynccontextmanager
    async def opened() -> AsyncIterator[Agent]:
        yield Agent(name="opened")
        closed.append("closed")

    found = []
    things: list[tuple[Any, dict[str, Any]]] = [
        (later, {}),
        (opened, {}),
        (lambda: "no agent", {}),
        (later, {"conversation_id": "c"}),
    ]
    for number, (thing, options) in enumerate(things):
        chat = f"made-{number}"
        async with app_with(endpoint, chat, thing, **options) as app:
            events = await app.say(f"[[talk {chat}]] Go.")
        found.append(of("done", events, "reason"))
    return [found, closed]


CASES = (
    *(approved_later, denied, lost_state, stopped, session, context, page_tools, images),
    *(structured, too_many_turns, inner_approval, handed_off, made_by_functions),
)


async def main() -> None:
    found: dict[str, Any] = {}
    with scripted_openai(SCRIPTS) as endpoint:
        os.environ["OPENAI_BASE_URL"] = endpoint.url
        for case in CASES:
            EFFECTS.clear()
            work = asyncio.wait_for(case(endpoint), LIMIT)
            [found[case.__name__]] = await asyncio.gather(work, return_exceptions=True)
    sys.stdout.write(json.dumps(found, default=repr))


asyncio.run(main())
