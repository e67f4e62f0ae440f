"""Ask a model with agents of real frameworks, in each scenario; print what they return.

As run_sdks.py, whose scenarios and lines these are. A framework runs the tools itself and asks
again: it fills in one answer for each message of the model.
"""

from __future__ import annotations

import asyncio
import tempfile
from typing import Any

from run_sdks import RESULT, Answer, Chat, Client, Responses, json_or_text, main


def get_weather(city: str, days: int = 1) -> str:
    """Tell the weather.

    Args:
        city: Where.
        days: How many.
    """
    return RESULT


class Framework(Client):
    """A framework; `run` appends to the answers."""

    def __init__(self, retries: int = 0) -> None:
        self.retries = retries
        self.runner = asyncio.Runner()

    def converse(self, text: str, stream: bool, answers: list[Answer], turns: int) -> None:
        answers.append(Answer())
        self.runner.run(self.run(text, stream, answers))


class Adk(Framework):
    def __init__(self, retries: int = 0) -> None:
        from google.adk.agents import Agent
        from google.adk.models import Gemini
        from google.genai.types import HttpRetryOptions

        super().__init__(retries)
        retry = HttpRetryOptions(attempts=1 + retries, initial_delay=0.01)
        model = Gemini(model="gemini-x", retry_options=retry)
        self.agent = Agent(name="weather", model=model, tools=[get_weather])

    async def run(self, text: str, stream: bool, answers: list[Answer]) -> None:
        from google.adk.agents.run_config import RunConfig, StreamingMode
        from google.adk.runners import InMemoryRunner
        from google.genai.types import Content, Part

        runner = InMemoryRunner(self.agent, app_name="app")
        session = await runner.session_service.create_session(app_name="app", user_id="u")
        async for event in runner.run_async(
            user_id="u",
            session_id=session.id,
            new_message=Content(role="user", parts=[Part(text=text)]),
            run_config=RunConfig(streaming_mode=StreamingMode.SSE if stream else None),
        ):
            if event.get_function_responses():
                answers.append(Answer())
            else:
                self.event(event, answers[-1])

    def event(self, event: Any, answer: Answer) -> None:
        parts = (event.content and event.content.parts) or ()
        if parts and not event.partial:  # all of the message again
            answer.update(text="", thinking="", calls=[], more=[])
        if event.finish_reason:
            answer["stop"] = event.finish_reason.value
        for part in parts:
            if part.function_call:
                call = part.function_call
                answer.call(call.id, call.name, call.args)
            elif part.executable_code:
                answer["more"].append(part.executable_code.code)
            elif part.code_execution_result:
                answer["more"].append(part.code_execution_result.output)
            elif part.inline_data:
                answer["more"].append([part.inline_data.mime_type, len(part.inline_data.data)])
            else:
                answer["thinking" if part.thought else "text"] += part.text or ""
        if found := event.grounding_metadata:
            answer["more"].extend([found.web_search_queries] if found.web_search_queries else [])
            for support in found.grounding_supports or ():
                web = found.grounding_chunks[support.grounding_chunk_indices[0]].web
                where = [support.segment.start_index, support.segment.end_index]
                answer["more"].append([web.uri, web.title, *where])
        if usage := event.usage_metadata:
            written = (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)
            cached = usage.cached_content_token_count or 0
            answer["usage"] = [usage.prompt_token_count, written, cached]


class OpenAIAgents(Framework):
    uses_responses = True
    item = Responses.item

    def __init__(self, retries: int = 0) -> None:
        from openai import AsyncOpenAI

        from agents import Agent, OpenAIProvider, RunConfig, function_tool

        super().__init__(retries)
        client = AsyncOpenAI(max_retries=retries)
        provider = OpenAIProvider(openai_client=client, use_responses=self.uses_responses)
        self.agent = Agent(name="weather", tools=[function_tool(get_weather)])
        self.config = RunConfig(model_provider=provider, tracing_disabled=True)

    async def run(self, text: str, stream: bool, answers: list[Answer]) -> None:
        from agents import Runner

        if stream:
            result = Runner.run_streamed(self.agent, text, run_config=self.config)
            async for event in result.stream_events():
                if getattr(event, "data", None) and event.data.type.endswith("text.delta"):
                    answers[-1]["text"] += event.data.delta
        else:
            result = await Runner.run(self.agent, text, run_config=self.config)
        answers[:] = [self.answer(response) for response in result.raw_responses]

    def answer(self, response: Any) -> Answer:
        answer, usage = Answer(), response.usage
        cached = usage.input_tokens_details.cached_tokens
        answer["usage"] = [usage.input_tokens, usage.output_tokens, cached]
        for item in response.output:
            self.item(item, answer)
            if item.type == "message":
                answer["text"] += "".join(getattr(part, "text", "") for part in item.content)
        return answer


