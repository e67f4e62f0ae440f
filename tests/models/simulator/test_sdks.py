"""The real SDKs and LangChain's models ask the simulator: their own objects and exceptions."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from models.simulator.live import mobox_sim
from models.simulator.scenarios import SCENARIOS
from server.live_server import clean_environment

RUN = Path(__file__).parent / "run_sdks.py"
CLIENTS = (
    "anthropic",
    "chat",
    "responses",
    "gemini",
    "interactions",
    "langchain-anthropic",
    "langchain-google-genai",
)
Answers = dict[tuple[str, bool, int], dict[str, Any]]

TEXTS = {
    ("text", 0): "It is 21 degrees in Lisbon.",
    ("think", 0): "It is warm.",
    ("tool", 0): "I will look.",
    ("tool", 1): "Both are warm.",
    ("cite", 0): "Lisbon is warm. It has 21 degrees. That is all.",
    ("search", 0): "I found it.",
    ("code", 0): "It is 42.",
    ("file", 0): "Here it is.",
    ("usage", 0): "Yes.",
    ("wait", 0): "One two.",
    ("max", 0): "It is 21 deg",
}
STOPS = {
    "anthropic": ("end_turn", "tool_use", "max_tokens", "refusal"),
    "langchain-anthropic": ("end_turn", "tool_use", "max_tokens", "refusal"),
    "chat": ("stop", "tool_calls", "length", "stop"),
    "responses": ("completed", "completed", "incomplete", "completed"),
    "gemini": ("STOP", "STOP", "MAX_TOKENS", "SAFETY"),
    "langchain-google-genai": ("STOP", "STOP", "MAX_TOKENS", "SAFETY"),
    "interactions": ("completed", "requires_action", "incomplete", "failed"),
}
ERRORS = {
    "anthropic": ("BadRequestError", "AuthenticationError", "RateLimitError", "OverloadedError"),
    "langchain-anthropic": (
        "AnthropicInvalidRequestError", "AnthropicAuthenticationError", "AnthropicRateLimitError",
        "AnthropicOverloadedError",
    ),
    "chat": ("BadRequestError", "AuthenticationError", "RateLimitError", "InternalServerError"),
    "responses": (
        "BadRequestError", "AuthenticationError", "RateLimitError", "InternalServerError",
    ),
    "gemini": ("ClientError", "ClientError", "ClientError", "ServerError"),
    "langchain-google-genai": (
        "GoogleInvalidRequestError", "GoogleAuthenticationError", "GoogleRateLimitError",
        "GoogleAPIError",
    ),
    "interactions": (
        "BadRequestError", "AuthenticationError", "RateLimitError", "InternalServerError",
    ),
}  # fmt: skip
BROKEN = {
    "anthropic": ("APIStatusError", "RemoteProtocolError"),
    "langchain-anthropic": ("APIStatusError", "RemoteProtocolError"),
    "chat": ("APIError", "APIConnectionError"),
    "responses": ("APIError", "APIConnectionError"),
    "gemini": ("ServerError", "RemoteProtocolError"),
    "langchain-google-genai": ("GoogleAPIError", "RemoteProtocolError"),
    "interactions": (None, "APIConnectionError"),
}
"""What an error in the stream raises, and what a broken connection does."""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    script = tmp_path_factory.mktemp("sim") / "script.yaml"
    script.write_text(SCENARIOS)
    with mobox_sim("--script", script) as url:
        yield url


@pytest.fixture(scope="module", params=CLIENTS)
def told(request: pytest.FixtureRequest, url: str, frameworks: Path) -> tuple[str, Answers]:
    """The name of a client, and what it made of every scenario: streamed or not, by turn."""
    command = [str(frameworks), str(RUN), url, request.param]
    done = subprocess.run(command, capture_output=True, env=clean_environment(), check=False)
    assert done.returncode == 0, done.stderr.decode()
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return request.param, {(name, stream, turn): answer for name, stream, turn, answer in lines}


Told = tuple[str, Answers]


def test_texts_are_the_same_streamed_and_whole(told: Told) -> None:
    _, answers = told
    found = {key: answer["text"] for key, answer in answers.items() if "error" not in answer}
    expected = {(n, s, t): text for (n, t), text in TEXTS.items() for s in (True, False)}
    assert {key: found.get(key) for key in expected} == expected


def test_thinking(told: Told) -> None:
    _, answers = told
    for stream in (True, False):
        assert answers["think", stream, 0]["thinking"] == "The person wants the weather."


def test_calls_and_their_results(told: Told) -> None:
    _, answers = told
    for stream in (True, False):
        (first_id, *first), second = answers["tool", stream, 0]["calls"]
        assert first == ["get_weather", {"city": "Lisbon", "days": 2}]
        assert second == ["call_porto", "get_weather", {"city": "Porto", "days": 1}]
        assert first_id.startswith(("toolu_", "call_"))


def test_reasons_to_stop(told: Told) -> None:
    client, answers = told
    for stream in (True, False):
        names = (("text", 0), ("tool", 0), ("max", 0), ("refuse", 0))
        found = tuple(answers[name, stream, turn]["stop"] for name, turn in names)
        assert found == STOPS[client]


def test_usage(told: Told) -> None:
    _, answers = told
    for stream in (True, False):
        assert answers["usage", stream, 0]["usage"] == [1000, 50, 400]


def test_errors_are_the_sdks_own(told: Told) -> None:
    client, answers = told
    for stream in (True, False):
        names = ("bad", "key", "limited", "overloaded")
        errors = [answers[name, stream, 0]["error"] for name in names]
        assert tuple(error[0] for error in errors) == ERRORS[client]
        assert "max_tokens is too large" in errors[0][2]
        assert "Too many tokens." in errors[2][2]
        has_header = client in ("anthropic", "chat", "responses", "langchain-anthropic")
        assert errors[2][3] == "7" if has_header else "7s" in errors[2][2]


def test_streams_that_break_off(told: Told) -> None:
    client, answers = told
    raised = {name: answers[name, True, 0].get("error") for name in ("broken", "cut", "stall")}
    names = {name: error and error[0] for name, error in raised.items()}
    in_stream, cut = BROKEN[client]
    assert names == {"broken": in_stream, "cut": cut, "stall": cut}
    assert all(answers[name, True, 0]["text"] == "It is" for name in raised)
    assert all("error" in answers[name, False, 0] for name in raised)


def test_malformed_input_reaches_the_client(told: Told) -> None:
    client, answers = told
    streamed = answers["malformed", True, 0]
    if client == "anthropic":
        assert "Unable to parse tool parameter JSON" in streamed["error"][2]
    elif client in ("gemini", "langchain-google-genai"):
        assert streamed["stop"] == "MALFORMED_FUNCTION_CALL"
    else:
        assert streamed["calls"][0][2] == '{"city": Lisbon}'


def test_retries_of_an_sdk_get_past_an_error(told: Told) -> None:
    client, answers = told
    if client in ("anthropic", "chat", "responses", "langchain-anthropic"):
        assert [answers["again", s, 0]["text"] for s in (True, False)] == ["At last."] * 2
    else:  # they do not tell how often they tried
        assert "error" in answers["again", True, 0]


SOURCE = "https://example.org/lisbon"
MORE = {
    "anthropic": [
        [SOURCE, "Lisbon", "21 degrees"],
        ["server_tool_use", "web_search_tool_result"],
        ["server_tool_use", "code_execution_tool_result"],
        ["container_upload"],
    ],
    "chat": [[SOURCE, "Lisbon", 16, 34], [], [], []],
    "responses": [
        [SOURCE, "Lisbon", 16, 34],
        ["web_search_call"],
        ["code_interpreter_call"],
        ["image_generation_call"],
    ],
    "gemini": [
        [SOURCE, "Lisbon", 16, 34],
        [["weather in Lisbon"]],
        ["print(6 * 7)", "42"],
        [["image/png", 70]],
    ],
    "interactions": [
        [SOURCE, "Lisbon"],
        ["google_search_call", "google_search_result"],
        ["code_execution_call", "code_execution_result"],
        [["image", "image/png"]],
    ],
}


def test_citations_server_tools_and_files(told: Told) -> None:
    client, answers = told
    for stream in (True, False):
        cited, *rest = (answers[n, stream, 0]["more"] for n in ("cite", "search", "code", "file"))
        if client in MORE:
            assert [cited[0], *rest] == MORE[client]
        else:
            assert answers["cite", stream, 0]["text"]  # LangChain has them in blocks of its own
