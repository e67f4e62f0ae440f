"""Ask a model with the real SDKs, each scenario streamed and whole; print what they return.

The tests run it with the Python of the frameworks' venv: `run_sdks.py CLIENT…`. On stdin it gets
the ways to the model, each with the environment variables of an agent: no client is told more. A
line is one answer: text, thinking, calls, the reason it stopped, usage, and what was raised.
"""

from __future__ import annotations

import gc
import json
import logging
import os
import sys
import warnings
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import Any

warnings.simplefilter("ignore")
logging.disable()

NAMES = [
    "text", "think", "tool", "cite", "search", "code", "file", "usage", "wait", "bad", "key",
    "limited", "overloaded", "broken", "cut", "stall", "refuse", "max", "malformed", "again",
]  # fmt: skip
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"],
}
RESULT = "21 degrees"


class Answer(dict[str, Any]):
    """What one SDK made of one answer."""

    def __init__(self) -> None:
        super().__init__(text="", thinking="", calls=[], stop=None, usage=None, more=[])

    def call(self, call_id: str, name: str, given: Any) -> None:
        self["calls"].append([call_id, name, given])


class Client:
    """An SDK; `ask` fills an answer in and adds it to the history, which is the SDK's own."""

    STREAMS = (True, False)

    def converse(self, text: str, stream: bool, answers: list[Answer], turns: int) -> None:
        history = self.first(text)
        for _ in range(turns):
            answers.append(Answer())
            self.ask(history, stream, answers[-1])


class Anthropic(Client):
    def __init__(self, retries: int = 0) -> None:
        import anthropic

        self.client = anthropic.Anthropic(max_retries=retries)

    def first(self, text: str) -> list[Any]:
        return [{"role": "user", "content": text}]

    def ask(self, history: list[Any], stream: bool, answer: Answer) -> None:
        tools = [{"name": "get_weather", "input_schema": SCHEMA}]
        body = {"model": "claude", "max_tokens": 99, "messages": history, "tools": tools}
        if stream:
            with self.client.messages.stream(**body) as events:
                for event in events:
                    if event.type == "text":
                        answer["text"] += event.text
                    elif event.type == "thinking":
                        answer["thinking"] += event.thinking
                message = events.get_final_message()
        else:
            message = self.client.messages.create(**body)
            answer["text"] = "".join(b.text for b in message.content if b.type == "text")
            thoughts = [b for b in message.content if b.type == "thinking"]
            answer["thinking"] = "".join(b.thinking for b in thoughts)
        for block in message.content:
            if block.type == "tool_use":
                answer.call(block.id, block.name, block.input)
            elif block.type == "thinking":
                assert block.signature
            elif block.type != "text":
                answer["more"].append(block.type)
            for citation in getattr(block, "citations", None) or ():
                answer["more"].append([citation.url, citation.title, citation.cited_text])
        answer["stop"] = message.stop_reason
        usage = message.usage
        answer["usage"] = [
            usage.input_tokens + usage.cache_read_input_tokens, usage.output_tokens,
            usage.cache_read_input_tokens,
        ]  # fmt: skip
        results = [
            {"type": "tool_result", "tool_use_id": call_id, "content": RESULT}
            for call_id, _, _ in answer["calls"]
        ]
        history.append({"role": "assistant", "content": [b.model_dump() for b in message.content]})
        history.append({"role": "user", "content": results})


