"""Drive `mobox.frameworks.smolagents.agent` in an app, and print what came of it as JSON.

The tests run it with the Python of the frameworks' venv, in an empty folder. The model is a
scripted endpoint in this process.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

from smolagents import CodeAgent, LogLevel, OpenAIModel, ToolCallingAgent, UserInputTool, tool
from smolagents.local_python_executor import PythonExecutor

from frameworks.function_app import FunctionApp, of
from frameworks.scripted_anthropic import call, fail, say
from frameworks.scripted_openai import ScriptedOpenAI, scripted_openai
from mobox.events.turn import Frontend, FrontendTool, PromptFile
from mobox.frameworks import smolagents
from mobox.frameworks.smolagents import needs_approval

LIMIT = 60
DOT = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAA"
    "BQABpfZFQAAAAABJRU5ErkJggg=="
)


def code(*lines: str) -> list[Any]:
    return [say("\n".join(["Thought: Now.", "<code>", *lines, "</code>"]))]


END = code("final_answer('That is all.')")
DELETE = code("look_up('Lisbon')", "print(delete_file(path='a.txt'))", "note('after')")


def final(answer: str) -> list[Any]:
    return [call("call_end", "final_answer", answer=answer)]


SCRIPTS = {
    "look": [code("city = look_up('Lisbon')", "print(city)"), END, END, END],
    "fails": [code("broken(1)"), END],
    "delete": [DELETE, END, END],
    "set": [code("delete_file(path={'a.txt'})"), END],
    "loop": [code("for n in range(300):", "    look_up(str(n))"), END],
    "boss": [code("print(cleaner(task='[[inner {chat}]] Clean.'))"), END],
    "inner": [[call("call_1", "delete_file", path="a.txt")], final("It is clean.")],
    "both": [
        [
            call("call_1", "cleaner", task="[[first {chat}]] Go."),
            call("call_2", "cleaner", task="[[second {chat}]] Go."),
        ],
        final("Both."),
    ],
    "first": [[call("call_a", "look_up", city="Lisbon")], final("One.")],
    "second": [[call("call_b", "look_up", city="Porto")], final("Two.")],
    "broken": [[fail(400, "invalid_request_error", "No such model.")]],
    "ask_broken": [code("cleaner(task='[[broken {chat}]] Go.')"), END],
    "form": [code("print(fill_form(who='Ann')['filled'])"), END],
    "call_form": [[call("call_1", "fill_form", who="Ann")], final("That is all.")],
    "question": [code("print(user_input('Which one?'))"), END],
    "hold": [code("look_up('Lisbon')", "hold()", "note('after')"), END],
    "talk": [final("One."), final("Two."), final("Three.")],
}
EFFECTS: list[str] = []
HELD, RELEASED = threading.Event(), threading.Event()


@tool
def look_up(city: str) -> str:
    """Look up the weather.

    Args:
        city: Where.
    """
    return f"21 degrees in {city}"


@tool
def delete_file(path: str) -> str:
    """Delete a file.

    Args:
        path: Which one.
    """
    EFFECTS.append(f"deleted {path}")
    return f"deleted {path}"


@tool
def note(text: str) -> str:
    """Note something.

    Args:
        text: What.
    """
    EFFECTS.append(text)
    return "noted"


@tool
def hold() -> None:
    """Hold."""
    HELD.set()
    RELEASED.wait()


@tool
def broken(number: int) -> str:
    """Fail.

    Args:
        number: Any.
    """
    raise ValueError(f"no {number}")


def model() -> OpenAIModel:
    url = os.environ["OPENAI_BASE_URL"]
    return OpenAIModel("gpt", api_base=url, api_key="none", retry=False)


def coder(*tools: Any, **more: Any) -> CodeAgent:
    return CodeAgent(list(tools), model(), verbosity_level=LogLevel.OFF, **more)


def caller(*tools: Any, **more: Any) -> ToolCallingAgent:
    return ToolCallingAgent(list(tools), model(), verbosity_level=LogLevel.OFF, **more)


def cleaner(*tools: Any) -> ToolCallingAgent:
    return caller(*tools, name="cleaner", description="Cleans.")


class App(FunctionApp):
    """An app with one agent of smolagents."""

    def __init__(self, endpoint: ScriptedOpenAI, chat: str, thing: Any, **options: Any) -> None:
        super().__init__(endpoint, chat, smolagents.agent("tested", thing, **options))

    def observed(self, *but: str) -> str:
        """The last thing that the model was told."""
        return self.items(*but)[-1].text


def stored(chat: str) -> list[Path]:
    """The files of a chat's runs."""
    return list(Path(chat).rglob("smolagents/*"))


