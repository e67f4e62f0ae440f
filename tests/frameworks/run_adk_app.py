"""Drive `mobox.frameworks.adk.agent` in an app, and print what came of it as JSON.

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
from pathlib import Path
from typing import Any

from google.adk.agents import Agent, SequentialAgent
from google.adk.apps.app import App
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.sessions import InMemorySessionService
from google.adk.tools import FunctionTool, LongRunningFunctionTool, ToolContext
from google.genai import types

import mobox
from frameworks.function_app import FunctionApp, of
from frameworks.scripted_anthropic import call, say
from frameworks.scripted_gemini import ScriptedGemini, scripted_gemini
from mobox.events.turn import Frontend, FrontendTool
from mobox.frameworks import adk

END = [say("That is all.")]
LIMIT = 60
SCRIPTS = {
    "talk": [[say("One.")], [say("Two.")], [say("Three.")]],
    "delete": [[call("call_1", "delete_file", path="a.txt")], END, [say("Indeed.")]],
    "hold": [[call("call_1", "hold")], [say("I was stopped.")]],
    "form": [
        [call("call_1", "fill_form", who="Ann"), call("call_2", "count")],
        END,
        [say("Indeed.")],
    ],
    "mixed": [[call("call_1", "fill_form"), call("call_2", "delete_file", path="a")], END],
    "count": [[call("call_1", "count")], END, [call("call_2", "count")], END],
    "trip": [[call("call_1", "book", days=9)], END],
    "ticket": [[call("call_1", "order", what="tea")], [say("Ordered.")], [say("It is here.")]],
    "break": [[call("call_1", "fail")], END],
    "save": [[call("call_1", "save")], END],
}
EFFECTS: list[str] = []
HELD = asyncio.Event()


def delete_file(path: str) -> str:
    """Delete a file."""
    EFFECTS.append(f"deleted {path}")
    return f"deleted {path}"


DELETE = FunctionTool(delete_file, require_confirmation=True)


async def hold() -> str:
    """Hold."""
    EFFECTS.append("held")
    HELD.set()
    await asyncio.Event().wait()
    return "released"


def count(tool_context: ToolContext) -> str:
    """Count."""
    tool_context.state["count"] = tool_context.state.get("count", 0) + 1
    return f"{tool_context.state['count']}"


def book(days: int, tool_context: ToolContext) -> str:
    """Book a trip; a person says for how many days."""
    if tool_context.tool_confirmation is None:
        tool_context.request_confirmation(hint="How many days?", payload={"days": days})
        return "asked"
    EFFECTS.append(f"booked {tool_context.tool_confirmation.payload['days']}")
    return "booked"


def order(what: str) -> dict[str, str]:
    """Order something, which takes long."""
    EFFECTS.append(f"ordered {what}")
    return {"result": "ticket 7"}


def fail() -> str:
    """Fail."""
    raise ValueError("kaput")


async def save(tool_context: ToolContext) -> str:
    """Save an artifact."""
    part = types.Part.from_bytes(data=b"words", mime_type="text/plain")
    return str(await tool_context.save_artifact("words.txt", part))


class Model(BaseLlm):
    """A model of one agent, with its answers in order, for conversations of several agents."""

    answers: list[Any]
    seen: list[Any]

    async def generate_content_async(self, request: Any, stream: bool = False) -> Any:
        parts = [part for content in request.contents for part in content.parts]
        self.seen.append([part.text or (part.function_response and "result") for part in parts])
        part = self.answers.pop(0)
        content = types.Content(role="model", parts=[part])
        yield LlmResponse(content=content, partial=False, finish_reason="STOP")


def words(text: str) -> types.Part:
    return types.Part(text=text)


def calls(call_id: str, name: str, **args: Any) -> types.Part:
    return types.Part(function_call=types.FunctionCall(id=call_id, name=name, args=args))


def model(*answers: types.Part) -> Model:
    return Model(model="scripted", answers=list(answers), seen=[])


TWICE = (calls("call_1", "delete_file", path="a"), calls("call_2", "delete_file", path="b"))


def agent(*tools: Any, name: str = "boss", **more: Any) -> Agent:
    return Agent(**{"name": name, "model": "gemini-scripted", "tools": list(tools), **more})


def app_with(endpoint: ScriptedGemini, chat: str, thing: Any, **options: Any) -> FunctionApp:
    return FunctionApp(endpoint, chat, adk.agent("tested", thing, **options))


def told(app: FunctionApp, *but: str) -> list[list[str]]:
    """What the model was given last, without the empty text that ends a streamed answer."""
    return [item for item in app.told(*but) if item != ["text", ""]]


def files(chat: str, pattern: str) -> list[Path]:
    """The files of a chat's app."""
    return list(Path(chat).rglob(pattern))