class Chat(Client):
    def __init__(self, retries: int = 0) -> None:
        import openai

        self.client = openai.OpenAI(max_retries=retries)

    def first(self, text: str) -> list[Any]:
        return [{"role": "system", "content": "Be brief."}, {"role": "user", "content": text}]

    def ask(self, history: list[Any], stream: bool, answer: Answer) -> None:
        function = {"name": "get_weather", "parameters": SCHEMA}
        tools = [{"type": "function", "function": function}]
        body = {"model": "gpt", "messages": history, "tools": tools}
        if stream:
            self.stream(body, answer)
        else:
            completion = self.client.chat.completions.create(**body)
            self.message(completion.choices[0].message, answer)
            answer["stop"] = completion.choices[0].finish_reason
            self.usage(completion.usage, answer)
        calls = [
            {"id": i, "type": "function", "function": {"name": n, "arguments": json.dumps(a)}}
            for i, n, a in answer["calls"]
        ]
        history.append({"role": "assistant", "content": answer["text"], "tool_calls": calls})
        history.extend(
            {"role": "tool", "tool_call_id": call["id"], "content": RESULT} for call in calls
        )

    def usage(self, usage: Any, answer: Answer) -> None:
        cached = usage.prompt_tokens_details.cached_tokens
        answer["usage"] = [usage.prompt_tokens, usage.completion_tokens, cached]

    def message(self, message: Any, answer: Answer) -> None:
        answer["text"] = message.content or ""
        answer["thinking"] = getattr(message, "reasoning_content", None) or ""
        if message.refusal:
            answer["more"].append(["refusal", message.refusal])
        for call in message.tool_calls or ():
            answer.call(call.id, call.function.name, json_or_text(call.function.arguments))
        for each in message.annotations or ():
            cited = each.url_citation
            answer["more"].append([cited.url, cited.title, cited.start_index, cited.end_index])

    def stream(self, body: dict[str, Any], answer: Answer) -> None:
        calls: dict[int, list[str]] = {}
        refusal = ""
        options = {"include_usage": True}
        with self.client.chat.completions.create(
            **body, stream=True, stream_options=options
        ) as chunks:
            for chunk in chunks:
                if chunk.usage:
                    self.usage(chunk.usage, answer)
                for choice in chunk.choices:
                    delta = choice.delta
                    answer["text"] += delta.content or ""
                    answer["thinking"] += getattr(delta, "reasoning_content", None) or ""
                    refusal += delta.refusal or ""
                    answer["stop"] = choice.finish_reason or answer["stop"]
                    for each in getattr(delta, "annotations", None) or ():
                        cited = each["url_citation"]
                        place = [cited["start_index"], cited["end_index"]]
                        answer["more"].append([cited["url"], cited["title"], *place])
                    for call in delta.tool_calls or ():
                        known = calls.setdefault(call.index, ["", "", ""])
                        known[0] = call.id or known[0]
                        known[1] = call.function.name or known[1]
                        known[2] += call.function.arguments or ""
        if refusal:
            answer["more"].append(["refusal", refusal])
        for call_id, name, arguments in calls.values():
            answer.call(call_id, name, json_or_text(arguments))


class Responses(Chat):
    def ask(self, history: list[Any], stream: bool, answer: Answer) -> None:
        tool = {"type": "function", "name": "get_weather", "parameters": SCHEMA, "strict": False}
        body = {"model": "gpt", "input": history, "tools": [tool]}
        response = self.events(body, answer) if stream else self.client.responses.create(**body)
        answer["stop"] = response.status
        if response.incomplete_details:
            answer["more"].append(response.incomplete_details.reason)
        if response.usage:
            usage = response.usage
            cached = usage.input_tokens_details.cached_tokens
            answer["usage"] = [usage.input_tokens, usage.output_tokens, cached]
        answer["text"], answer["thinking"] = response.output_text, ""
        for item in response.output:
            self.item(item, answer)
        history.extend(item.model_dump(exclude_none=True) for item in response.output)
        history.extend(
            {"type": "function_call_output", "call_id": call_id, "output": RESULT}
            for call_id, _, _ in answer["calls"]
        )

    def item(self, item: Any, answer: Answer) -> None:
        match item.type:
            case "reasoning":
                answer["thinking"] += "".join(part.text for part in item.summary)
            case "function_call":
                answer.call(item.call_id, item.name, json_or_text(item.arguments))
            case "message":
                for part in item.content:
                    if part.type == "refusal":
                        answer["more"].append(["refusal", part.refusal])
                        continue
                    for a in part.annotations:
                        answer["more"].append([a.url, a.title, a.start_index, a.end_index])
            case _:
                answer["more"].append(item.type)

    def events(self, body: dict[str, Any], answer: Answer) -> Any:
        text, numbers, response = "", [], None
        with self.client.responses.create(**body, stream=True) as events:
            for event in events:
                numbers.append(event.sequence_number)
                if event.type == "response.output_text.delta":
                    text += event.delta
                    answer["text"] = text
                if event.type in ("response.completed", "response.incomplete"):
                    response = event.response
        assert numbers == list(range(len(numbers)))
        assert response is not None, "the stream ended without its response"
        assert text == response.output_text
        return response


