"""The real SDKs and frameworks ask the simulator: their own objects and exceptions.

They are asked directly and in both ways through the gateway, and see no difference.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from mobox.models.gateway import CallReport
from models.simulator.scenarios import SCENARIOS
from models.ways import DIRECT, Ways, ways_to
from server.live_server import clean_environment

HERE = Path(__file__).parent
PROCESSES = (
    ("run_sdks.py", "anthropic", "chat", "responses", "gemini", "interactions"),
    ("run_frameworks.py", "adk", "openai-agents", "openai-agents-chat", "smolagents"),
    ("run_sdks.py", "langchain-anthropic", "langchain-openai", "langchain-google-genai"),
    ("run_sdks.py", "litellm", "litellm-anthropic", "litellm-gemini"),
    ("run_frameworks.py", "claude"),
)
"""Importing a framework takes longer than all its scenarios: clients share a process."""
Answers = dict[tuple[str, bool, int], dict[str, Any]]
Runs = dict[str, Future[list[Any]]]

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
}


class Expected(NamedTuple):
    """What a client makes of the scenarios that differ between clients."""

    stops: tuple[str | None, ...]
    """For `text`, `tool`, `max` and `refuse`; `None` if it does not tell."""
    errors: tuple[str, ...]
    """For `bad`, `key`, `limited` and `overloaded`."""
    broken: tuple[str | None, str]
    """For an error in the stream, and for a connection that breaks off."""
    tells_header: bool = False
    """Whether its exception has the header `retry-after`."""
    retries: bool = False
    """Whether it tells the provider how often it tried."""


OPENAI_ERRORS = ("BadRequestError", "AuthenticationError", "RateLimitError", "InternalServerError")
NO_STOPS = (None,) * 4
CLIENTS = {
    "anthropic": Expected(
        ("end_turn", "tool_use", "max_tokens", "refusal"),
        ("BadRequestError", "AuthenticationError", "RateLimitError", "OverloadedError"),
        ("APIStatusError", "RemoteProtocolError"),
        tells_header=True,
        retries=True,
    ),
    "chat": Expected(
        ("stop", "tool_calls", "length", "stop"),
        OPENAI_ERRORS,
        ("APIError", "APIConnectionError"),
        tells_header=True,
        retries=True,
    ),
    "responses": Expected(
        ("completed", "completed", "incomplete", "completed"),
        OPENAI_ERRORS,
        ("APIError", "APIConnectionError"),
        tells_header=True,
        retries=True,
    ),
    "gemini": Expected(
        ("STOP", "STOP", "MAX_TOKENS", "SAFETY"),
        ("ClientError", "ClientError", "ClientError", "ServerError"),
        ("ServerError", "RemoteProtocolError"),
    ),
    "interactions": Expected(
        ("completed", "requires_action", "incomplete", "failed"),
        OPENAI_ERRORS,
        (None, "APIConnectionError"),
    ),
    "langchain-anthropic": Expected(
        ("end_turn", "tool_use", "max_tokens", "refusal"),
        (
            "AnthropicInvalidRequestError", "AnthropicAuthenticationError",
            "AnthropicRateLimitError", "AnthropicOverloadedError",
        ),
        ("APIStatusError", "RemoteProtocolError"),
        tells_header=True,
        retries=True,
    ),
    "langchain-openai": Expected(
        ("stop", "tool_calls", "length", "stop"),
        (
            "OpenAIInvalidRequestError", "OpenAIAuthenticationError", "OpenAIRateLimitError",
            "OpenAIAPIError",
        ),
        ("APIError", "OpenAIConnectionError"),
        tells_header=True,
        retries=True,
    ),
    "langchain-google-genai": Expected(
        ("STOP", "STOP", "MAX_TOKENS", "SAFETY"),
        (
            "GoogleInvalidRequestError", "GoogleAuthenticationError", "GoogleRateLimitError",
            "GoogleAPIError",
        ),
        ("GoogleAPIError", "RemoteProtocolError"),
    ),
    "litellm": Expected(
        ("stop", "tool_calls", "length", "stop"),
        ("BadRequestError", "AuthenticationError", "RateLimitError", "ServiceUnavailableError"),
        ("MidStreamFallbackError", "MidStreamFallbackError"),
        retries=True,
    ),
    "litellm-anthropic": Expected(
        ("stop", "tool_calls", "length", "content_filter"),
        OPENAI_ERRORS,
        ("MidStreamFallbackError", "MidStreamFallbackError"),
    ),
    "litellm-gemini": Expected(
        ("stop", "tool_calls", "length", "content_filter"),
        OPENAI_ERRORS,
        (None, "MidStreamFallbackError"),
    ),
    "adk": Expected(
        ("STOP", "STOP", "MAX_TOKENS", "SAFETY"),
        ("ClientError", "ClientError", "_ResourceExhaustedError", "ServerError"),
        ("ServerError", "ClientPayloadError"),
    ),
    "openai-agents": Expected(
        NO_STOPS, OPENAI_ERRORS, ("APIError", "APIConnectionError"),
        tells_header=True,
        retries=True,
    ),
    "openai-agents-chat": Expected(
        NO_STOPS, OPENAI_ERRORS, ("APIError", "APIConnectionError"),
        tells_header=True,
        retries=True,
    ),
    "smolagents": Expected(
        NO_STOPS, OPENAI_ERRORS, ("APIError", "APIConnectionError"),
        tells_header=True,
        retries=True,
    ),
    "claude": Expected(
        ("end_turn", "tool_use", "max_tokens", "refusal"),
        ("unknown", "authentication_failed", "rate_limit", "server_error"),
        ("server_error", "server_error"),
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def ways(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ways]:
    folder = tmp_path_factory.mktemp("ways")
    script = folder / "script.yaml"
    script.write_text(SCENARIOS)
    with ways_to(script, folder) as ways:
        yield ways


def run(python: Path, program: str, clients: tuple[str, ...], ways: Ways) -> list[Any]:
    """What these clients made of every scenario, in every way."""
    done = subprocess.run(
        [str(python), str(HERE / program), *clients],
        input=json.dumps(ways.environments).encode(),
        capture_output=True,
        env=clean_environment(LITELLM_LOCAL_MODEL_COST_MAP="True"),
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def runs(frameworks: Path, ways: Ways) -> Iterator[Runs]:
    """The processes by client, two at a time."""
    with ThreadPoolExecutor(2) as pool:
        started = [
            (clients, pool.submit(run, frameworks, program, clients, ways))
            for program, *names in PROCESSES
            for clients in [tuple(names)]
        ]
        yield {client: future for clients, future in started for client in clients}


Told = tuple[str, Answers]
EveryWay = tuple[str, dict[str, Answers]]


@pytest.fixture(scope="module", params=CLIENTS)
def every_way(request: pytest.FixtureRequest, runs: Runs) -> EveryWay:
    """The name of a client, and its answers by way."""
    found: dict[str, Answers] = {}
    for client, way, name, stream, turn, answer in runs[request.param].result():
        if client == request.param:
            found.setdefault(way, {})[name, stream, turn] = answer
    return request.param, found


@pytest.fixture(scope="module")
def told(every_way: EveryWay) -> Told:
    client, found = every_way
    return client, found[DIRECT]


def each(answers: Answers, name: str, turn: int = 0) -> list[dict[str, Any]]:
    """The answers to a scenario: streamed and whole, if the client can be asked for both."""
    found = [answers[name, s, turn] for s in (True, False) if (name, s, turn) in answers]
    assert found
    return found


def test_the_gateway_changes_nothing(every_way: EveryWay, ways: Ways) -> None:
    client, found = every_way
    assert found.keys() == ways.environments.keys()
    direct, *others = (
        {key: compared(client, key[0], answer) for key, answer in answers.items()}
        for answers in found.values()
    )
    assert [other == direct for other in others] == [True, True], others


OWN = re.compile(r"127\.0\.0\.1:\d+|call_[0-9a-f]{28}(?=__thought)")
"""What differs between two runs: a port, and an id that LiteLLM makes for a call of Gemini."""


def compared(client: str, name: str, answer: dict[str, Any]) -> dict[str, Any]:
    same = dict(answer)
    if client == "claude" and name in ("cut", "stall"):
        del same["text"], same["usage"]  # it drops what it has not read when a connection breaks
    tidy: dict[str, Any] = json.loads(OWN.sub("_", json.dumps(same)))
    return tidy


def test_texts_are_the_same_streamed_and_whole(told: Told) -> None:
    _, answers = told
    for (name, turn), text in TEXTS.items():
        assert {answer["text"] for answer in each(answers, name, turn)} == {text}, name


def test_thinking(told: Told) -> None:
    client, answers = told
    thought = (
        "" if client in ("langchain-openai", "smolagents") else "The person wants the weather."
    )
    assert {answer["thinking"] for answer in each(answers, "think")} == {thought}


def test_calls_and_their_results(told: Told) -> None:
    client, answers = told
    for answer in each(answers, "tool"):
        (first_id, *first), (second_id, *second) = answer["calls"]
        assert first == ["get_weather", {"city": "Lisbon", "days": 2}]
        assert second == ["get_weather", {"city": "Porto", "days": 1}]
        assert first_id.startswith(("toolu_", "call_"))
        assert client == "litellm-gemini" or second_id == "call_porto"


def test_reasons_to_stop(told: Told) -> None:
    client, answers = told
    scenarios = [each(answers, name) for name in ("text", "tool", "max", "refuse")]
    for found in zip(*scenarios, strict=True):
        assert tuple(answer["stop"] for answer in found) == CLIENTS[client].stops


def test_a_limit_of_tokens(told: Told) -> None:
    client, answers = told
    for answer in each(answers, "max"):
        if client == "openai-agents":
            assert answer["error"][0] == "ModelBehaviorError"
            assert "max_output_tokens" in answer["error"][2]
        else:
            assert answer["text"] == "It is 21 deg"


def test_a_refusal(told: Told) -> None:
    client, answers = told
    for answer in each(answers, "refuse"):
        if client.startswith("openai-agents"):
            assert answer["error"][0] == "ModelRefusalError"
            assert "I will not say." in answer["error"][2]
        else:
            assert answer["text"] == ("I will not say." if client == "interactions" else "")
            assert "error" not in answer


def test_usage(told: Told) -> None:
    client, answers = told
    expected = {"openai-agents-chat": [[0, 0, 0], [1000, 50, 400]]}  # it does not ask for it
    if client == "smolagents":
        expected[client] = [[1000, 50, 0]] * 2  # it does not tell what was cached
    found = [answer["usage"] for answer in each(answers, "usage")]
    assert found == expected.get(client, [[1000, 50, 400]] * len(found))


def test_errors_are_the_sdks_own(told: Told) -> None:
    client, answers = told
    scenarios = [each(answers, name) for name in ("bad", "key", "limited", "overloaded")]
    for is_whole, found in enumerate(zip(*scenarios, strict=True)):
        names, _, words, headers = zip(*(answer["error"] for answer in found), strict=True)
        expected = CLIENTS[client].errors
        if client == "litellm-gemini" and not is_whole:
            expected = (*expected[:2], "MidStreamFallbackError", "MidStreamFallbackError")
        assert names == expected
        assert "max_tokens is too large" in words[0]
        assert "Too many tokens." in words[2]
        assert headers[2] == ("7" if CLIENTS[client].tells_header else None)
        if client in ("gemini", "interactions", "adk", "langchain-google-genai", "litellm-gemini"):
            assert "7s" in words[2]


def test_streams_that_break_off(told: Told) -> None:
    client, answers = told
    streams = [answers[name, True, 0] for name in ("broken", "cut", "stall")]
    in_stream, cut = CLIENTS[client].broken
    assert [each.get("error", [None])[0] for each in streams] == [in_stream, cut, cut]
    if client == "claude":  # it drops what it has not read when a connection breaks
        del streams[1:]
    assert {each["text"] for each in streams} == {"It is"}


def test_documents_that_break_off(told: Told) -> None:
    _, answers = told
    found = [answers[key] for key in answers if key[0] in ("broken", "cut", "stall") and not key[1]]
    assert all("error" in answer and not answer["text"] for answer in found)


def test_malformed_input_reaches_the_client(told: Told) -> None:
    client, answers = told
    streamed = answers["malformed", True, 0]
    if client == "anthropic":
        assert "Unable to parse tool parameter JSON" in streamed["error"][2]
    elif client in ("gemini", "langchain-google-genai", "adk"):
        assert streamed["stop"] == "MALFORMED_FUNCTION_CALL"
    elif client == "litellm-gemini":
        assert (streamed["calls"], streamed["text"]) == ([], "")
    elif client.startswith("openai-agents"):  # the agent tells the model, and asks again
        assert "this is turn 2" in streamed["error"][2]
    else:
        assert '{"city": Lisbon}' in str(streamed["calls"][0][2])


def test_retries_of_an_sdk_get_past_an_error(told: Told) -> None:
    client, answers = told
    for answer in each(answers, "again"):
        if CLIENTS[client].retries:
            assert answer["text"] == "At last."
        else:
            assert "error" in answer


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


MORE["adk"] = MORE["gemini"]
MORE["openai-agents"], MORE["openai-agents-chat"] = MORE["responses"], MORE["chat"]


@pytest.mark.parametrize("every_way", MORE, indirect=True)
def test_citations_server_tools_and_files(told: Told) -> None:
    client, answers = told
    scenarios = [each(answers, name) for name in ("cite", "search", "code", "file")]
    for found in zip(*scenarios, strict=True):
        cited, *rest = (answer["more"] for answer in found)
        assert [cited[0], *rest] == MORE[client]


def test_every_call_is_counted(runs: Runs, ways: Ways) -> None:
    for future in runs.values():
        future.result()
    passed, answered = (
        Counter((each.provider, outcome(each), each.usage) for each in reports)
        for reports in ways.reports
    )
    assert passed == answered
    found = {outcome for _, outcome, _ in passed}
    assert found == {"200", "400", "401", "429", "503", "529", "cut"}


def outcome(report: CallReport) -> str:
    """A client may leave when it has read the last event, before the end of the response."""
    return "200" if report.outcome == "left" else report.outcome
