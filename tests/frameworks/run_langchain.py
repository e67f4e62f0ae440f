"""Drive `shared.frameworks.langchain` turn by turn, and print what came of it as JSON.

The tests run it with the Python of the frameworks' venv; each case is a function that returns a
JSON value. The model is a scripted endpoint in this process.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_anthropic import ChatAnthropic
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Interrupt, interrupt
from scripted_anthropic import ScriptedAnthropic, call, conversation, say, scripted_anthropic
from typing_extensions import TypedDict

from mobox.agent_path.shared.control import Turn
from mobox.agent_path.shared.frameworks import langchain, loading
from mobox.agent_path.shared.frameworks.langchain_answers import Interrupts, resume_values
from mobox.agent_path.shared.frameworks.langchain_saver import FileSaver
from mobox.capture.callable import SdkObjects
from mobox.capture.pipeline import Recorder
from mobox.events import LogEntry

Json = dict[str, Any]

SCRIPTS = {
    "talk": [[say("One.")], [say("Two.")], [say("Three.")]],
    "send": [[call("c1", "send", to="a@b.c")], [say("Sent.")]],
    "show": [
        [call("c1", "show", what="map"), call("c2", "show", what="list"), call("c3", "note", x=1)],
        [say("Shown.")],
    ],
    "none": [[say("One.")], [say("Two.")]],
}


class Chat:
    """The turns of one chat, with the log that becomes of each."""

    def __init__(self, thing: Any, **options: Any) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.history: list[Json] = []
        self.runs = 0
        self._thing, self._options = thing, options
        self._recorder = Recorder("langchain")
        self._last: Json = {}

    async def send(self, text: str, **more: Any) -> list[Json]:
        """A new message; the events of its run."""
        self.runs += 1
        parent = self.history[-1]["id"] if self.history else None
        prompt = [{"type": "text", "text": text}]
        self._last = {"run_id": f"run{self.runs}", "parent": parent, "prompt": prompt, **more}
        self._recorder = Recorder("langchain")
        return await self._execute(self._last)

    async def answer(self, *answers: Json) -> list[Json]:
        """Answers to the last pause."""
        earlier = [*self._last.get("earlier_answers", ()), *self._last.get("answers", ())]
        given = {"kind": "answers", "prompt": [], "answers": answers, "earlier_answers": earlier}
        self._last = {**self._last, **given}
        self._recorder.begin_execution(f"{len(earlier) + 2}.")
        return await self._execute(self._last)

    async def _execute(self, data: Json) -> list[Json]:
        turn = Turn({"history": self.history, "chat_id": "chat", **data})
        turn.folder = self.folder
        objects, entries = SdkObjects(), []
        async for event in langchain.stream(self._thing, turn, **self._options):
            entries += self._recorder.feed([objects.describe(event)])
        events = [_event(entry) for entry in entries]
        pending = [event for event in events if event["type"] == "input_request"]
        return pending or self._end(data, events)

    def _end(self, data: Json, events: list[Json]) -> list[Json]:
        parts = [{"type": "text", "text": e["delta"]} for e in events if e["type"] == "text_delta"]
        self.history += [
            {"id": f"{data['run_id']}-said", "role": "user", "parts": self._last["prompt"]},
            {"id": data["run_id"], "role": "assistant", "parts": parts},
        ]
        return events


def _event(entry: LogEntry) -> Json:
    return json.loads(json.dumps(entry.event.as_json(), default=str))


def model(endpoint: ScriptedAnthropic) -> Any:
    return ChatAnthropic(model="scripted", api_key="none", base_url=endpoint.url, max_retries=0)


def types(events: list[Json], *wanted: str) -> list[str]:
    return [event["type"] for event in events if event["type"] in wanted]


def threads(saver: InMemorySaver) -> list[str]:
    """Those that have checkpoints."""
    return [name for name, spaces in saver.storage.items() if spaces.get("")]


def send(to: str) -> str:
    """Send it."""
    get_stream_writer()({"sending": to})
    return f"sent to {to}"


def note(x: int) -> str:
    """Note it."""
    return "noted"


# The cases


async def lost_memory_is_replaced_by_the_history(endpoint: ScriptedAnthropic) -> Any:
    chat = Chat(create_agent(model(endpoint), tools=[note]))
    await chat.send("[[talk]] Go.")
    image = {"type": "file", "media_type": "image/png", "url": "data:image/png;base64,AAAA"}
    tool = {"type": "tool", "id": "t1", "name": "note", "input": {"x": 1}, "output": "noted"}
    chat.history[0]["parts"].append(image)
    chat.history[1]["parts"] = [
        {**tool, "status": "ok"},
        {"type": "text", "text": "Inner.", "scope": ["t1"]},
        {"type": "text", "text": "One."},
    ]
    (chat.folder / "langgraph.sqlite").unlink()
    await chat.send("And?")
    return [list(item) for item in conversation(endpoint.requests[-1])]


async def run_without_a_checkpoint_is_in_the_history(endpoint: ScriptedAnthropic) -> Any:
    class Own(InMemorySaver):
        pass

    saver = Own()
    chat = Chat(create_agent(model(endpoint), tools=[note], checkpointer=saver))
    await chat.send("[[talk]] Go.")
    chat.runs += 1
    chat.history += [
        {"id": "m2", "role": "user", "parts": [{"type": "text", "text": "And?"}]},
        {"id": "run2", "role": "assistant", "parts": [{"type": "text", "text": "Tw"}]},
    ]
    await chat.send("Well?")
    return [[item.text for item in conversation(endpoint.requests[-1])], threads(saver)]


async def tool_asks_by_the_emitter(endpoint: ScriptedAnthropic) -> Any:
    asked = []

    def send(to: str) -> str:
        """Send it."""
        asked.append(to)
        if len(asked) == 1:  # a process that waits and is ended
            raise ConnectionError
        return "sent"

    chat = Chat(create_agent(model(endpoint), tools=[send]))
    try:
        await chat.send("[[send]] Go.")
    except ConnectionError:
        events = await chat.answer({"request_id": "own", "decision": "approved"})
        return [_text(events), asked]


async def node_asks_twice(_: ScriptedAnthropic) -> Any:
    def node(state: MessagesState) -> Any:
        city = interrupt("Which city?")
        sure = interrupt({"question": f"{city}, really?"})
        return {"messages": [{"role": "assistant", "content": f"{city} {sure}"}]}

    graph = StateGraph(MessagesState).add_node("node", node).add_edge(START, "node").compile()
    chat = Chat(graph)
    [first] = await chat.send("Go.")
    [second] = await chat.answer(_answer(first, "answered", value="Lisbon"))
    events = await chat.answer(_answer(second, "approved"))
    return [first["prompt"], second["prompt"], first["id"] != second["id"], _text(events)]


def _answer(request: Json, decision: str, **more: Any) -> Json:
    return {"request_id": request["id"], "decision": decision, "value": None, **more}


def _text(events: list[Json]) -> str:
    pieces = {"text": "content", "text_delta": "delta"}
    return "".join(e.get(pieces[e["type"]], "") for e in events if e["type"] in pieces)


async def a_call_is_edited_or_answered_instead(endpoint: ScriptedAnthropic) -> Any:
    results = []
    for decision, value in (("edited", {"to": "d@e.f"}), ("answered", "I did it.")):
        asks = HumanInTheLoopMiddleware(interrupt_on={"send": True})
        chat = Chat(create_agent(model(endpoint), tools=[send], middleware=[asks]))
        [request] = await chat.send("[[send]] Go.")
        await chat.answer(_answer(request, decision, value=value))
        results.append(endpoint.results()[-1]["content"])
    return results


async def tools_of_the_page_pause_the_run(endpoint: ScriptedAnthropic) -> Any:
    middleware = [langchain.frontend_tools()]
    chat = Chat(create_agent(model(endpoint), tools=[note], middleware=middleware))
    schema = {"type": "object", "properties": {"what": {"type": "string"}}}
    tools = [{"name": "show", "description": "Shows it.", "parameters": schema}]
    first, second = await chat.send("[[show]] Go.", frontend={"tools": tools})
    offered = [tool["name"] for tool in endpoint.requests[-1]["tools"]]
    kinds = [[each["kind"], each["tool_call_id"]] for each in (first, second)]
    failed = _answer(second, "denied", reason="no such list")
    await chat.answer(failed, _answer(first, "answered", value={"shown": True}))
    results = {each["tool_use_id"]: each["content"] for each in endpoint.results()}
    return [offered, kinds, results]


async def without_tools_of_a_page_nothing_changes(endpoint: ScriptedAnthropic) -> Any:
    middleware = [langchain.frontend_tools()]
    chat = Chat(create_agent(model(endpoint), tools=[note], middleware=middleware))
    return _text(await chat.send("[[talk]] Go."))


async def events_of_the_application_are_kept(endpoint: ScriptedAnthropic) -> Any:
    chat = Chat(create_agent(model(endpoint), tools=[send]))
    events = await chat.send("[[send]] Go.")
    return [event["value"] for event in events if event["type"] == "custom" and "id" not in event]


async def a_saver_in_memory_is_replaced(endpoint: ScriptedAnthropic) -> Any:
    def make() -> Any:  # another graph for each turn, as in another process
        return create_agent(model(endpoint), tools=[note], checkpointer=InMemorySaver())

    chat = Chat(make)
    await chat.send("[[talk]] Go.")
    await chat.send("And?")
    return [item.text for item in conversation(endpoint.requests[-1])]


async def own_checkpointer_is_used(endpoint: ScriptedAnthropic) -> Any:
    class Own(InMemorySaver):
        pass

    saver = Own()
    chat = Chat(create_agent(model(endpoint), tools=[note], checkpointer=saver))
    await chat.send("[[talk]] Go.")
    await chat.send("And?")
    texts = [item.text for item in conversation(endpoint.requests[-1])]
    return [texts, threads(saver), list(chat.folder.iterdir())]


async def runnable_without_a_graph_gets_the_conversation(endpoint: ScriptedAnthropic) -> Any:
    chat = Chat(model(endpoint).bind_tools([note]))
    await chat.send("[[talk]] Go.")
    events = await chat.send("And?")
    return [[item.text for item in conversation(endpoint.requests[-1])], _text(events)]


async def graph_may_come_from_a_context(endpoint: ScriptedAnthropic) -> Any:
    seen = []

    @asynccontextmanager
    async def opened() -> AsyncIterator[Any]:
        seen.append("open")
        yield create_agent(model(endpoint), tools=[note])
        seen.append("closed")

    return [_text(await Chat(opened).send("[[talk]] Go.")), seen]


async def own_input_config_and_context(endpoint: ScriptedAnthropic) -> Any:
    class State(TypedDict):
        topic: str
        answer: str

    class Context(TypedDict):
        name: str

    def node(state: State, runtime: Any) -> Any:
        return {"answer": f"{state['topic']} for {runtime.context['name']}"}

    def graph() -> Any:
        built = StateGraph(State, context_schema=Context)
        node.__annotations__["runtime"] = Runtime[Context]
        return built.add_node("node", node).add_edge(START, "node").compile()

    given = {
        "input": lambda turn: {"topic": turn.prompt},
        "config": {"recursion_limit": 5},
        "context": lambda turn: {"name": turn.chat_id},
    }
    events = await Chat(graph, **given).send("Ships")
    states = [event["value"] for event in events if event["type"] == "state"]
    try:
        await Chat(graph).send("Ships")
    except ValueError as error:
        return [states[-1], str(error)]


async def answers_to_a_lost_state_are_refused(endpoint: ScriptedAnthropic) -> Any:
    asks = HumanInTheLoopMiddleware(interrupt_on={"send": True})
    chat = Chat(create_agent(model(endpoint), tools=[send], middleware=[asks]))
    [request] = await chat.send("[[send]] Go.")
    (chat.folder / "langgraph.sqlite").unlink()
    try:
        await chat.answer(_answer(request, "approved"))
    except RuntimeError as error:
        return str(error)


async def message_instead_of_an_answer(endpoint: ScriptedAnthropic) -> Any:
    asks = HumanInTheLoopMiddleware(interrupt_on={"send": True})
    chat = Chat(create_agent(model(endpoint), tools=[send], middleware=[asks]))
    await chat.send("[[send]] Go.")
    chat.history += [
        {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "[[send]] Go."}]},
        {"id": "run1", "role": "assistant", "parts": []},
    ]
    await chat.send("Never mind.")
    return [list(item) for item in conversation(endpoint.requests[-1])]


async def interrupts_with_the_same_id(_: ScriptedAnthropic) -> Any:
    given = [Interrupt(value="Which city?", id="i")]
    first = {"request_id": "i", "decision": "answered", "value": "Lisbon"}
    second = {"request_id": "i.2", "decision": "denied", "value": None}
    event = {"params": {"interrupts": given}}
    turns = [Turn({}), Turn({"answers": [first]})]
    turns.append(Turn({"answers": [second], "earlier_answers": [first]}))
    names = []
    for turn in turns:
        interrupts = Interrupts(turn)
        assert interrupts.take(event)["params"]["interrupts"] == ()
        names += [each.id for held in interrupts.all() for each in held["params"]["interrupts"]]
    return [names, *(resume_values(given, turn) for turn in turns)]


async def interrupts_are_stored_before_a_person_sees_them(_: ScriptedAnthropic) -> Any:
    class Slow(InMemorySaver):
        async def aput_writes(self, *arguments: Any) -> None:
            await asyncio.sleep(0.2)
            await super().aput_writes(*arguments)

    def node(state: MessagesState) -> Any:
        return {"messages": [{"role": "assistant", "content": interrupt("Which city?")}]}

    saver = Slow()
    built = StateGraph(MessagesState).add_node("node", node).add_edge(START, "node")
    turn = Turn({"run_id": "run1", "prompt": "Go."})
    async for event in langchain.stream(built.compile(checkpointer=saver), turn):
        if event["params"].get("interrupts"):
            found = await saver.aget_tuple({"configurable": {"thread_id": "run1"}})
            return [channel for _, channel, _ in found.pending_writes]
    return None


async def result_that_was_not_stored_is_in_the_history(endpoint: ScriptedAnthropic) -> Any:
    def send(to: str) -> str:
        """Send it."""
        raise ConnectionError

    chat = Chat(create_agent(model(endpoint), tools=[send]))
    try:
        await chat.send("[[send]] Go.")
    except ConnectionError:
        tool = {"type": "tool", "id": "c1", "name": "send", "input": {}, "output": "sent"}
        chat.history += [
            {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "[[send]] Go."}]},
            {"id": "run1", "role": "assistant", "parts": [{**tool, "status": "ok"}]},
        ]
    await chat.send("Well?")
    return [list(item) for item in conversation(endpoint.requests[-1])][2:]


async def stopping_cancels_the_graph(endpoint: ScriptedAnthropic) -> Any:
    seen, started = [], asyncio.Event()

    async def send(to: str) -> str:
        """Send it."""
        seen.append("started")
        started.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise
        return "sent"

    graph = create_agent(model(endpoint), tools=[send])
    cancelled, closed = Chat(graph), langchain.stream(graph, Turn({"prompt": "[[send]] Go."}))
    task = asyncio.create_task(cancelled.send("[[send]] Go."))
    await started.wait()
    task.cancel()
    await asyncio.wait([task])
    async for event in closed:
        if event["method"] == "tools":
            break
    await closed.aclose()
    return seen


async def old_interrupts(_: ScriptedAnthropic) -> Any:
    class Old:
        id = "i"
        value = [{"action_request": {"action": "send", "args": {}}, "config": {}}] * 4

    decisions = ["approved", "edited", "answered", "denied"]
    answers = [
        {"request_id": f"i:{n}", "decision": each, "value": n} for n, each in enumerate(decisions)
    ]
    return resume_values([Old()], Turn({"answers": answers}))


async def saver_behaves_as_the_one_in_memory(_: ScriptedAnthropic) -> Any:
    def graph(saver: Any) -> Any:
        def step(state: MessagesState) -> Any:
            return {"messages": [{"role": "assistant", "content": str(len(state["messages"]))}]}

        return (
            StateGraph(MessagesState)
            .add_node("step", step)
            .add_edge(START, "step")
            .compile(checkpointer=saver)
        )

    seen = []
    for saver in (InMemorySaver(), FileSaver(Path(tempfile.mkdtemp()) / "a.sqlite")):
        made, config = graph(saver), {"configurable": {"thread_id": "t"}}
        first = await made.ainvoke({"messages": "a"}, config)
        fork = (await made.aget_state(config)).config
        await made.ainvoke({"messages": "b"}, config)
        forked = await made.ainvoke({"messages": "c"}, fork)
        states = [state async for state in made.aget_state_history(config)]
        older = made.aget_state_history(config, before=states[1].config, limit=2)
        before = [state async for state in older]
        await saver.adelete_thread("t")
        left = [each async for each in saver.alist(None)]
        texts = [[m.content for m in given["messages"]] for given in (first, forked)]
        listed = [[m.content for m in s.values.get("messages", [])] for s in [*states, *before]]
        metadata = [state.metadata["step"] for state in states]
        seen.append([texts, listed, metadata, left])
    return [seen[0] == seen[1], seen[1][0]]


async def unsupported_versions_are_named(_: ScriptedAnthropic) -> Any:
    found = []
    for given in (("langgraph", "99", "100"), ("no-such-sdk", "1", "2")):
        try:
            loading.load(*given)
        except loading.UnsupportedSdk as error:
            found.append(str(error))
    return found


CASES = [
    run_without_a_checkpoint_is_in_the_history,
    tool_asks_by_the_emitter,
    lost_memory_is_replaced_by_the_history,
    node_asks_twice,
    a_call_is_edited_or_answered_instead,
    tools_of_the_page_pause_the_run,
    without_tools_of_a_page_nothing_changes,
    events_of_the_application_are_kept,
    a_saver_in_memory_is_replaced,
    own_checkpointer_is_used,
    runnable_without_a_graph_gets_the_conversation,
    graph_may_come_from_a_context,
    own_input_config_and_context,
    answers_to_a_lost_state_are_refused,
    message_instead_of_an_answer,
    interrupts_with_the_same_id,
    interrupts_are_stored_before_a_person_sees_them,
    result_that_was_not_stored_is_in_the_history,
    stopping_cancels_the_graph,
    old_interrupts,
    saver_behaves_as_the_one_in_memory,
    unsupported_versions_are_named,
]


def main() -> None:
    warnings.simplefilter("ignore")
    results = {}
    for case in CASES:
        if sys.argv[1:] and case.__name__ not in sys.argv[1:]:
            continue
        with scripted_anthropic(SCRIPTS) as endpoint:
            results[case.__name__] = asyncio.run(case(endpoint))
    print(json.dumps(results, default=str))


main()