class Gemini(Client):
    def __init__(self, retries: int = 0) -> None:
        from google import genai

        retry = genai.types.HttpRetryOptions(attempts=1, initial_delay=0.01)
        self.client = genai.Client(http_options=genai.types.HttpOptions(retry_options=retry))

    def first(self, text: str) -> list[Any]:
        return [{"role": "user", "parts": [{"text": text}]}]

    def ask(self, history: list[Any], stream: bool, answer: Answer) -> None:
        function = {"name": "get_weather", "parameters_json_schema": SCHEMA}
        config = {"tools": [{"function_declarations": [function]}]}
        body = {"model": "gemini", "contents": history, "config": config}
        if stream:
            chunks = self.client.models.generate_content_stream(**body)
        else:
            chunks = iter([self.client.models.generate_content(**body)])
        parts = []
        for chunk in chunks:
            candidate = chunk.candidates[0]
            for part in candidate.content.parts or ():
                parts.append(part)
                self.part(part, answer)
            if candidate.grounding_metadata:
                found = candidate.grounding_metadata
                if found.web_search_queries:
                    answer["more"].append(found.web_search_queries)
                for support in found.grounding_supports or ():
                    web = found.grounding_chunks[support.grounding_chunk_indices[0]].web
                    where = [support.segment.start_index, support.segment.end_index]
                    answer["more"].append([web.uri, web.title, *where])
            if candidate.finish_message:
                answer["more"].append(candidate.finish_message)
            if candidate.finish_reason:
                answer["stop"] = candidate.finish_reason.value
            usage = chunk.usage_metadata
            answer["usage"] = [
                usage.prompt_token_count,
                usage.candidates_token_count + (usage.thoughts_token_count or 0),
                usage.cached_content_token_count or 0,
            ]
        history.append({"role": "model", "parts": parts})
        results = [
            {"function_response": {"id": i, "name": n, "response": {"output": RESULT}}}
            for i, n, _ in answer["calls"]
        ]
        history.append({"role": "user", "parts": results})

    def part(self, part: Any, answer: Answer) -> None:
        if part.function_call:
            answer.call(part.function_call.id, part.function_call.name, part.function_call.args)
        elif part.executable_code:
            answer["more"].append(part.executable_code.code)
        elif part.code_execution_result:
            answer["more"].append(part.code_execution_result.output)
        elif part.inline_data:
            answer["more"].append([part.inline_data.mime_type, len(part.inline_data.data)])
        else:
            answer["thinking" if part.thought else "text"] += part.text or ""


