"""The default model: answers, titles, forced calls, structured output and limits."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mobox.models.simulator.phrases import question_for
from mobox.models.simulator.request import Call, Message, Offered
from mobox.models.simulator.schema import About
from mobox.models.simulator.todos import TodoList
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
    assert [call[0] for call in (await run("How are you today?", tools))[:-1]] == ["get_weather"]
    named = await run("Delete the file notes.txt", tools)
    assert [call[0] for call in named[:-1]] == ["delete_file"]
    orders = [tool("get_order"), tool("cancel_order")]
    assert [call[0] for call in (await run("Where is order 7?", orders))[:-1]] == ["get_order"]


def takes(**kinds: str) -> dict[str, Any]:
    properties = {name: {"type": kind} for name, kind in kinds.items()}
    return {"type": "object", "properties": properties, "required": [*kinds]}


async def test_values_of_the_prompt_are_given_to_tools() -> None:
    convert = tool("convert", takes(value="number", from_unit="string", to_unit="string"))
    calls = await run("Convert 26.2 miles to kilometres.", [convert])
    assert calls[0][1] == {"value": 26.2, "from_unit": "miles", "to_unit": "kilometres"}
    whole = tool("convert", takes(amount="integer"))
    assert (await run("Convert 3 miles to kilometres.", [whole]))[0][1] == {"amount": 3}


async def test_what_a_tool_writes_is_written_after_the_rest() -> None:
    note = takes(title="string", text="string")
    tools = [tool("save_note", note), tool("convert_units"), tool("search_notes")]
    calls = await run("Convert 3 miles to feet, and save it as a note.", tools, "15840 feet")
    assert [call[0] for call in calls[:-1]] == ["convert_units", "save_note"]
    assert "15840 feet" in calls[1][1]["text"]
    named = await run("Convert 3 miles to feet.", tools)
    assert [call[0] for call in named[:-1]] == ["convert_units"]


async def test_greeting_uses_no_tools() -> None:
    assert len(await run("Hi there, my friend", [tool("get_weather"), tool("search")])) == 1


ALL = ["search_web", "write_file", "get_order", "refund_order", "transfer_to_refund_desk", "task"]


@pytest.mark.parametrize(
    ("prompt", "names"),
    [
        ("Write a packing list to packing.md.", ["write_file"]),
        ("Search for tea shops.", ["search_web"]),
        ("Where is order 1042?", ["get_order"]),
        ("Refund order 1042.", ["get_order", "refund_order", "transfer_to_refund_desk"]),
        ("Let a subagent look at it.", ["transfer_to_refund_desk"]),
        ("Write a report on order to tea.md.",
         ["search_web", "search_web", "get_order", "transfer_to_refund_desk", "write_file"]),
    ],
)  # fmt: skip
async def test_prompt_that_names_what_to_do_gets_only_that(prompt: str, names: list[str]) -> None:
    calls = await run(prompt, [tool(name, {"type": "object"}) for name in ALL])
    assert [name for name, _ in calls[:-1]] == names


def inputs(*names: str, kind: str = "string") -> dict[str, Any]:
    properties = {name: {"type": kind} for name in names}
    return {"type": "object", "properties": properties, "required": list(names)}


async def test_inputs_are_taken_from_the_prompt() -> None:
    tools = [
        tool("get_order", inputs("order_id", kind="integer")),
        tool("cancel_order", inputs("order_number", "reason")),
        tool("read_file", inputs("path")),
    ]
    prompt = "Check order 1042, cancel order 1043 and read notes.md."
    assert (await run(prompt, tools))[:-1] == [
        ("get_order", {"order_id": 1042}),
        ("cancel_order", {"order_number": "1043", "reason": prompt}),
        ("read_file", {"path": "/notes.md"}),
    ]


async def test_subagent_that_the_prompt_names_is_called() -> None:
    """As Claude Code lists them: in a message, and the tool's input does not require one."""
    listed = "# Environment\n\nAvailable agent types:\n- Plan: Plans.\n- reviewer: Reads.\n\n- x: y"
    schema = {**inputs("prompt", "subagent_type"), "required": ["prompt"]}
    message = {"role": "user", "content": "Let the reviewer read the plan."}
    told = {"messages": [message], "system": listed, "tools": [tool("Agent", schema)]}
    *_, call = await blocks("", **told)
    assert call["input"]["subagent_type"] == "reviewer"


