"""A chat model that says what a script says, in the pieces in which Anthropic's would stream it.

Which script, a word in [[brackets]] in the first message of the user tells; which turn of it, the
number of answers since. So agents that run beside each other, or within, stay in their parts.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

Piece = dict[str, Any]

CITATION = {"type": "char_location", "cited_text": "Financial Management", "document_title": "Doc"}
USAGE = {
    "input_tokens": 2580,
    "output_tokens": 87,
    "total_tokens": 2667,
    "input_token_details": {"cache_creation": 120, "cache_read": 2048},
    "output_token_details": {"reasoning": 20},
}


def think(words: str) -> list[Piece]:
    pieces = [{"type": "thinking", "thinking": piece} for piece in cut(words)]
    return [*pieces, {"type": "thinking", "thinking": "", "signature": "EqQB"}]


def say(words: str, **about: Any) -> list[Piece]:
    first = [{"type": "text", **about}] if about else []
    return [*first, *({"type": "text", "text": piece} for piece in cut(words))]


def call(call_id: str, name: str, **args: Any) -> list[Piece]:
    start = {"type": "tool_use", "id": call_id, "name": name, "input": {}}
    return [
        start,
        *({"type": "input_json_delta", "partial_json": p} for p in cut(json.dumps(args))),
    ]


def cut(words: str, size: int = 12) -> list[str]:
    return [words[start : start + size] for start in range(0, len(words), size)]


def todos(*statuses: str) -> list[dict[str, str]]:
    names = ("Research A", "Research B")
    return [{"content": n, "status": s} for n, s in zip(names, statuses, strict=True)]


def research(name: str) -> dict[str, str]:
    task = f"[[da_sub_{name.lower()}]] Research {name}"
    return {"description": task, "subagent_type": "research-agent"}


SCRIPTS: dict[str, list[list[list[Piece]]]] = {
    "da_orch": [
        [
            think("Plan."),
            say("Planning."),
            call("toolu_wt1", "write_todos", todos=todos("in_progress", "pending")),
        ],
        [
            say("Delegating."),
            call("toolu_ta", "task", **research("A")),
            call("toolu_tb", "task", **research("B")),
        ],
        [
            call("toolu_wt2", "write_todos", todos=todos("completed", "completed")),
            call("toolu_wf", "write_file", file_path="/report.md", content="# Report\n"),
        ],
        [say("# Research Report\n\nA and B agree.")],
    ],
    "da_sub_a": [
        [
            think("Sub A thinks."),
            say("Searching A."),
            call("toolu_s1", "internet_search", query="A"),
        ],
        [call("toolu_th1", "think_tool", thought="Found 2 sources on A.")],
        [say("A: finding one.")],
    ],
    "da_sub_b": [
        [say("Searching B."), call("toolu_s2", "internet_search", query="B")],
        [say("B: finding two.")],
    ],
    "lc_tools": [
        [
            think("I should call both tools."),
            say("Calling tools."),
            call("toolu_g1", "get_weather", city="Paris"),
            call("toolu_g2", "get_weather", city="Oslo"),
        ],
        [say("Paris 21C, "), say("Oslo 9C", citations=[CITATION]), say(".")],
    ],
    "lc_fail": [[call("toolu_x1", "boom", x=1)]],
    "lc_hitl": [
        [say("Needs approval."), call("toolu_h1", "send_email", to="a@b.c", body="hi")],
        [say("Sent.")],
    ],
}


class ScriptedModel(BaseChatModel):
    """The model."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **_kwargs: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *_args: Any, **_kwargs: Any) -> ChatResult:
        whole = sum(list(_chunks(messages))[1:], start=next(_chunks(messages)))
        return ChatResult(generations=[ChatGeneration(message=whole)])

    def _stream(
        self, messages: list[BaseMessage], *_args: Any, **_kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        for chunk in _chunks(messages):
            yield ChatGenerationChunk(message=chunk)

    async def _astream(
        self, messages: list[BaseMessage], *_args: Any, **_kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in _chunks(messages):
            yield ChatGenerationChunk(message=chunk)


def _chunks(messages: list[BaseMessage]) -> Iterator[AIMessageChunk]:
    turn = _turn(messages)
    about = {"model_name": "scripted-1", "model_provider": "anthropic"}
    yield AIMessageChunk(content=[], response_metadata=about)
    for index, pieces in enumerate(turn):
        for piece in pieces:
            yield AIMessageChunk(
                content=[{**piece, "index": index}],
                tool_call_chunks=_call_chunks(piece, index),
                response_metadata={"model_provider": "anthropic"},
            )
    reason = "tool_use" if any(pieces[0]["type"] == "tool_use" for pieces in turn) else "end_turn"
    yield AIMessageChunk(
        content=[],
        usage_metadata=USAGE,
        response_metadata={"stop_reason": reason, "model_provider": "anthropic"},
    )


def _call_chunks(piece: Piece, index: int) -> Any:
    if piece["type"] not in ("tool_use", "input_json_delta"):
        return []
    args = piece.get("partial_json", "")
    return [{"name": piece.get("name"), "id": piece.get("id"), "args": args, "index": index}]


def _turn(messages: list[BaseMessage]) -> list[list[Piece]]:
    asked = [str(message.content) for message in messages if message.type == "human"]
    scenario = re.findall(r"\[\[(\w+)\]\]", asked[0])[0]
    answers = sum(message.type == "ai" for message in messages)
    return SCRIPTS[scenario][answers]