class Interactions(Gemini):
    def first(self, text: str) -> list[Any]:
        return [{"type": "user_input", "content": [{"type": "text", "text": text}]}]

    def ask(self, history: list[Any], stream: bool, answer: Answer) -> None:
        tool = {"type": "function", "name": "get_weather", "parameters": SCHEMA}
        body = {"model": "gemini-3", "input": history, "tools": [tool]}
        if stream:
            self.events(body, answer)
        else:
            made = self.client.interactions.create(**body)
            answer["stop"] = made.status
            self.usage(made.usage, answer)
            for step in made.steps:
                self.step(step, answer)
        for call_id, name, given in answer["calls"]:
            call = {"id": call_id, "name": name, "arguments": given}
            history.append({"type": "function_call", **call})
        for call_id, name, _ in answer["calls"]:
            result = {"call_id": call_id, "name": name, "result": RESULT}
            history.append({"type": "function_result", **result})

    def usage(self, usage: Any, answer: Answer) -> None:
        written = usage.total_output_tokens + usage.total_thought_tokens
        answer["usage"] = [usage.total_input_tokens, written, usage.total_cached_tokens]

    def step(self, step: Any, answer: Answer) -> None:
        match step.type:
            case "thought":
                answer["thinking"] += "".join(each.text for each in step.summary or ())
            case "model_output":
                for content in step.content:
                    if content.type != "text":
                        answer["more"].append([content.type, content.mime_type])
                        continue
                    answer["text"] += content.text
                    for a in content.annotations or ():
                        answer["more"].append([a.url, a.title])
            case "function_call":
                answer.call(step.id, step.name, step.arguments)
            case kind:
                answer["more"].append(kind)

    def events(self, body: dict[str, Any], answer: Answer) -> None:
        calls: dict[int, list[str]] = {}
        for event in self.client.interactions.create(**body, stream=True):
            match event.event_type:
                case "step.start" if event.step.type == "function_call":
                    calls[event.index] = [event.step.id, event.step.name, ""]
                case "step.start" if event.step.type not in ("thought", "model_output"):
                    answer["more"].append(event.step.type)
                case "step.delta":
                    self.delta(event, calls, answer)
                case "interaction.completed":
                    answer["stop"] = event.interaction.status
                    self.usage(event.interaction.usage, answer)
                case "error":
                    answer["stop"] = ["error", event.error.code, event.error.message]
        for call_id, name, arguments in calls.values():
            answer.call(call_id, name, json_or_text(arguments))

    def delta(self, event: Any, calls: dict[int, list[str]], answer: Answer) -> None:
        delta = event.delta
        match delta.type:
            case "text":
                answer["text"] += delta.text
            case "thought_summary":
                answer["thinking"] += delta.content.text
            case "arguments_delta":
                calls[event.index][2] += delta.arguments
            case "text_annotation_delta":
                answer["more"].extend([a.url, a.title] for a in delta.annotations)
            case "image":
                answer["more"].append([delta.type, delta.mime_type])


class LangChain(Client):
    """LangChain's chat models; the provider's is made by `model`."""

    def __init__(self, retries: int = 0) -> None:
        from langchain_core.tools import tool

        @tool
        def get_weather(city: str, days: int = 1) -> str:
            """Tell the weather."""
            return RESULT

        self.model = self.made(retries).bind_tools([get_weather])

    def first(self, text: str) -> list[Any]:
        from langchain_core.messages import HumanMessage

        return [HumanMessage(text)]

    def ask(self, history: list[Any], stream: bool, answer: Answer) -> None:
        from langchain_core.messages import ToolMessage

        if stream:
            message: Any = None
            for chunk in self.model.stream(history):
                message = chunk if message is None else message + chunk
                answer["text"] = message.text
        else:
            message = self.model.invoke(history)
        answer["text"] = message.text
        for block in message.content_blocks:
            if block["type"] == "reasoning":
                answer["thinking"] += block.get("reasoning", "")
        for call in message.tool_calls:
            answer.call(call["id"], call["name"], call["args"])
        for call in message.invalid_tool_calls:
            answer.call(call["id"], call["name"], call["args"])
        about = message.response_metadata
        answer["stop"] = about.get("stop_reason") or about.get("finish_reason")
        usage = message.usage_metadata
        cached = usage.get("input_token_details", {}).get("cache_read", 0)
        answer["usage"] = [usage["input_tokens"], usage["output_tokens"], cached]
        history.append(message)
        history.extend(ToolMessage(RESULT, tool_call_id=call[0]) for call in answer["calls"])


class LangChainAnthropic(LangChain):
    def made(self, retries: int) -> Any:
        from langchain_anthropic import ChatAnthropic

        return ChatAnthropic(model="claude", max_retries=retries)


class LangChainGemini(LangChain):
    def made(self, retries: int) -> Any:
        from langchain_google_genai import ChatGoogleGenerativeAI

        return ChatGoogleGenerativeAI(model="gemini", max_retries=retries + 1)


