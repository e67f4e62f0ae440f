"""The wire formats, as Mobox's own parsers read them, and what their APIs have besides."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from mobox import Recorder
from mobox.events import Done, Raw, Usage
from mobox.events.message import Message, SourcePart, TextPart, ThinkingPart, ToolPart
from mobox.events.transcript import build_message
from mobox.models.simulator import Script, Text, Wait, parse_script
from models.simulator.asking import WIRES, Wire, ask, client, events
from models.simulator.scenarios import SCENARIOS
from support.grammar_log import legal_log

SCRIPT = parse_script(SCENARIOS)
each_wire = pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)


async def read(wire: Wire, name: str) -> tuple[Message, list[Any]]:
    """The message that our parser makes of a scenario's stream, and its events."""
    response = await ask(wire, wire.body(f"[[{name}]] Go.", stream=True), SCRIPT, stream=True)
    recorder = Recorder(wire.framework)
    log = [entry for each in events(response) for entry in recorder.feed([each])]
    log += recorder.close()
    legal_log([entry.event for entry in log])
    return build_message(log, "m"), [entry.event for entry in log]


@each_wire
async def test_our_parsers_read_the_same(wire: Wire) -> None:
    for name, text in (("think", "It is warm."), ("wait", "One two."), ("cite", None)):
        message, log = await read(wire, name)
        assert not [event for event in log if isinstance(event, Raw)]
        found = "".join(part.text for part in message.parts if isinstance(part, TextPart))
        assert found == (text or "Lisbon is warm. It has 21 degrees. That is all.")
    thoughts, _ = await read(wire, "think")
    (thought,) = [part.text for part in thoughts.parts if isinstance(part, ThinkingPart)]
    assert thought == "The person wants the weather."


@each_wire
async def test_our_parsers_read_calls(wire: Wire) -> None:
    message, _ = await read(wire, "tool")
    calls = [part for part in message.parts if isinstance(part, ToolPart)]
    assert [(call.name, call.input) for call in calls] == [
        ("get_weather", {"city": "Lisbon", "days": 2}),
        ("get_weather", {"city": "Porto", "days": 1}),
    ]
    assert calls[1].id == "call_porto"


@each_wire
async def test_our_parsers_read_sources_and_usage(wire: Wire) -> None:
    message, _ = await read(wire, "cite")
    urls = {part.source.url for part in message.parts if isinstance(part, SourcePart)}
    assert urls == {"https://example.org/lisbon"}
    _, log = await read(wire, "usage")
    usage = [event for event in log if isinstance(event, Usage)][-1]
    assert usage.output == 50


@each_wire
async def test_our_parsers_read_the_ends(wire: Wire) -> None:
    reasons = {}
    for name in ("text", "max"):
        _, log = await read(wire, name)
        (done,) = [event for event in log if isinstance(event, Done)]
        reasons[name] = done.reason
    assert reasons == {"text": "stop", "max": "length"}


@each_wire
async def test_same_request_gets_the_same_bytes(wire: Wire) -> None:
    body = wire.body("How do bees find flowers?", stream=True)
    first, second = [await ask(wire, body, stream=True) for _ in range(2)]
    assert first.content == second.content
    other = await ask(wire, wire.body("Hello", stream=True), stream=True)
    assert other.content != first.content


@pytest.mark.parametrize("prefix", ["/anthropic", "/openai", "/gemini", "/a/b"])
@each_wire
async def test_any_prefix_is_accepted(wire: Wire, prefix: str) -> None:
    async with client(SCRIPT) as http:
        answer = await http.post(f"{prefix}{wire.path}?beta=true", json=wire.body("[[text]]"))
    assert "It is 21 degrees in Lisbon." in answer.text


@each_wire
async def test_unknown_scenarios_and_turns_are_clear_errors(wire: Wire) -> None:
    unknown = await ask(wire, wire.body("[[none]]"), SCRIPT)
    assert unknown.status_code == 400
    assert "unknown scenario 'none'; known: again, bad," in unknown.json()["error"]["message"]
    over = await ask(wire, wire.body("[[a]]"), Script({"a": []}))
    assert "scenario 'a' has 0 turns, this is turn 1" in over.json()["error"]["message"]


@each_wire
@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b'{"messages": 1, "input": 1}'])
async def test_wrong_bodies_are_errors_of_the_provider(wire: Wire, content: bytes) -> None:
    async with client() as http:
        answer = await http.post(wire.path, content=content)
    assert answer.status_code == 400
    assert answer.json()["error"]["message"]


async def test_gemini_streams_an_array_without_sse() -> None:
    wire = WIRES[3]
    async with client(SCRIPT) as http:
        path = wire.stream_path.partition("?")[0]
        answer = await http.post(path, json=wire.body("[[text]]"))
        broken = await http.post(path, json=wire.body("[[broken]]"))
    assert answer.headers["content-type"] == "application/json"
    parts = [chunk["candidates"][0]["content"]["parts"][0]["text"] for chunk in answer.json()]
    assert "".join(parts) == "It is 21 degrees in Lisbon."
    assert broken.json()[-1]["error"]["status"] == "UNAVAILABLE"