async def test_plan_of_another_agent_is_completed() -> None:
    """After a hand-off the next agent has other tools, and so would make another plan."""
    item = {"properties": {"content": {"type": "string"}, "status": {"type": "string"}}}
    listed = {"todos": {"type": "array", "items": item}}
    plan = tool("write_todos", {"type": "object", "properties": listed, "required": ["todos"]})
    todos = [{"content": "Get order", "status": "completed"},
             {"content": "Delegate", "status": "in_progress"}]  # fmt: skip
    asked = {"role": "user", "content": "Make a plan, then refund order 1042."}
    called = [
        {"type": "tool_use", "id": name, "name": name, "input": given}
        for name, given in (("write_todos", {"todos": todos}), ("transfer_to_refund_desk", {}))
    ]
    results = [
        {"type": "tool_result", "tool_use_id": call["id"], "content": "Done."} for call in called
    ]
    messages = [
        asked,
        {"role": "assistant", "content": called},
        {"role": "user", "content": results},
    ]
    tools = [plan, tool("refund_order")]
    *_, refund = await blocks("", messages=messages, tools=tools)
    assert refund["name"] == "refund_order"
    messages += [
        {"role": "assistant", "content": [refund]},
        {"role": "user", "content": [{**results[0], "tool_use_id": refund["id"]}]},
    ]
    *_, last = await blocks("", messages=messages, tools=tools)
    assert last["input"]["todos"] == [{**each, "status": "completed"} for each in todos]


async def test_subagent_searches_for_its_task() -> None:
    prompt = question_for("What do you know about bees?")
    calls = await run(prompt, [tool("search", inputs("query")), tool("write_file")])
    assert calls[:-1] == [("search", {"query": "you know about bees"})]
    assert calls[-1].startswith("**Report on")


def test_plan_is_found_in_any_form_of_calls() -> None:
    item = {"content": {"type": "string"}, "status": {"type": "string"}}
    schema = {"properties": {"todos": {"items": {"properties": item}}}}
    todos = TodoList.of(Offered("todos", schema=schema), ["a"], About("", ""))
    assert todos is not None
    items = [{"content": "a", "status": "pending"}]
    calls = (Call("1", "todos", {"todos": []}), Call("2", "todos", json.dumps({"todos": items})))
    written = todos.written([Message("assistant", calls=calls)])
    assert written == items
    assert todos.is_like(written)
    assert not todos.is_done(written)
    assert todos.is_done(todos.completed(written).input["todos"])
    assert todos.written([Message("assistant", calls=(Call("1", "todos", "{"),))]) is None


async def test_search_of_claude_code_is_answered_briefly() -> None:
    tools = [{"type": "web_search_20250305", "name": "web_search"}]
    *_, text = await blocks("Perform a web search for the query: honey bees", tools=tools)
    assert text["text"] == "A simulated page about honey bees."


async def test_every_conversation_ends() -> None:
    names = ["search_web", "think", "task", "write_file", "a", "b", "c", "d", "e"]
    calls = await run("Use a b c d e", [tool(name) for name in names], "error: denied")
    assert [name for name, _ in calls[:-1]][:4] == ["search_web", "think"] * 2


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