def asked(events: list[Any]) -> list[str]:
    """The requests of a pause."""
    return [name for (name,) in of("input_request", events, "id")]


async def approved_later(endpoint: ScriptedGemini) -> Any:
    """The app is closed while the run waits; the tokens of both executions are counted once."""
    async with app_with(endpoint, "later", agent(DELETE)) as app:
        first = await app.say("[[delete later]] Go.", "paused")
        await app.reopen()
        second = await app.answer(asked(first)[0], decision="approved")
    stored = [file.name for file in files("later", "adk/*")]
    request = of("input_request", first, "kind", "tool_call_id", "prompt")
    used = of("usage", [*first, *second], "input", "execution")
    return [request, EFFECTS.copy(), told(app)[-1], used, stored]


async def denied(endpoint: ScriptedGemini) -> Any:
    async with app_with(endpoint, "denied", agent(DELETE)) as app:
        first = await app.say("[[delete denied]] Go.", "paused")
        events = await app.answer(asked(first)[0], decision="denied", reason="The only copy.")
    return [EFFECTS.copy(), of("tool_result", events, "status"), told(app)[-1]]


async def payload(endpoint: ScriptedGemini) -> Any:
    """A tool asks for a value: the person's, or what it has proposed."""
    found = []
    answers: list[dict[str, Any]] = [{"decision": "answered", "value": {"days": 3}}]
    for number, answer in enumerate([*answers, {"decision": "approved"}]):
        async with app_with(endpoint, f"trip-{number}", agent(book)) as app:
            first = await app.say(f"[[trip trip-{number}]] Go.", "paused")
            await app.answer(asked(first)[0], **answer)
            found.append(of("input_request", first, "prompt", "schema"))
    return [found, EFFECTS.copy()]


async def lost_session(endpoint: ScriptedGemini) -> Any:
    """The session is not there any more: answers are refused, a message gets the chat's log."""
    async with app_with(endpoint, "lost", agent(DELETE)) as app:
        first = await app.say("[[delete lost]] Go.", "paused")
        for file in files("lost", "sessions.sqlite*"):
            file.unlink()
        events = await app.answer(asked(first)[0], decision="approved")
        await app.say("And now?")
    return [EFFECTS.copy(), of("error", events, "code"), told(app)]


async def went_on(endpoint: ScriptedGemini) -> Any:
    """A message instead of a decision: the model is told that the call was not made."""
    async with app_with(endpoint, "went-on", agent(DELETE)) as app:
        await app.say("[[delete went-on]] Go.", "paused")
        await app.say("Never mind.")
    return [EFFECTS.copy(), told(app)]


async def stopped(endpoint: ScriptedGemini) -> Any:
    """A stop inside a tool: the next message has the call, as interrupted."""
    async with app_with(endpoint, "stopped", agent(hold)) as app:
        HELD.clear()
        await app.begin("[[hold stopped]] Go.")
        await HELD.wait()
        await app.stop()
        await app.say("What happened?")
    return [EFFECTS.copy(), told(app)]


async def state(endpoint: ScriptedGemini) -> Any:
    """The state of the session continues, and goes back with the messages."""
    boss = agent(count, instruction="{greeting}")
    async with app_with(endpoint, "count", boss, state={"greeting": "Hello"}) as app:
        await app.say("[[count count]] Go.")
        await app.say("Again.")
        first = told(app)
        await app.regenerate()
    return [first[-1], told(app) == first, endpoint.requests[-1]["systemInstruction"]["parts"]]