async def test_gemini_takes_both_spellings() -> None:
    function = {"name": "f", "parameters_json_schema": {"required": ["a_b"]}}
    config = {"function_calling_config": {"mode": "ANY"}}
    body = {
        **WIRES[3].body("Hi"),
        "tools": [{"function_declarations": [function]}],
        "tool_config": config,
    }
    parts = (await ask(WIRES[3], body)).json()["candidates"][0]["content"]["parts"]
    assert list(parts[-1]["functionCall"]["args"]) == ["a_b"]


async def test_responses_continue_by_the_id_of_the_last_one() -> None:
    wire = WIRES[2]
    first = (await ask(wire, wire.body("[[tool]] Go."), SCRIPT)).json()
    output = {"type": "function_call_output", "call_id": "call_porto", "output": "21"}
    body = {"model": "m", "previous_response_id": first["id"], "input": [output]}
    second = (await ask(wire, body, SCRIPT)).json()
    assert second["output"][0]["content"][0]["text"] == "Both are warm."
    lost = await ask(wire, {**body, "previous_response_id": "resp_1"}, SCRIPT)
    assert lost.status_code == 400


async def test_interactions_continue_by_the_id_of_the_last_one() -> None:
    wire = WIRES[4]
    first = (await ask(wire, wire.body("[[tool]] Go."), SCRIPT)).json()
    result = {"type": "function_result", "call_id": "call_porto", "result": "21"}
    body = {"model": "m", "previous_interaction_id": first["id"], "input": [result]}
    second = (await ask(wire, body, SCRIPT)).json()
    assert second["steps"][0]["content"][0]["text"] == "Both are warm."


CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
UNPAIRED: list[tuple[int, dict[str, Any]]] = [
    (0, {"messages": [{"role": "assistant", "content": [
        {"type": "tool_use", "id": "c1", "name": "f", "input": {}}]}]}),
    (0, {"messages": [{"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "c1", "content": ""}]}]}),
    (1, {"messages": [{"role": "assistant", "tool_calls": [CALL]},
                      {"role": "user", "content": "Well?"}]}),
    (1, {"messages": [{"role": "tool", "tool_call_id": "c1", "content": ""}]}),
    (2, {"input": [{"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}]}),
]  # fmt: skip


@pytest.mark.parametrize(("number", "body"), UNPAIRED)
async def test_calls_without_results_are_rejected(number: int, body: dict[str, Any]) -> None:
    answer = await ask(WIRES[number], {"model": "m", "max_tokens": 9, **body})
    assert answer.status_code == 400
    assert "c1" in answer.json()["error"]["message"]


async def test_client_that_leaves_ends_a_stall() -> None:
    """The app returns as soon as the client is gone; a test that hangs fails by its time limit."""
    from mobox.models.simulator import Stall, simulator

    app = simulator(Script({"a": [[Text("Hi"), Wait(0.001), Stall()]]}), pace=0)
    body = json.dumps(WIRES[0].body("[[a]]", stream=True)).encode()
    received: Iterator[dict[str, Any]] = iter(
        [{"type": "http.request", "body": body}, {"type": "http.disconnect"}]
    )
    sent = []

    async def receive() -> dict[str, Any]:
        return next(received)

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/v1/messages", "headers": []}
    await app(scope, receive, send)
    assert sent[-1].get("more_body") is True


async def test_services_beside_the_models() -> None:
    async with client() as http:
        assert (await http.head("/api/hello")).status_code == 200
        counted = await http.post("/v1/messages/count_tokens", json=WIRES[0].body("Hello"))
        assert counted.json()["input_tokens"] > 5
        counted = await http.post("/v1beta/models/m:countTokens", json=WIRES[3].body("Hello"))
        assert counted.json()["totalTokens"] > 5
        openai = (await http.get("/v1/models")).json()
        claude = (await http.get("/v1/models", headers={"anthropic-version": "x"})).json()
        google = (await http.get("/v1beta/models")).json()
        assert (openai["object"], claude["has_more"]) == ("list", False)
        assert google["models"][0]["name"] == "models/gemini-simulated"
        body = {"model": "e", "input": ["red wine", "white wine", "a car"], "dimensions": 256}
        vectors = [
            v["embedding"] for v in (await http.post("/v1/embeddings", json=body)).json()["data"]
        ]
        near, far = (
            sum(a * b for a, b in zip(vectors[0], other, strict=True)) for other in vectors[1:]
        )
        assert near > far
        assert (await http.get("/v1/messages")).status_code == 405
        assert (await http.post("/v1/nothing", json={})).status_code == 404