class LangChainOpenAI(LangChain):
    def made(self, retries: int) -> Any:
        from langchain_openai import ChatOpenAI

        return ChatOpenAI(model="gpt", max_retries=retries, stream_usage=True)


class LiteLLM(Chat):
    """Through its own interface, in OpenAI's form, to the provider in the model's name."""

    provider = "openai"

    def __init__(self, retries: int = 0) -> None:
        import litellm

        litellm.suppress_debug_info = True
        self.litellm, self.retries = litellm, retries

    def usage(self, usage: Any, answer: Answer) -> None:
        details = usage.prompt_tokens_details
        cached = (details and details.cached_tokens) or 0
        answer["usage"] = [usage.prompt_tokens, usage.completion_tokens, cached]

    def ask(self, history: list[Any], stream: bool, answer: Answer) -> None:
        function = {"name": "get_weather", "parameters": SCHEMA}
        made = self.litellm.completion(
            f"{self.provider}/m", history, tools=[{"type": "function", "function": function}],
            stream=stream, stream_options={"include_usage": True} if stream else None,
            max_retries=self.retries, max_tokens=99,
        )  # fmt: skip
        if stream:
            chunks = []
            for chunk in made:
                answer["text"] += chunk.choices[0].delta.content or ""
                answer["stop"] = answer["stop"] or chunk.choices[0].finish_reason
                chunks.append(chunk)
            made = self.litellm.stream_chunk_builder(chunks)
        message = made.choices[0].message
        answer["text"] = message.content or ""
        answer["thinking"] = getattr(message, "reasoning_content", None) or ""
        for call in message.tool_calls or ():
            answer.call(call.id, call.function.name, json_or_text(call.function.arguments))
        answer["stop"] = answer["stop"] or made.choices[0].finish_reason
        self.usage(made.usage, answer)
        history.append(message.model_dump())
        history.extend(
            {"role": "tool", "tool_call_id": call[0], "content": RESULT} for call in answer["calls"]
        )


class LiteLLMAnthropic(LiteLLM):
    provider = "anthropic"


class LiteLLMGemini(LiteLLM):
    provider = "gemini"


CLIENTS = {
    "anthropic": Anthropic,
    "chat": Chat,
    "responses": Responses,
    "gemini": Gemini,
    "interactions": Interactions,
    "langchain-anthropic": LangChainAnthropic,
    "langchain-google-genai": LangChainGemini,
    "langchain-openai": LangChainOpenAI,
    "litellm": LiteLLM,
    "litellm-anthropic": LiteLLMAnthropic,
    "litellm-gemini": LiteLLMGemini,
}


def json_or_text(text: str) -> Any:
    try:
        return json.loads(text or "{}")
    except ValueError:
        return text


def _error(error: BaseException) -> list[Any]:
    status = getattr(error, "status_code", None) or getattr(error, "code", None)
    response = getattr(error, "response", None)
    headers = getattr(response, "headers", None) or {}
    return [type(error).__name__, status, str(error), dict(headers).get("retry-after")]


def main(clients: Mapping[str, type[Any]]) -> None:
    # httpcore holds a lock in a request that closing a stream needs, too: it would wait for ever if
    # a stream that a client has abandoned were collected just then.
    gc.disable()
    thread = ThreadPoolExecutor(1)
    for way, variables in json.load(sys.stdin).items():
        os.environ |= variables
        for client in sys.argv[1:]:
            made = [clients[client](), clients[client](retries=1)]
            gc.freeze()
            for name, stream in product(NAMES, clients[client].STREAMS):
                answers: list[Answer] = []
                converse = made[name == "again"].converse
                text = f"[[{name}]] What is the weather?"
                asked = thread.submit(converse, text, stream, answers, 1 + (name == "tool"))
                if (error := asked.exception()) is not None:
                    answers[-1]["error"] = _error(error)
                for turn, answer in enumerate(answers):
                    print(json.dumps([client, way, name, stream, turn, answer]), flush=True)
                del asked, error
                gc.collect()


if __name__ == "__main__":
    main(CLIENTS)
