"""Drive `mobox.frameworks.claude.agent` in an app, and print what came of it as JSON.

The tests run it with the Python of the frameworks' venv, in an empty folder, with the code of the
app's page as its argument. The model is a scripted endpoint in this process.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, create_sdk_mcp_server, tool
from scripted_anthropic import ScriptedAnthropic, call, say, scripted_anthropic

import mobox
from mobox.events.turn import Answer
from mobox.frameworks import claude

DELETE, HOLD = "mcp__files__delete_file", "mcp__files__hold"
SCRIPTS = {
    "talk": [[say("One.")], [say("Two.")]],
    "delete": [[call("call_1", DELETE, path="a.txt")], [say("That is all.")]],
    "hold": [[call("call_1", HOLD)], [say("I was stopped.")]],
}
EFFECTS: list[str] = []
HELD = asyncio.Event()


@tool("delete_file", "Deletes a file", {"path": str})
async def delete_file(arguments: dict[str, Any]) -> dict[str, Any]:
    EFFECTS.append(f"deleted {arguments['path']}")
    return {"content": [{"type": "text", "text": "deleted"}]}


@tool("hold", "Holds", {})
async def hold(arguments: dict[str, Any]) -> dict[str, Any]:
    HELD.set()
    await asyncio.Event().wait()
    return {}


OPTIONS = ClaudeAgentOptions(
    mcp_servers={"files": create_sdk_mcp_server("files", tools=[delete_file, hold])},
    allowed_tools=[HOLD],
    setting_sources=[],
)


async def read(box: mobox.Mobox, run: Any, until: str) -> list[dict[str, Any]]:
    """The events of a run until one of a type."""
    events = []
    async for entry in box.log("ann", run.id):
        events.append(entry.event.as_json())
        if entry.event.type == until:
            break
    return events


async def say_in(box: mobox.Mobox, chat: str, words: str, until: str = "done") -> Any:
    run = await box.begin("ann", words, chat_id=chat)
    return run, await read(box, run, until)


def told(endpoint: ScriptedAnthropic, chat: str) -> list[list[str]]:
    """What the model was given last, without what the program adds."""
    items = endpoint.conversations(chat)[-1]
    added = ("<system-reminder>", "# Environment", "[Request interrupted")
    return [[i.kind, i.text] for i in items if i.kind != "user" or not i.text.startswith(added)]


async def page(endpoint: ScriptedAnthropic, code: str) -> Any:
    """The app of the page remembers."""
    names: dict[str, Any] = {"__name__": "app"}
    exec(compile(code, "app.py", "exec"), names)
    async with names["box"] as box:
        await say_in(box, "page", "[[talk page]] Go.")
        await say_in(box, "page", "And then?")
    return told(endpoint, "page")


async def approved(endpoint: ScriptedAnthropic, chat: str, is_closed: bool) -> Any:
    """A call is approved while the function waits, or after the app was closed and opened."""
    options: Any = {"agents": [claude.agent("files", OPTIONS)], "data": chat}
    EFFECTS.clear()
    async with AsyncExitStack() as opened:
        box = await opened.enter_async_context(mobox.Mobox(**options))
        run, events = await say_in(box, chat, f"[[delete {chat}]] Go.", "paused")
        (request,) = [event for event in events if event["type"] == "input_request"]
        if is_closed:
            await opened.aclose()
            box = await opened.enter_async_context(mobox.Mobox(**options))
        await box.answer("ann", run.id, Answer(request_id=request["id"], decision="approved"))
        await read(box, run, "done")
    return [EFFECTS.copy(), told(endpoint, chat)[-1], len(endpoint.conversations(chat))]


async def stopped(endpoint: ScriptedAnthropic) -> Any:
    """A stop inside a tool leaves the session usable."""
    agents = [claude.agent("files", OPTIONS)]
    async with mobox.Mobox(agents=agents, database_url="memory:") as box:
        run = await box.begin("ann", "[[hold stopped]] Go.", chat_id="stopped")
        await HELD.wait()
        await box.stop("ann", run.id)
        await read(box, run, "done")
        await say_in(box, "stopped", "What happened?")
    return [kind for kind, _ in told(endpoint, "stopped")]


async def main(code: str) -> None:
    with scripted_anthropic(SCRIPTS) as endpoint:
        os.environ["ANTHROPIC_BASE_URL"] = endpoint.url
        cases = {
            "page": await page(endpoint, code),
            "approved": await approved(endpoint, "live", is_closed=False),
            "approved_later": await approved(endpoint, "later", is_closed=True),
            "stopped": await stopped(endpoint),
        }
    sys.stdout.write(json.dumps(cases))


asyncio.run(main(Path(sys.argv[1]).read_text()))