def request_of(events: list[dict[str, Any]]) -> str:
    [[name]] = of("input_request", events, "id")
    return str(name)


def calls_of(events: list[dict[str, Any]]) -> list[Any]:
    return [
        of("tool_use_start", events, "id", "name", "kind", "scope"),
        of("tool_result", events, "id", "output", "status", "scope"),
    ]


# Calls of code


async def calls_of_code(endpoint: ScriptedOpenAI) -> Any:
    async with App(endpoint, "look", coder(look_up)) as app:
        events = await app.say("[[look look]] Go.")
        again = await app.say("Again.")
    told = [text for kind, text in app.told() if kind == "user"]
    answers = of("text", events, "content") + of("text", again, "content")
    return [calls_of(events), answers, told, of("raw", events + again, "raw")]


async def failing_call(endpoint: ScriptedOpenAI) -> Any:
    async with App(endpoint, "fails", coder(broken)) as app:
        events = await app.say("[[fails fails]] Go.")
    return [of("tool_result", events, "id", "output", "status"), app.observed()]


async def many_calls(endpoint: ScriptedOpenAI) -> Any:
    """A loop makes more calls than are shown."""
    async with App(endpoint, "loop", coder(look_up)) as app:
        events = await app.say("[[loop loop]] Go.")
    return [len(of("tool_use_start", events)), of("done", events, "reason")]


# Approvals


async def decided(endpoint: ScriptedOpenAI) -> Any:
    """Each decision about a call of code."""
    found = []
    decisions: tuple[dict[str, Any], ...] = (
        {"decision": "approved"},
        {"decision": "edited", "value": {"path": "b.txt"}},
        {"decision": "denied", "reason": "It is the only copy."},
        {"decision": "answered", "value": "It is gone already."},
    )
    for number, decision in enumerate(decisions):
        EFFECTS.clear()
        chat = f"decided-{number}"
        async with App(endpoint, chat, coder(look_up, needs_approval(delete_file), note)) as app:
            asked = await app.say(f"[[delete {chat}]] Go.", "paused")
            before = EFFECTS.copy()
            events = await app.answer(request_of(asked), **decision)
        results = of("tool_result", events, "id", "output", "status")
        found.append([before, EFFECTS.copy(), results[0], app.observed()])
    requests = of("input_request", asked, "kind", "tool_call_id", "prompt", "allowed")
    return [requests, found]


async def approved_later(endpoint: ScriptedOpenAI) -> Any:
    """The app is closed while code waits; the call is made once, and the code is not run again."""
    agent = coder(look_up, needs_approval(delete_file), note)
    async with App(endpoint, "later", agent) as app:
        asked = await app.say("[[delete later]] Go.", "paused")
        modes = [file.stat().st_mode & 0o777 for file in stored("later")]
        await app.reopen()
        events = await app.answer(request_of(asked), decision="approved")
        observed = app.observed()
        await app.say("Really?")
        again = app.told()
    results = of("tool_result", events, "id", "output", "status")
    usage = of("usage", asked + events, "input")
    done = of("done", events, "reason")
    return [modes, EFFECTS.copy(), results, observed, usage, done, again]


async def denied_later(endpoint: ScriptedOpenAI) -> Any:
    agent = coder(look_up, needs_approval(delete_file), note)
    async with App(endpoint, "refused", agent) as app:
        asked = await app.say("[[delete refused]] Go.", "paused")
        await app.reopen()
        events = await app.answer(request_of(asked), decision="denied", reason="No.")
    results = of("tool_result", events, "id", "status")
    return [EFFECTS.copy(), results, app.observed()]


async def not_json(endpoint: ScriptedOpenAI) -> Any:
    """An argument that cannot be stored: the call is not made with another one."""
    async with App(endpoint, "set", coder(needs_approval(delete_file))) as app:
        asked = await app.say("[[set set]] Go.", "paused")
        await app.reopen()
        await app.answer(request_of(asked), decision="approved")
    return [EFFECTS.copy(), app.observed()]


async def another_message(endpoint: ScriptedOpenAI) -> Any:
    """A person sends a message instead of a decision."""
    agent = coder(look_up, needs_approval(delete_file), note)
    async with App(endpoint, "instead", agent) as app:
        await app.say("[[delete instead]] Go.", "paused")
        await app.say("Never mind.")
    return [EFFECTS.copy(), app.observed()]


