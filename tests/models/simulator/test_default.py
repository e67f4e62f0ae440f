"""The default model: answers, titles, forced calls, structured output and limits."""

from __future__ import annotations

import json
from typing import Any

import pytest

from models.simulator.asking import SCHEMA, WIRES, ask

ANTHROPIC = WIRES[0]
PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 18}},
    "required": ["name", "age"],
    "additionalProperties": False,
}


async def blocks(prompt: str, **more: Any) -> list[dict[str, Any]]:
    """The content of an answer in Anthropic's format."""
    answer = (await ask(ANTHROPIC, {**ANTHROPIC.body(prompt), **more})).json()
    content: list[dict[str, Any]] = answer["content"]
    return content


def tool(name: str, schema: dict[str, Any] = SCHEMA, description: str = "") -> dict[str, Any]:
    return {"name": name, "input_schema": schema, "description": description}


async def run(prompt: str, tools: list[dict[str, Any]], result: str = "Fine.") -> list[Any]:
    """The calls and the answer of a conversation in which every call gets a result."""
    messages: list[Any] = [{"role": "user", "content": prompt}]
    told: list[Any] = []
    for _ in range(20):
        body = {**ANTHROPIC.body(prompt), "messages": messages, "tools": tools}
        content = (await ask(ANTHROPIC, body)).json()["content"]
        calls = [block for block in content if block["type"] == "tool_use"]
        if not calls:
            return [*told, content[-1]["text"]]
        told += [(call["name"], call["input"]) for call in calls]
        results = [
            {"type": "tool_result", "tool_use_id": call["id"], "content": result} for call in calls
        ]
        messages += [
            {"role": "assistant", "content": content},
            {"role": "user", "content": results},
        ]
    raise AssertionError("it does not end")


async def test_answer_refers_to_the_prompt_and_says_what_it_is() -> None:
    (block,) = await blocks("What is a compiler?")
    assert block["text"].startswith("## Compiler\n\nYou asked: “What is a compiler?”.")
    assert "simulated model" in block["text"]
    (hello,) = await blocks("Hello!")
    assert hello["text"].startswith("Hello! I am a simulated model")


async def test_tool_that_the_prompt_is_about_is_used() -> None:
    calls = await run("What is the weather in Porto?", [tool("get_weather")], "21 degrees")
    assert calls[0] == ("get_weather", {"city": "Porto"})
    assert "- `get_weather`: 21 degrees" in calls[-1]


async def test_dangerous_tools_wait_for_the_prompt_to_name_them() -> None:
    tools = [tool("delete_file"), tool("Bash"), tool("get_weather")]
    assert [call[0] for call in (await run("Hi there, my friend", tools))[:-1]] == ["get_weather"]
    named = await run("Delete the file notes.txt", tools)
    assert {call[0] for call in named[:-1]} == {"delete_file", "get_weather"}


async def test_every_conversation_ends() -> None:
    names = ["search_web", "think", "task", "write_file", "a", "b", "c", "d", "e"]
    calls = await run("Use a b c d e", [tool(name) for name in names], "error: denied")
    assert [name for name, _ in calls[:-1]][:3] == ["search_web", "search_web", "think"]


@pytest.mark.parametrize(
    ("field", "names"), [("plan", ["step", "status"]), ("todos", ["content", "status", "priority"])]
)
async def test_plans_of_any_form(field: str, names: list[str]) -> None:
    states = ["todo", "doing", "done"]
    item = {name: {"type": "string"} for name in names} | {"status": {"enum": states}}
    listed = {"type": "array", "items": {"type": "object", "properties": item}}
    plan = tool("update_plan", {"type": "object", "properties": {field: listed}})
    calls = await run("Compare tea and coffee", [plan, tool("search"), tool("write_file")])
    plans = [given[field] for name, given in calls[:-1] if name == "update_plan"]
    assert [[item["status"] for item in plan] for plan in plans] == [
        ["doing", "todo", "todo"],
        ["done", "doing", "todo"],
        ["done", "done", "doing"],
        ["done", "done", "done"],
    ]
    assert set(plans[0][0]) == set(names)


