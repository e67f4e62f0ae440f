"""The reader of real AI SDK clients: it reads good streams and refuses each kind of bad one."""

import json
from typing import Any

import pytest

from support.ai_sdk_client import AiSdkClients

CLIENTS = ["ai", "ai-v6", "ai-v6-strict", "ai-v5", "ai-v5-strict"]

GOOD: list[dict[str, Any]] = [
    {"type": "start", "messageId": "m1"},
    {"type": "start-step"},
    {"type": "reasoning-start", "id": "r1"},
    {"type": "reasoning-delta", "id": "r1", "delta": "Let me look."},
    {"type": "reasoning-end", "id": "r1"},
    {"type": "tool-input-start", "toolCallId": "c1", "toolName": "ls", "dynamic": True},
    {"type": "tool-input-delta", "toolCallId": "c1", "inputTextDelta": '{"path":"'},
    {"type": "tool-input-delta", "toolCallId": "c1", "inputTextDelta": '."}'},
    {
        "type": "tool-input-available",
        "toolCallId": "c1",
        "toolName": "ls",
        "input": {"path": "."},
        "dynamic": True,
    },
    {"type": "tool-output-available", "toolCallId": "c1", "output": "a.txt", "dynamic": True},
    {"type": "finish-step"},
    {"type": "start-step"},
    {"type": "text-start", "id": "t1"},
    {"type": "text-delta", "id": "t1", "delta": "One file,\u2028"},
    {"type": "text-delta", "id": "t1", "delta": " naïve ✓"},
    {"type": "text-end", "id": "t1"},
    {"type": "data-usage", "id": "usage", "data": {"inputTokens": 3}},
    {"type": "finish-step"},
    {"type": "finish"},
]

# What is wrong, the chunk with it, and the start of the client's complaint (5 has none worth it).
BAD: list[tuple[str, str | dict[str, Any], str]] = [
    ("not JSON", '{"type":"start"', "AI_JSONParseError"),
    ("an unknown type", {"type": "done"}, "AI_TypeValidationError"),
    ("a missing key", {"type": "tool-input-start", "id": "c2"}, "AI_TypeValidationError"),
    ("a null", {"type": "text-start", "id": "t2", "providerMetadata": None}, "AI_TypeValidation"),
    (
        "a delta without a start",
        {"type": "text-delta", "id": "t2", "delta": "x"},
        "AI_UIMessageStreamError: Received text-delta for missing text part",
    ),
    (
        "an end without a start",
        {"type": "reasoning-end", "id": "r1"},
        "AI_UIMessageStreamError: Received reasoning-end for missing reasoning part",
    ),
    (
        "input of a tool without a start",
        {"type": "tool-input-delta", "toolCallId": "c2", "inputTextDelta": "{"},
        "AI_UIMessageStreamError: Received tool-input-delta for missing tool call",
    ),
    (
        "output of a tool nobody called",
        {"type": "tool-output-available", "toolCallId": "c2", "output": 1},
        "AI_UIMessageStreamError: No tool invocation found",
    ),
    (
        "a message that cannot be stored",  # its schema wants the request which was denied
        {"type": "tool-output-denied", "toolCallId": "c1"},
        "AI_TypeValidationError",
    ),
]


def documents(*chunks: str | dict[str, Any]) -> list[bytes]:
    return [
        (chunk if isinstance(chunk, str) else json.dumps(chunk, ensure_ascii=False)).encode()
        for chunk in chunks
    ]


def sse(*chunks: str | dict[str, Any]) -> bytes:
    return b"".join(b"data: %b\n\n" % document for document in documents(*chunks, "[DONE]"))


@pytest.mark.parametrize("client", CLIENTS)
def test_a_good_stream_is_read(ai_sdk: AiSdkClients, client: str) -> None:
    reading = ai_sdk.read(client, sse(*GOOD))
    assert (reading.error, reading.error_text) == (None, None)
    assert reading.message is not None
    assert reading.message["id"] == "m1"
    assert [part["type"] for part in reading.message["parts"]] == [
        *("step-start", "reasoning", "dynamic-tool", "step-start", "text", "data-usage")
    ]
    assert reading.message["parts"][2]["output"] == "a.txt"
    assert reading.message["parts"][4]["text"] == "One file,\u2028 naïve ✓"


@pytest.mark.parametrize("client", CLIENTS)
def test_every_beginning_of_a_good_stream_is_read(ai_sdk: AiSdkClients, client: str) -> None:
    for end in range(len(GOOD)):
        assert ai_sdk.read_chunks(client, documents(*GOOD[:end])).error is None, GOOD[:end]


@pytest.mark.parametrize("client", CLIENTS)
def test_documents_read_as_their_sse_body_does(ai_sdk: AiSdkClients, client: str) -> None:
    assert ai_sdk.read_chunks(client, documents(*GOOD)) == ai_sdk.read(client, sse(*GOOD))


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(
    ("chunk", "complaint"), [bad[1:] for bad in BAD], ids=[bad[0] for bad in BAD]
)
def test_a_bad_stream_is_refused(
    ai_sdk: AiSdkClients, client: str, chunk: str | dict[str, Any], complaint: str
) -> None:
    reading = ai_sdk.read(client, sse(*GOOD[:-2], chunk, *GOOD[-2:]))
    assert reading.message is None
    assert reading.error is not None
    if not client.startswith("ai-v5"):
        assert reading.error.startswith(complaint)


@pytest.mark.parametrize("client", CLIENTS)
def test_only_the_strict_clients_refuse_an_unknown_key(ai_sdk: AiSdkClients, client: str) -> None:
    reading = ai_sdk.read(client, sse({"type": "start", "messageId": "m1", "novel": 1}))
    assert (reading.error is not None) == client.endswith("-strict")


@pytest.mark.parametrize("client", CLIENTS)
def test_an_error_chunk_ends_the_turn_and_is_no_fault(ai_sdk: AiSdkClients, client: str) -> None:
    unread = {"type": "text-delta", "id": "nobody", "delta": "x"}
    reading = ai_sdk.read(client, sse(*GOOD, {"type": "error", "errorText": "lost"}, unread))
    assert (reading.error, reading.error_text) == (None, "lost")
    assert reading.message == ai_sdk.read(client, sse(*GOOD)).message


def test_an_unknown_client_is_refused(ai_sdk: AiSdkClients) -> None:
    assert "ai-v4" in (ai_sdk.read("ai-v4", sse(*GOOD)).error or "")
