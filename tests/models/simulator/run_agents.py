"""Run real agents with the default model; print what each did, as JSON.

The tests run it with the Python of the frameworks' venv: `run_agents.py AGENT`, with the variables
of an agent that uses the gateway. The line has the names of the tools called in order, the inputs
of those calls, and the answer.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

warnings.simplefilter("ignore")

AGENT = sys.argv[1]
PROMPT = "Please research how honey bees find flowers."
CALLS: list[Any] = []


def internet_search(query: str) -> str:
    """Search the web."""
    return f"Three pages about {query}."


def show(calls: list[Any], answer: str, **more: Any) -> None:
    print(json.dumps({"calls": calls, "answer": answer, **more}))


def deepagents() -> None:
    from deepagents import create_deep_agent
    from langchain.agents.middleware import TodoListMiddleware
    from langchain_anthropic import ChatAnthropic

    model = ChatAnthropic(model="claude")
    researcher = {
        "name": "research-agent",
        "description": "Researches",
        "system_prompt": "You research.",
        "tools": [internet_search],
    }
    agent = create_deep_agent(
        model=model,
        tools=[internet_search],
        subagents=[researcher],
        middleware=[TodoListMiddleware()],
    )
    ended = agent.invoke({"messages": [{"role": "user", "content": PROMPT}]})
    calls = [
        [call["name"], call["args"]] for m in ended["messages"] if m.type == "ai"
        for call in m.tool_calls
    ]  # fmt: skip
    results = [m.text for m in ended["messages"] if m.type == "tool"]
    show(calls, ended["messages"][-1].text, files=sorted(ended.get("files", {})), results=results)


def openai_agents() -> None:
    from agents import Agent, OpenAIProvider, RunConfig, Runner, function_tool

    search = function_tool(internet_search)
    writer = Agent(name="writer", instructions="You write.", tools=[search])
    agent = Agent(name="lead", instructions="You lead.", tools=[search], handoffs=[writer])
    config = RunConfig(
        model_provider=OpenAIProvider(use_responses=AGENT == "openai-agents"),
        tracing_disabled=True,
    )

    async def run() -> Any:
        result = Runner.run_streamed(agent, PROMPT, run_config=config)
        async for _ in result.stream_events():
            pass
        return result

    result = asyncio.run(run())
    calls = [
        [item.raw_item.name, json.loads(item.raw_item.arguments)]
        for item in result.new_items
        if item.type in ("tool_call_item", "handoff_call_item")
    ]
    show(calls, str(result.final_output), last=result.last_agent.name)


def adk() -> None:
    from google.adk.agents import Agent
    from google.adk.agents.run_config import RunConfig, StreamingMode
    from google.adk.runners import InMemoryRunner
    from google.genai import types

    writer = Agent(name="writer", model="gemini-x", description="Writes", tools=[internet_search])
    lead = Agent(name="lead", model="gemini-x", tools=[internet_search], sub_agents=[writer])
    calls, answer = [], ""

    async def run() -> None:
        nonlocal answer
        runner = InMemoryRunner(lead, app_name="app")
        session = await runner.session_service.create_session(app_name="app", user_id="u")
        message = types.Content(role="user", parts=[types.Part(text=PROMPT)])
        config = RunConfig(streaming_mode=StreamingMode.SSE)
        async for event in runner.run_async(
            user_id="u", session_id=session.id, new_message=message, run_config=config
        ):
            if event.partial or not event.content:
                continue
            for part in event.content.parts or ():
                if part.function_call:
                    calls.append([part.function_call.name, part.function_call.args])
                elif part.text and not part.thought:
                    answer = part.text

    asyncio.run(run())
    show(calls, answer)


def smolagents() -> None:
    from smolagents import CodeAgent, OpenAIServerModel, ToolCallingAgent, tool

    @tool
    def internet_search(query: str) -> str:
        """Search the web.

        Args:
            query: What to search for.
        """
        CALLS.append(["internet_search", {"query": query}])
        return f"Three pages about {query}."

    kind = ToolCallingAgent if AGENT == "smolagents" else CodeAgent
    more = {"use_structured_outputs_internally": True} if AGENT == "smolagents-json" else {}
    model = OpenAIServerModel("gpt")
    answer = kind(tools=[internet_search], model=model, verbosity_level=0, **more).run(PROMPT)
    show(CALLS, str(answer))


def claude() -> None:
    from claude_agent_sdk import ClaudeAgentOptions, create_sdk_mcp_server, query, tool

    @tool("internet_search", "Search the web", {"query": str})
    async def search(given: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": f"Three pages about {given['query']}."}]}

    server = create_sdk_mcp_server("web", tools=[search])
    calls, answer, error = [], "", None

    async def run(folder: str) -> None:
        nonlocal answer, error
        options = ClaudeAgentOptions(
            cwd=folder,
            mcp_servers={"web": server},
            allowed_tools=["mcp__web__internet_search", "Write", "Agent", "Task", "TodoWrite"],
            tools=["Write", "Task", "TodoWrite"],
            setting_sources=[],
            permission_mode="acceptEdits",
            env={
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
                "CLAUDE_CODE_ENABLE_TASKS": "0",
                "DISABLE_TELEMETRY": "1",
                "CLAUDE_CONFIG_DIR": f"{folder}/config",
            },
        )

        async def prompt() -> Any:
            yield {"type": "user", "message": {"role": "user", "content": PROMPT}}

        async for message in query(prompt=prompt(), options=options):
            blocks = getattr(message, "content", None) or ()
            if not getattr(message, "parent_tool_use_id", None):
                calls.extend([b.name, b.input] for b in blocks if hasattr(b, "input"))
            if hasattr(message, "result"):
                answer, error = message.result or "", message.is_error

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(folder))
        written = Path(folder, "report.md").exists()
    show(calls, answer, error=error, written=written)


AGENTS = {
    "deepagents": deepagents,
    "openai-agents": openai_agents,
    "openai-agents-chat": openai_agents,
    "adk": adk,
    "smolagents": smolagents,
    "smolagents-code": smolagents,
    "smolagents-json": smolagents,
    "claude": claude,
}
AGENTS[AGENT]()