async def test_request_to_go_on_is_no_prompt() -> None:
    call = {"type": "tool_use", "id": "t", "name": "write_file", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": "Fine."}
    messages = [
        {"role": "user", "content": "Write a list to list.md."},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
        {"role": "user", "content": "Continue from where you left off."},
    ]
    (block,) = await blocks("", messages=messages, tools=[tool("write_file")])
    assert "Write a list to list.md." in block["text"]
    assert "- `write_file`: Fine." in block["text"]


async def test_task_notifications_are_no_prompts() -> None:
    messages = [
        {"role": "user", "content": "What is a compiler?"},
        {"role": "assistant", "content": "A program."},
        {"role": "user", "content": "<task-notification>Done.</task-notification>"},
    ]
    (block,) = await blocks("", messages=messages, tools=[tool("search")])
    assert block["type"] == "text"


PAGES = (
    "### Tea: History\nSource: https://a.example/tea\n\nTea is old. It came from China.\n\n"
    "### Tea: Kinds\nSource: notes/tea.md\n\nGreen and black tea are one plant."
)


@pytest.mark.parametrize(
    "result",
    [
        PAGES,
        json.dumps(
            {
                "results": [
                    {"title": "Tea: History", "url": "https://a.example/tea",
                     "content": "Tea is old. It came from China."},
                    {"title": "Tea: Kinds", "url": "notes/tea.md",
                     "content": "Green and black tea are one plant."},
                ]
            }
        ),
    ],
    ids=["markdown", "json"],
)  # fmt: skip
async def test_pages_that_a_search_finds_are_cited(result: str) -> None:
    *_, answer = await run("What is tea?", [tool("search_web")], result)
    assert answer.startswith("## What is tea?\n\n")
    assert (
        "- Tea is old. It came from China. [1]\n- Green and black tea are one plant. [2]" in answer
    )
    assert "1. [Tea: History](https://a.example/tea)\n2. Tea: Kinds (`notes/tea.md`)" in answer


TASK = {
    "type": "object",
    "properties": {"description": {"type": "string"}, "subagent_type": {"type": "string"}},
    "required": ["description", "subagent_type"],
}


@pytest.mark.parametrize(
    ("prompt", "tasks"),
    [
        ("How is tea made?", ["How is tea made?"]),
        ("Compare tea, coffee and milk for breakfast.", ["tea.", "coffee.", "milk."]),
        ("What is the difference between tea and coffee?", ["tea.", "coffee."]),
        ("Tea vs. coffee", ["Tea.", "coffee."]),
        ("Compare tea, milk, juice and rum", ["Compare tea, milk, juice and rum."]),
    ],
)
async def test_agent_without_a_search_delegates_what_is_compared(
    prompt: str, tasks: list[str]
) -> None:
    calls = await run(prompt, [tool("task", TASK), tool("ls")])
    told = [given["description"] for name, given in calls[:-1] if name == "task"]
    assert [each.split(": ", 1)[1].partition(" Search, then")[0] for each in told] == tasks


async def test_reports_of_subagents_are_cited_with_their_sources() -> None:
    search, think = tool("search_web"), tool("think_tool")
    task = (await run("Tell me of tea.", [tool("task", TASK)]))[0][1]["description"]
    calls = await run(task, [search, think], PAGES)
    assert [name for name, _ in calls[:-1]] == ["search_web", "think_tool"] * 2
    *_, answer = await run("Tell me of tea.", [tool("task", TASK), tool("ls")], calls[-1])
    assert "- Tea is old. It came from China. [1]" in answer
    assert "1. [Tea: History](https://a.example/tea)" in answer


async def test_plan_of_an_agent_that_delegates_ends_with_the_report() -> None:
    item = {"properties": {"content": {"type": "string"}, "status": {"type": "string"}}}
    listed = {"todos": {"type": "array", "items": item}}
    plan = tool("write_todos", {"type": "object", "properties": listed, "required": ["todos"]})
    calls = await run("Compare tea and coffee.", [plan, tool("task", TASK)])
    lists = [[t["status"] for t in given["todos"]] for name, given in calls[:-1] if "todo" in name]
    assert lists == [
        ["in_progress", "in_progress", "pending"],
        ["completed", "completed", "in_progress"],
        ["completed", "completed", "completed"],
    ]


async def test_charts_are_shown_by_their_placeholders() -> None:
    placeholder = '<<{"type": "chart", "tool_call_id": "call_1"}>>'
    result = json.dumps({"placeholder": placeholder, "title": "Tea", "summary": "- It grows."})
    *_, answer = await run("How much tea?", [tool("analyse")], result)
    assert f"says.\n\n{placeholder}\n\n- It grows.\n\n> This answer" in answer
    *_, other = await run("How much tea?", [tool("analyse")], result.replace("<<", "«"))
    assert "### What the tools returned" in other


async def test_export_comes_after_the_analysis_and_only_if_it_is_named() -> None:
    tools = [
        tool("export_report", inputs("filename", "text")),
        tool("analyse", {**inputs("by"), "properties": {"by": {"enum": ["month", "store"]}}}),
    ]
    assert [name for name, _ in (await run("Revenue by store?", tools))[:-1]] == ["analyse"]
    (first, second) = (await run("Analyse revenue by store and export it.", tools))[:-1]
    assert first == ("analyse", {"by": "store"})
    assert second[0] == "export_report"
    assert "## Findings\n\n- Fine." in second[1]["text"]
