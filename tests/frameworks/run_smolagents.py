"""Run a real agent that manages another, with a scripted model; print what Mobox is told of it.

The first argument is how the manager works, `code` or `tools`; a second one plans first. The tests
run it with the Python of the frameworks' venv.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

from smolagents import CodeAgent, LogLevel, Model, ToolCallingAgent, tool
from smolagents.models import (
    ChatMessage,
    ChatMessageStreamDelta,
    ChatMessageToolCall,
    ChatMessageToolCallFunction,
    ChatMessageToolCallStreamDelta,
    MessageRole,
)
from smolagents.monitoring import TokenUsage

from mobox.emitter import emit_managed, emit_object

USAGE = TokenUsage(input_tokens=100, output_tokens=20)
PLAN = "## 1. Facts survey\n- none\n## 2. Plan\n1. Ask the researcher.\n2. Answer.\n<end_plan>"


def code(thought: str, *lines: str) -> str:
    return "\n".join([f"Thought: {thought}", "<code>", *lines, "</code>"])


def call(call_id: str, name: str, **arguments: Any) -> ChatMessageToolCall:
    function = ChatMessageToolCallFunction(name=name, arguments=json.dumps(arguments))
    return ChatMessageToolCall(function=function, id=call_id, type="function")


CODE: list[Any] = [
    code("I delegate.", "r = researcher(task='The weather?')", "print(r)"),
    code("Done.", "final_answer('21C in Lisbon')"),
]
TOOLS: list[Any] = [
    call("toolu_1", "researcher", task="The weather?"),
    call("toolu_2", "final_answer", answer="21C in Lisbon"),
]
RESEARCH: list[Any] = [
    call("toolu_s1", "get_weather", city="Lisbon"),
    call("toolu_s2", "final_answer", answer="21C"),
]


class ScriptedModel(Model):
    """Says what a script says, one turn after the other."""

    def __init__(self, script: list[Any]) -> None:
        super().__init__(model_id="scripted")
        self._script = iter(script)

    def generate(self, messages: Any, **_kwargs: Any) -> ChatMessage:
        said = next(self._script)
        about = {"role": MessageRole.ASSISTANT, "token_usage": USAGE}
        if isinstance(said, str):
            return ChatMessage(content=said, **about)
        return ChatMessage(content="", tool_calls=[said], **about)

    def generate_stream(self, messages: Any, **_kwargs: Any) -> Iterator[ChatMessageStreamDelta]:
        said = next(self._script)
        if isinstance(said, str):
            for start in range(0, len(said), 12):
                yield ChatMessageStreamDelta(content=said[start : start + 12])
        else:
            fragment = ChatMessageToolCallStreamDelta(
                index=0, id=said.id, type="function", function=said.function
            )
            yield ChatMessageStreamDelta(content="", tool_calls=[fragment])
        yield ChatMessageStreamDelta(content="", token_usage=USAGE)


@tool
def get_weather(city: str) -> str:
    """Tell the weather.

    Args:
        city: Where.
    """
    return f"21C in {city}"


def researcher() -> ToolCallingAgent:
    return ToolCallingAgent(
        tools=[get_weather],
        model=ScriptedModel(RESEARCH),
        name="researcher",
        description="Researches.",
        stream_outputs=True,
        verbosity_level=LogLevel.OFF,
    )


def manager(kind: str, plans: bool) -> Any:
    make, script = {"code": (CodeAgent, CODE), "tools": (ToolCallingAgent, TOOLS)}[kind]
    return make(
        tools=[],
        model=ScriptedModel([PLAN, *script] if plans else script),
        managed_agents=[researcher()],
        planning_interval=10 if plans else None,
        stream_outputs=True,
        verbosity_level=LogLevel.OFF,
    )


if __name__ == "__main__":
    agent = manager(sys.argv[1], plans=len(sys.argv) > 2)
    emit_managed(agent)
    for step in agent.run("The weather in Lisbon?", stream=True):
        emit_object(step)