async def other_agent(endpoint: ScriptedGemini) -> Any:
    """What another agent has answered is added from the chat's log."""

    @mobox.agent("other", framework="emitted")
    async def other(turn: mobox.Turn) -> AsyncIterator[object]:
        yield {"type": "tool_use", "data": {"id": "look_1", "name": "look", "input": {"at": "sky"}}}
        yield {"type": "tool_result", "data": {"tool_use_id": "look_1", "content": "blue"}}
        yield {"type": "text", "data": {"content": "It is blue."}}

    first = adk.agent("tested", agent(count))
    async with FunctionApp(endpoint, "others", first, other) as app:
        await app.say("[[talk others]] Go.", agent="tested")
        await app.say("And the sky?", agent="other")
        await app.say("Sure?", agent="tested")
        found = [told(app)]
        await app.regenerate()
        found.append(told(app) == found[0])
    return found


async def own_services(endpoint: ScriptedGemini) -> Any:
    """A session service of the author's own, and an app with a plugin."""
    seen = []

    class Watcher(BasePlugin):
        async def before_model_callback(self, **_: Any) -> None:
            seen.append("asked")

    service = InMemorySessionService()
    made = App(name="own", root_agent=agent(count), plugins=[Watcher(name="watcher")])
    async with app_with(endpoint, "own", made, session_service=service) as app:
        await app.say("[[talk own]] Go.")
        await app.say("And then?")
        await app.regenerate()
    listed = (await service.list_sessions(app_name="own")).sessions
    return [told(app), seen, [each.id for each in listed]]


async def page_tools(endpoint: ScriptedGemini) -> Any:
    """The page runs a tool, or fails to; the model is not asked before."""
    schema = {"type": "object", "properties": {"who": {"type": "string"}}}
    page = Frontend(tools=(FrontendTool(name="fill_form", parameters=schema),))
    found: list[Any] = []
    answers: tuple[dict[str, Any], ...] = (
        {"decision": "answered", "value": {"filled": True}},
        {"decision": "answered", "value": "filled"},
        {"decision": "denied", "reason": "No such form."},
    )
    for number, answer in enumerate(answers):
        chat = f"form-{number}"
        async with app_with(endpoint, chat, agent(count)) as app:
            events = await app.say(f"[[form {chat}]] Go.", "paused", frontend=page)
            asked_for = len(endpoint.conversations(chat))
            await app.reopen()
            events += await app.answer("call_1", **answer)
        found.append(
            [
                of("input_request", events, "kind", "tool_call_id"),
                asked_for,
                of("tool_result", events, "id", "output", "status"),
                told(app)[-2:],
                of("done", events, "reason"),
            ]
        )
    return found


async def page_and_person(endpoint: ScriptedGemini) -> Any:
    """One pause waits for the page and for a person."""
    page = Frontend(tools=(FrontendTool(name="fill_form", parameters={}),))
    async with app_with(endpoint, "mixed", agent(DELETE)) as app:
        events = await app.say("[[mixed mixed]] Go.", "paused", frontend=page)
        names = asked(events)
        confirmation = next(name for name in names if name != "call_1")
        await app.answer("call_1", "paused", decision="answered", value="ok")
        events = await app.answer(confirmation, decision="approved")
    return [EFFECTS.copy(), sorted(of("tool_result", events, "id", "output")), told(app)[1:]]


async def long_running(endpoint: ScriptedGemini) -> Any:
    """A tool of the agent that takes long: the model continues, and gets the result later."""
    async with app_with(endpoint, "ticket", agent(LongRunningFunctionTool(order))) as app:
        events = await app.say("[[ticket ticket]] Go.", "paused")
        await app.reopen()
        later = await app.answer("call_1", decision="answered", value="tea")
    results = of("tool_result", [*events, *later], "output", "partial")
    return [EFFECTS.copy(), results, told(app), of("text", later, "content")]


