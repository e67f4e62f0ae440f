"""Runs the real Agents SDK against a scripted endpoint, and prints what it gives: a line an object.

In a venv of its own: `python openai_agents_run.py nested`, or `ask` and `approve`: two legs of one
run, of which the second goes on from the state that the first line of its input is.
"""

import asyncio
import json
import sys
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from agents import (
    Agent,
    AgentsException,
    OpenAIProvider,
    RunConfig,
    Runner,
    RunResultStreaming,
    RunState,
    function_tool,
    set_tracing_disabled,
)
from mobox.capture.callable import SdkObjects

OBJECTS = SdkObjects()
Event = dict[str, Any]


# The endpoint


def call(name: str, arguments: str) -> list[Event]:
    item = {"type": "function_call", "id": f"fc_{name}", "call_id": f"call_{name}", "name": name}
    about = {"output_index": 0, "item_id": item["id"]}
    half = len(arguments) // 2
    deltas = [
        {"type": "response.function_call_arguments.delta", **about, "delta": piece}
        for piece in (arguments[:half], arguments[half:])
    ]
    begun, whole = {**item, "arguments": ""}, {**item, "arguments": arguments}
    return [
        {"type": "response.output_item.added", "output_index": 0, "item": begun},
        *deltas,
        {"type": "response.output_item.done", "output_index": 0, "item": whole},
    ]


def answer(text: str) -> list[Event]:
    item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
    part = {"type": "output_text", "text": text, "annotations": []}
    about = {"output_index": 0, "item_id": "msg_1", "content_index": 0}
    pieces = [text[start : start + 5] for start in range(0, len(text), 5)]
    return [
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}},
        {"type": "response.content_part.added", **about, "part": {**part, "text": ""}},
        *({"type": "response.output_text.delta", **about, "delta": piece} for piece in pieces),
        {"type": "response.content_part.done", **about, "part": part},
        {
            "type": "response.output_item.done",
            "output_index": 0,
            "item": {**item, "content": [part]},
        },
    ]


SCRIPT: dict[tuple[str, int], Callable[[], list[Event]]] = {
    ("boss", 0): lambda: call("ask_specialist", '{"input": "How warm is it?"}'),
    ("boss", 1): lambda: answer("The specialist says 21C."),
    ("specialist", 0): lambda: call("get_weather", '{"city": "Lisbon"}'),
    ("specialist", 1): lambda: answer("It is 21C."),
    ("cleaner", 0): lambda: call("delete_file", '{"path": "/tmp/x"}'),
    ("cleaner", 1): lambda: answer("It is gone."),
}
"""What a model says, by how many results it has been given."""


class Endpoint(BaseHTTPRequestHandler):
    """Says what the script says."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        given = body["input"] if isinstance(body["input"], list) else []
        results = sum(item.get("type") == "function_call_output" for item in given)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for number, event in enumerate(self._events(body["model"], results)):
            data = json.dumps({**event, "sequence_number": number})
            self.wfile.write(f"event: {event['type']}\ndata: {data}\n\n".encode())

    def _events(self, model: str, results: int) -> Iterator[Event]:
        said = SCRIPT[model, results]()
        output = [event["item"] for event in said if event["type"].endswith("item.done")]
        response = {"id": f"resp_{model}_{results}", "object": "response", "created_at": 1763200000}
        response |= {"model": model, "output": [], "parallel_tool_calls": True, "tools": []}
        response |= {"tool_choice": "auto", "status": "in_progress"}
        usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
        usage |= {"input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 0}}
        usage |= {"output_tokens_details": {"reasoning_tokens": 0}}
        ended = {**response, "status": "completed", "output": output, "usage": usage}
        yield {"type": "response.created", "response": response}
        yield from said
        yield {"type": "response.completed", "response": ended}

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


# The agents


@function_tool
def get_weather(city: str) -> str:
    """How warm it is."""
    return f"21C in {city}"


@function_tool(needs_approval=True)
def delete_file(path: str) -> str:
    """Delete a file."""
    return f"deleted {path}"


async def tell(value: Any) -> None:
    print(json.dumps(OBJECTS.describe(value)), flush=True)


async def follow(result: RunResultStreaming) -> None:
    """What an agent of ours does with a run: print its events, and what it leaves."""
    try:
        async for event in result.stream_events():
            await tell(event)
    except AgentsException as error:
        await tell(error)
    await tell(
        {
            "__result__": True,
            "final_output": result.final_output,
            "current_turn": result.current_turn,
            "interruptions": result.interruptions,
            "usage": result.context_wrapper.usage,
            "state": result.to_state().to_json() if result.interruptions else None,
        }
    )


async def main(what: str, config: RunConfig) -> None:
    specialist = Agent(name="specialist", model="specialist", tools=[get_weather])
    asked = specialist.as_tool("ask_specialist", "Knows the weather.", on_stream=tell)
    boss = Agent(name="boss", model="boss", tools=[asked])
    cleaner = Agent(name="cleaner", model="cleaner", tools=[delete_file])
    if what == "nested":
        await follow(Runner.run_streamed(boss, "hi", run_config=config))
    elif what == "ask":
        await follow(Runner.run_streamed(cleaner, "clean up", run_config=config))
    else:
        state = await RunState.from_json(cleaner, json.loads(sys.stdin.readline()))
        for interruption in state.get_interruptions():
            state.approve(interruption)
        await follow(Runner.run_streamed(cleaner, state, run_config=config))


if __name__ == "__main__":
    set_tracing_disabled(True)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/v1"
    provider = OpenAIProvider(base_url=url, api_key="none", use_responses=True)
    asyncio.run(main(sys.argv[1], RunConfig(model_provider=provider, tracing_disabled=True)))