async def lost_steps(endpoint: ScriptedOpenAI) -> Any:
    agent = coder(look_up, needs_approval(delete_file), note)
    async with App(endpoint, "lost", agent) as app:
        asked = await app.say("[[delete lost]] Go.", "paused")
        await app.reopen()
        for file in stored("lost"):
            file.unlink()
        events = await app.answer(request_of(asked), decision="approved")
    return [EFFECTS.copy(), of("error", events, "code")]


async def marks(_endpoint: ScriptedOpenAI) -> Any:
    """What a tool with a mark does without the helper, and which marks there are."""
    found = []
    marked = needs_approval(delete_file, when=lambda path: path != "tmp.txt")
    for work in (lambda: marked(path="a.txt"), lambda: needs_approval(delete_file, allow=["no"])):
        try:
            work()
        except (PermissionError, ValueError) as error:
            found.append(str(error))
    return [found, marked.name, marked.to_code_prompt() == delete_file.to_code_prompt()]


async def only_some(endpoint: ScriptedOpenAI) -> Any:
    """A condition decides which calls have to be approved."""
    marked = needs_approval(delete_file, when=lambda path: path != "a.txt", prompt="Sure?")
    async with App(endpoint, "some", coder(look_up, marked, note)) as app:
        events = await app.say("[[delete some]] Go.")
    return [EFFECTS.copy(), of("input_request", events)]


async def elsewhere(endpoint: ScriptedOpenAI) -> Any:
    """Code that runs in another process cannot ask."""

    class Remote(PythonExecutor):
        def send_tools(self, tools: Any) -> None: ...
        def send_variables(self, variables: Any) -> None: ...
        def __call__(self, code_action: str) -> Any: ...

    async with App(endpoint, "remote", coder(needs_approval(note), executor=Remote())) as app:
        events = await app.say("[[look remote]] Go.")
    return of("error", events, "code")


# Managed agents


async def nested(endpoint: ScriptedOpenAI) -> Any:
    boss = coder(managed_agents=[cleaner(needs_approval(delete_file))])
    async with App(endpoint, "boss", boss) as app:
        asked = await app.say("[[boss boss]] Go.", "paused")
        events = await app.answer(request_of(asked), decision="approved")
    return [
        of("input_request", asked, "tool_call_id", "scope"),
        of("subagent_start", asked, "id", "agent"),
        of("subagent_end", events, "id", "summary"),
        calls_of(asked + events),
        of("done", events, "reason"),
    ]


async def nested_later(endpoint: ScriptedOpenAI) -> Any:
    boss = coder(managed_agents=[cleaner(needs_approval(delete_file))])
    async with App(endpoint, "boss2", boss) as app:
        asked = await app.say("[[boss boss2]] Go.", "paused")
        await app.reopen()
        events = await app.answer(request_of(asked), decision="approved")
    results = of("tool_result", events, "id", "status", "scope")
    return [EFFECTS.copy(), results, app.observed("inner"), of("done", events, "reason")]


async def two_at_once(endpoint: ScriptedOpenAI) -> Any:
    """A message calls a managed agent twice, at the same time."""
    async with App(endpoint, "both", caller(managed_agents=[cleaner(look_up)])) as app:
        events = await app.say("[[both both]] Go.")
    ends = of("subagent_end", events, "id", "summary")
    inner = of("tool_result", events, "id", "scope", "output")
    return [sorted(ends), sorted(each for each in inner if each[1]), of("text", events, "content")]


async def failing_agent(endpoint: ScriptedOpenAI) -> Any:
    async with App(endpoint, "sick", coder(managed_agents=[cleaner()])) as app:
        events = await app.say("[[ask_broken sick]] Go.")
    results = of("tool_result", events, "id", "status")
    return [results, "No such model." in app.observed("broken"), of("done", events, "reason")]


# The page, questions, images


async def page_tools(endpoint: ScriptedOpenAI) -> Any:
    schema = {
        "type": "object",
        "properties": {"who": {"type": "string"}, "why": {"type": ["string", "null"]}},
        "required": ["who"],
    }
    tools = (FrontendTool(name="fill_form", parameters=schema), FrontendTool(name="no-name"))
    page = Frontend(tools=tools)
    answered = {"decision": "answered", "value": {"filled": True}}
    failed = {"decision": "denied", "reason": "No such form."}
    found: list[Any] = []
    for make, script, answer, later in (
        (coder, "form", answered, False),
        (coder, "form", answered, True),
        (caller, "call_form", answered, False),
        (caller, "call_form", failed, False),
    ):
        chat = f"{script}-{answer['decision']}-{later}".replace("_", "-")
        async with App(endpoint, chat, make()) as app:
            asked = await app.say(f"[[{script} {chat}]] Go.", "paused", frontend=page)
            if later:
                await app.reopen()
            events = await app.answer(request_of(asked), **answer)
        requests = of("input_request", asked, "kind", "tool_call_id")
        found.append([requests, of("tool_result", events, "status")[0], app.observed()])
    return found