async def subagents(endpoint: ScriptedGemini) -> Any:
    """A subagent pauses twice, each time in another process."""
    ends = {
        "task": calls("call_f", "finish_task", result="It is clean."),
        "single_turn": words("It is clean."),
    }
    found = {}
    for mode, end in ends.items():
        EFFECTS.clear()
        inner = model(*TWICE, end)
        helper = agent(DELETE, name="helper", mode=mode, description="Helps.", model=inner)
        outer = model(calls("call_o", "helper", request="Clean."), words("That is all."))
        async with app_with(endpoint, mode, agent(sub_agents=[helper], model=outer)) as app:
            events = await app.say("Go.", "paused")
            request = of("input_request", events, "tool_call_id", "scope")
            for until in ("paused", "done"):
                await app.reopen()
                events = await app.answer(asked(events)[-1], until, decision="approved")
        found[mode] = [
            request,
            EFFECTS.copy(),
            of("tool_result", events, "id", "scope"),
            of("subagent_end", events, "id"),
            of("done", events, "reason"),
            of("raw", events, "source"),
            [seen[0] for seen in inner.seen],
        ]
    return found


async def transferred(endpoint: ScriptedGemini) -> Any:
    """An agent to which the first one has transferred answers the next message too."""
    helper = agent(name="helper", description="Helps.", model=model(words("A."), words("B.")))
    first = model(calls("call_1", "transfer_to_agent", agent_name="helper"))
    async with app_with(endpoint, "transfer", agent(sub_agents=[helper], model=first)) as app:
        events = await app.say("Go.")
        again = await app.say("And then?")
    names = [of("step_start", each, "name") for each in (events, again)]
    return [names, of("status", events, "message"), of("text", again, "content")]


async def sequence(endpoint: ScriptedGemini) -> Any:
    """After a pause in the first agent of a sequence, the second one has its turn."""
    first = agent(DELETE, name="first", model=model(*TWICE, words("A.")))
    second = agent(name="second", model=model(words("B.")))
    both = SequentialAgent(name="both", sub_agents=[first, second])
    async with app_with(endpoint, "sequence", both) as app:
        events = await app.say("Go.", "paused")
        for until in ("paused", "done"):
            await app.reopen()
            events = await app.answer(asked(events)[-1], until, decision="approved")
    return [EFFECTS.copy(), of("text", events, "content")]


async def broken_tool(endpoint: ScriptedGemini) -> Any:
    """A tool that raises ends the run; the next message has its call."""
    async with app_with(endpoint, "break", agent(fail)) as app:
        events = await app.say("[[break break]] Go.")
        await app.say("What happened?")
    errors, results = of("error", events, "message"), of("tool_result", events, "status")
    return [errors, results, [kind for kind, _ in told(app)]]


async def artifacts(endpoint: ScriptedGemini) -> Any:
    async with app_with(endpoint, "save", agent(save)) as app:
        events = await app.say("[[save save]] Go.")
    saved = [each.read_text() for each in files("save", "words.txt") if each.is_file()]
    return [of("file", events, "name"), saved]


async def made_by_functions(endpoint: ScriptedGemini) -> Any:
    """What returns an agent: an async function, a context manager; anything else is an error."""
    closed = []

    async def later() -> Agent:
        return agent(count, name="later")

    @asynccontextmanager
    async def opened() -> AsyncIterator[Agent]:
        yield agent(count, name="opened")
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
    *(approved_later, denied, payload, lost_session, went_on, stopped, state, other_agent),
    *(own_services, page_tools, page_and_person, long_running, subagents, transferred, sequence),
    *(broken_tool, artifacts, made_by_functions),
)


async def main(*names: str) -> None:
    found: dict[str, Any] = {}
    with scripted_gemini(SCRIPTS) as endpoint:
        os.environ["GOOGLE_GEMINI_BASE_URL"] = endpoint.url
        for case in CASES:
            if names and case.__name__ not in names:
                continue
            EFFECTS.clear()
            work = asyncio.wait_for(case(endpoint), LIMIT)
            [found[case.__name__]] = await asyncio.gather(work, return_exceptions=True)
    sys.stdout.write(json.dumps(found, default=repr))


asyncio.run(main(*sys.argv[1:]))
