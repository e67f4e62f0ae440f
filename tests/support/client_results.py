"""What a client of any protocol has at the end of a run: texts, calls and outputs.

Retracted blocks are left out, and so are the texts of subagents: they are no answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from support.ag_ui_client import AGUIMessages

Parts = list[dict[str, Any]]


class ClientResult(NamedTuple):
    """In the contract's words: an input is an object, an output has failed or not."""

    texts: list[str]
    calls: dict[str, tuple[str, dict[str, Any]]]
    outputs: dict[str, tuple[bool, Any]]

    def without(self, calls: Iterable[str]) -> ClientResult:
        """The same, but for these calls."""
        left_out = set(calls)
        kept = {name: call for name, call in self.calls.items() if name not in left_out}
        return self._replace(calls=kept).without_outputs(left_out)

    def without_outputs(self, calls: Iterable[str]) -> ClientResult:
        """The same, but for what came of these calls."""
        left_out = set(calls)
        outputs = {name: told for name, told in self.outputs.items() if name not in left_out}
        return self._replace(outputs=outputs)


def an_object(given: Any) -> dict[str, Any]:
    """An input as the contract has it, whatever the model wrote."""
    return given if isinstance(given, dict) else {"input": given}


def by_contract(documents: Sequence[bytes]) -> ClientResult:
    """A client of agent:event, by the words of docs/agent-event.md."""
    blocks: dict[int, dict[str, Any]] = {}
    results: dict[str, dict[str, Any]] = {}
    for event in map(json.loads, documents):
        for taken_back in event.get("retracted", ()):
            blocks.pop(taken_back, None)
        kind, index = event["type"], event.get("blockIndex")
        if kind in ("message_chunk", "thinking_chunk"):
            before = blocks.get(index, {"content": ""})
            blocks[index] = event | {"content": before["content"] + event["content"]}
        elif kind in ("message", "thinking", "tool_use"):
            blocks[index] = event
        elif kind == "tool_result":
            results[event["tool_call_id"]] = event
    shown = [blocks[index] for index in sorted(blocks)]
    uses = {event["tool_call_id"]: event for event in shown if event["type"] == "tool_use"}
    texts = [event["content"] for event in shown if event["type"].startswith("message")]
    return ClientResult(
        [text for text in texts if text],
        {name: (event["tool_name"], event["tool_input"]) for name, event in uses.items()},
        {
            name: (event.get("isError", False), event["result"])
            for name, event in results.items()
            if name in uses
        },
    )


def hidden_in(parts: Parts) -> set[str]:
    """What the page of an AI SDK's client hides, by its name on the wire."""
    lists = [part["data"]["ids"] for part in parts if part["type"] == "data-retract"]
    return {name for names in lists for name in names}


def is_call(part: dict[str, Any]) -> bool:
    """Whether it is a call of the agent: a question to a person looks like one."""
    return "toolCallId" in part and part["type"] != "tool-ask_user"


def by_ai_sdk(parts: Parts) -> ClientResult:
    """A UIMessage."""
    hidden = hidden_in(parts)
    texts = [
        part["text"]
        for part in parts
        if part["type"] == "text" and part["providerMetadata"]["mobox"]["id"] not in hidden
    ]
    tools = [
        part
        for part in parts
        if is_call(part)
        and part["toolCallId"] not in hidden
        and part["state"] != "input-streaming"  # where a run waits: the contract tells whole ones
    ]
    outputs = {own(part["toolCallId"]): _ai_sdk_output(part) for part in tools}
    return ClientResult(
        [text for text in texts if text],
        {
            own(part["toolCallId"]): (
                part.get("toolName", part["type"].removeprefix("tool-")),
                an_object(part.get("input", part.get("rawInput"))),
            )
            for part in tools
        },
        {name: output for name, output in outputs.items() if output is not None},
    )


def _ai_sdk_output(part: dict[str, Any]) -> tuple[bool, Any] | None:
    if part["state"] == "output-error":
        return True, part["errorText"]
    return (False, part.get("output")) if part["state"] == "output-available" else None


def by_ag_ui(messages: AGUIMessages) -> ClientResult:
    """The messages of a thread. Inputs and outputs are texts there: see `as_text`."""
    said = [message for message in messages if message["role"] == "assistant"]
    texts = [each.get("content") for each in said if "subagentRunId" not in each]
    calls = [call for message in said for call in message.get("toolCalls", ())]
    results = [message for message in messages if message["role"] == "tool"]
    return ClientResult(
        [_with_own_ids(text, [call["id"] for call in calls]) for text in texts if text],
        {
            own(call["id"]): (call["function"]["name"], _arguments(call["function"]["arguments"]))
            for call in calls
        },
        {own(each["toolCallId"]): (_has_failed(each), each["content"]) for each in results},
    )


def _arguments(text: str) -> dict[str, Any]:
    try:
        return an_object(json.loads(text))
    except ValueError:
        return an_object(text)


def _with_own_ids(text: str, wires: list[str]) -> str:
    """A text whose placeholders name calls as the agent does."""
    for wire in wires:
        text = text.replace(f'"{wire}"', f'"{own(wire)}"')
    return text


def own(wire: str) -> str:
    """A call's id without its run's."""
    return wire.partition(":")[2]


def _has_failed(message: dict[str, Any]) -> bool:
    status = message.get("metadata", {}).get("mobox", {}).get("status", "ok")
    return status in ("error", "denied", "interrupted")


def as_text(output: Any) -> Any:
    """An output as AG-UI's clients have it: a text, or that of its blocks, or its JSON."""
    if isinstance(output, list) and output and all(_is_text(block) for block in output):
        return "\n".join(block["text"] for block in output)
    return output


def _is_text(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "text"