@pytest.mark.parametrize(
    "system",
    ["Generate a short title for this conversation.", "Write a concise title (max 6 words)."],
)
async def test_titles_are_short(system: str) -> None:
    (block,) = await blocks("How do honey bees find flowers?", system=system)
    assert block["text"] == "Honey Bees Find Flowers"
    (whole,) = await blocks(f"{system}\n\nUser: How do honey bees find flowers?")
    assert whole["text"] == "Honey Bees Find Flowers"


def structured(wire: str) -> dict[str, Any]:
    match wire:
        case "anthropic":
            return {"output_config": {"format": {"type": "json_schema", "schema": PERSON}}}
        case "chat":
            named = {"name": "person", "schema": PERSON}
            return {"response_format": {"type": "json_schema", "json_schema": named}}
        case "responses":
            form = {"type": "json_schema", "name": "person", "schema": PERSON}
            return {"text": {"format": form}}
        case "gemini":
            return {"generationConfig": {"responseSchema": PERSON}}
        case _:
            return {"response_format": {"type": "text", "schema": PERSON}}


def text_in(wire: str, answer: Any) -> str:
    paths: dict[str, list[Any]] = {
        "anthropic": ["content", 0, "text"],
        "chat": ["choices", 0, "message", "content"],
        "responses": ["output", 0, "content", 0, "text"],
        "gemini": ["candidates", 0, "content", "parts", 0, "text"],
        "interactions": ["steps", 0, "content", 0, "text"],
    }
    for name in paths[wire]:
        answer = answer[name]
    return str(answer)


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)
async def test_structured_output_is_valid(wire: Any) -> None:
    answer = await ask(wire, {**wire.body("Who is it?"), **structured(wire.name)})
    value = json.loads(text_in(wire.name, answer.json()))
    assert isinstance(value["name"], str)
    assert value["age"] == 18


async def test_forced_call() -> None:
    choice = {"type": "tool", "name": "person"}
    tools = [tool("other"), tool("person", PERSON)]
    (call,) = await blocks("Who is it?", tools=tools, tool_choice=choice)
    assert (call["name"], call["input"]["age"]) == ("person", 18)


async def test_tools_that_may_not_be_called_are_not() -> None:
    tools = [tool("get_weather")]
    (block,) = await blocks("Weather?", tools=tools, tool_choice={"type": "none"})
    assert block["type"] == "text"


async def test_thinking_only_where_it_is_asked_for() -> None:
    thinking = {"type": "enabled", "budget_tokens": 1024}
    first, *_ = await blocks("What is a compiler?", thinking=thinking)
    assert first["type"] == "thinking"
    assert first["signature"]


async def test_limit_of_tokens_is_kept() -> None:
    body = {**ANTHROPIC.body("What is a compiler?"), "max_tokens": 5}
    answer = (await ask(ANTHROPIC, body)).json()
    assert (answer["content"][0]["text"], answer["stop_reason"]) == (
        "## Compiler\n\nYou ask", "max_tokens",
    )  # fmt: skip


async def test_search_of_the_provider_is_used() -> None:
    tools = [{"type": "web_search_20250305", "name": "web_search"}]
    kinds = [block["type"] for block in await blocks("What is a compiler?", tools=tools)]
    assert kinds == ["server_tool_use", "web_search_tool_result", "text", "text"]


async def test_task_notifications_are_no_prompts() -> None:
    messages = [
        {"role": "user", "content": "What is a compiler?"},
        {"role": "assistant", "content": "A program."},
        {"role": "user", "content": "<task-notification>Done.</task-notification>"},
    ]
    (block,) = await blocks("", messages=messages, tools=[tool("search")])
    assert block["type"] == "text"