class OpenAIAgentsChat(OpenAIAgents):
    uses_responses = False


class Smolagents(Client):
    """Its model: an agent asks again for whatever is not a call of `final_answer`."""

    message = Chat.message

    def __init__(self, retries: int = 0) -> None:
        from smolagents import OpenAIModel, tool

        self.tool = tool(get_weather)
        self.model = OpenAIModel("gpt", client_kwargs={"max_retries": retries}, retry=False)

    def first(self, text: str) -> list[Any]:
        return [{"role": "user", "content": [{"type": "text", "text": text}]}]

    def ask(self, history: list[Any], stream: bool, answer: Answer) -> None:
        from smolagents import ChatMessage, agglomerate_stream_deltas

        if stream:
            deltas = []
            for delta in self.model.generate_stream(history, tools_to_call_from=[self.tool]):
                answer["text"] += delta.content or ""
                deltas.append(delta)
            message = agglomerate_stream_deltas(deltas)
        else:
            message = self.model.generate(history, tools_to_call_from=[self.tool])
        assert isinstance(message, ChatMessage)
        answer["text"] = message.content or ""
        for call in message.tool_calls or ():
            answer.call(call.id, call.function.name, json_or_text(call.function.arguments))
        if message.token_usage:
            usage = message.token_usage
            answer["usage"] = [usage.input_tokens, usage.output_tokens, 0]
        history.append({"role": "assistant", "content": [{"type": "text", "text": answer["text"]}]})
        history.append({"role": "user", "content": [{"type": "text", "text": RESULT}]})


QUIET = {
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_TELEMETRY": "1",
}


class Claude(Framework):
    """Claude Code, in one process: `/clear` begins the next conversation."""

    STREAMS = (True,)
    client: Any = None

    async def connect(self) -> None:
        from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient

        folder = tempfile.mkdtemp()
        own = {"CLAUDE_CONFIG_DIR": folder, "CLAUDE_CODE_MAX_RETRIES": str(self.retries)}
        options = ClaudeAgentOptions(
            cwd=folder,
            tools=[],
            setting_sources=[],
            system_prompt="Be brief.",
            include_partial_messages=True,
            env={**QUIET, **own},
        )
        self.client = ClaudeSDKClient(options)
        await self.client.connect()

    async def run(self, text: str, stream: bool, answers: list[Answer]) -> None:
        if self.client is None:
            await self.connect()
        await self.client.query(text)
        async for message in self.client.receive_response():
            self.message(message, answers)
        await self.client.query("/clear")
        async for _ in self.client.receive_response():
            pass

    def message(self, message: Any, answers: list[Answer]) -> None:
        match type(message).__name__:
            case "StreamEvent":
                if message.event["type"] == "message_start" and answers[-1]["stop"]:
                    answers.append(Answer())
                delta, answer = message.event.get("delta", {}), answers[-1]
                answer["text"] += delta.get("text", "")
                answer["thinking"] += delta.get("thinking", "")
                answer["stop"] = delta.get("stop_reason", answer["stop"])
            case "AssistantMessage" if message.error:
                words = "".join(block.text for block in message.content)
                answers[-1]["error"] = [message.error, None, words, None]
            case "AssistantMessage":
                self.blocks(message.content, answers[-1])
            case "ResultMessage":
                cached = message.usage["cache_read_input_tokens"]
                read, written = message.usage["input_tokens"], message.usage["output_tokens"]
                answers[-1]["usage"] = [read + cached, written, cached]

    def blocks(self, blocks: list[Any], answer: Answer) -> None:
        for block in blocks:
            kind = type(block).__name__
            if kind == "ToolUseBlock":
                answer.call(block.id, block.name, block.input)
            elif kind not in ("TextBlock", "ThinkingBlock"):  # their events came before
                answer["more"].append(kind)


CLIENTS = {
    "adk": Adk,
    "openai-agents": OpenAIAgents,
    "openai-agents-chat": OpenAIAgentsChat,
    "smolagents": Smolagents,
    "claude": Claude,
}

if __name__ == "__main__":
    main(CLIENTS)