async def question(endpoint: ScriptedOpenAI) -> Any:
    async with App(endpoint, "question", coder(UserInputTool())) as app:
        asked = await app.say("[[question question]] Go.", "paused")
        await app.answer(request_of(asked), decision="answered", value="The red one.")
    return [of("input_request", asked, "kind", "prompt"), app.observed()]


async def images(endpoint: ScriptedOpenAI) -> Any:
    """An image is told once in each request, also in later turns; other files are named."""
    files = (
        PromptFile(media_type="image/png", url=DOT),
        PromptFile(media_type="application/zip", url="data:application/zip;base64,UEs=", name="a"),
        PromptFile(media_type="text/plain", url="data:text/plain;base64,SGk=", name="hi.txt"),
    )
    async with App(endpoint, "images", coder(look_up)) as app:
        await app.say("[[look images]] What is it?", "done", *files)
        first = app.told()
        await app.say("Which colour?")
    shown = [item.kind for item in app.items()].count("image")
    return [first[0], [kind for kind, _ in first].count("image"), shown]


# Turns


async def stopped(endpoint: ScriptedOpenAI) -> Any:
    """A stop inside of code: the next message has its calls, and none is made again."""
    HELD.clear()
    async with App(endpoint, "stopped", coder(look_up, hold, note)) as app:
        await app.begin("[[hold stopped]] Go.")
        await asyncio.to_thread(HELD.wait)
        await app.stop()
        RELEASED.set()
        await app.say("What happened?")
    return [EFFECTS.copy(), app.observed()]


async def two_chats(endpoint: ScriptedOpenAI) -> Any:
    """Two chats use the same agent at once."""
    shared = caller()
    answer = {}

    async def talk(chat: str) -> None:
        async with App(endpoint, chat, shared) as app:
            for words in (f"[[talk {chat}]] Go.", "And then?", "And now?"):
                answer[chat] = of("text", await app.say(words), "content")

    await asyncio.gather(talk("left"), talk("right"))
    return [answer, len(shared.memory.steps), shared.monitor.step_durations]


async def without_files(endpoint: ScriptedOpenAI) -> Any:
    """The steps of a run are not there any more: its messages are."""
    async with App(endpoint, "foreign", coder(look_up)) as app:
        await app.say("[[look foreign]] Go.")
        for file in stored("foreign"):
            file.unlink()
        await app.say("And then?")
    return app.told()


async def limit(endpoint: ScriptedOpenAI) -> Any:
    async with App(endpoint, "limit", coder(look_up), max_steps=1) as app:
        events = await app.say("[[look limit]] Go.")
    return of("done", events, "reason")


async def options(endpoint: ScriptedOpenAI) -> Any:
    """Functions of the turn make the task and its variables; another one makes the agent."""
    async with App(
        endpoint,
        "options",
        lambda: coder(look_up),
        task=lambda turn: f"[[look options]] For {turn.chat_id}.",
        additional_args=lambda turn: {"limit": 3},
    ) as app:
        events = await app.say("Go.")
        told = app.told()
    async with App(endpoint, "nothing", lambda: "no agent") as app:
        wrong = await app.say("Go.")
    [task] = [text for kind, text in told if text.startswith("New task")]
    return [task, of("done", events + wrong, "reason")]


CASES = (
    *(calls_of_code, failing_call, many_calls, decided, approved_later, denied_later, not_json),
    *(another_message, lost_steps, marks, only_some, elsewhere, nested, nested_later),
    *(two_at_once, failing_agent, page_tools, question, images, stopped, two_chats),
    *(without_files, limit, options),
)


async def main() -> None:
    found: dict[str, Any] = {}
    with scripted_openai(SCRIPTS) as endpoint:
        os.environ["OPENAI_BASE_URL"] = endpoint.url
        for case in CASES:
            EFFECTS.clear()
            work = asyncio.wait_for(case(endpoint), LIMIT)
            [found[case.__name__]] = await asyncio.gather(work, return_exceptions=True)
    sys.stdout.write(f"\n{json.dumps(found, default=repr)}\n")


asyncio.run(main())
