"""A chat model without an API key: calls the weather tool and answers with its result."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult


class ScriptedModel(BaseChatModel):
    """Streams a scripted tool call, then a scripted answer."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        """Ignore the tools: the script contains the call."""
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        first, *rest = _chunks(messages)
        return ChatResult(generations=[ChatGeneration(message=sum(rest, start=first))])

    def _stream(
        self, messages: list[BaseMessage], *_: Any, **__: Any
    ) -> Iterator[ChatGenerationChunk]:
        for chunk in _chunks(messages):
            yield ChatGenerationChunk(message=chunk)

    async def _astream(
        self, messages: list[BaseMessage], *_: Any, **__: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in _chunks(messages):
            yield ChatGenerationChunk(message=chunk)


def _chunks(messages: list[BaseMessage]) -> Iterator[AIMessageChunk]:
    last = messages[-1]
    if isinstance(last, ToolMessage):
        for word in f"It is {last.content}.".split(" "):
            yield AIMessageChunk(content=f"{word} ")
        yield AIMessageChunk(content="", response_metadata={"finish_reason": "stop"})
        return
    args = '{"city": "Lisbon"}'
    call = {"name": "get_weather", "id": f"call_{len(messages)}", "args": args, "index": 0}
    yield AIMessageChunk(content="", tool_call_chunks=[call])
    yield AIMessageChunk(content="", response_metadata={"finish_reason": "tool_calls"})
