"""Predictive state in CopilotKit: which of its providers applies it, with Mobox and without."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, TypeAlias

import pytest
from playwright.sync_api import expect

from guides.bundles import PageSource
from guides.page_server import PageServer
from guides.static_runtime import static_runtime
from server.live_server import live_server
from server.scripted_agent import emit, prompt, write_agent
from web.browser_watch import Watched

PAGE: Final = PageSource("docs/clients/copilotkit.md", "predictive-state.tsx")
DELTAS: Final = ('{"text": "', "Once ", "upon ", 'a time"}')
PREDICTION: Final = [{"state_key": "document", "tool": "write", "tool_argument": "text"}]
WRITTEN: Final = {"document": "Once upon a time."}
"""The state that the agent sends itself, after its call."""
PARTIAL: Final = '{"document":"Once upon "}'
LAST: Final = '{"document":"Once upon a time."}'

RUN: Final = {"threadId": "chat", "runId": "run"}
CALL: Final = {"toolCallId": "call"}
EVENTS: Final[list[dict[str, Any]]] = [
    {"type": "RUN_STARTED", **RUN},
    {"type": "CUSTOM", "name": "PredictState", "value": PREDICTION},
    {"type": "TOOL_CALL_START", **CALL, "toolCallName": "write"},
    *({"type": "TOOL_CALL_ARGS", **CALL, "delta": delta} for delta in DELTAS),
    {"type": "TOOL_CALL_END", **CALL},
    {"type": "TOOL_CALL_RESULT", **CALL, "messageId": "result", "content": "done"},
    {"type": "STATE_SNAPSHOT", "snapshot": WRITTEN},
    {"type": "RUN_FINISHED", **RUN},
]
SCRIPT: Final = prompt(
    emit("custom", name="PredictState", value=PREDICTION),
    emit("tool_use_start", id="call", name="write"),
    *(emit("tool_use_delta", id="call", delta=delta) for delta in DELTAS),
    emit("tool_use_end", id="call"),
    emit("tool_result", tool_use_id="call", content="done"),
    emit("state", mode="snapshot", value=WRITTEN),
)
"""The same, as an agent of Mobox emits it."""

States: TypeAlias = Callable[[str, str], list[str]]


@pytest.fixture
def states(watched: Watched, pages: PageServer) -> States:
    """The states that a page with this provider has, from this server."""

    def states(provider: str, server: str) -> list[str]:
        context, watch = watched(pages.origin)
        watch.allow(server)
        settings = {"provider": provider, "server": server, "chat": "chat", "prompt": SCRIPT}
        page = context.new_page()
        page.goto(pages.address("predictive-state", PAGE, **settings))
        page.get_by_role("button", name="Run").click()
        shown = page.get_by_role("listitem")
        expect(shown.last).to_have_text("the end")
        return shown.all_inner_texts()[:-1]

    return states


@pytest.fixture(scope="module")
def upstream() -> Iterator[str]:
    with static_runtime(EVENTS) as url:
        yield url


@pytest.fixture
def mobox(tmp_path: Path, pages: PageServer) -> Iterator[str]:
    agents = write_agent(tmp_path / "agents")
    flags = ("--agents", agents, "--allowed-origins", pages.origin)
    with live_server(tmp_path / "data", *flags) as server:
        yield server.url


@pytest.mark.parametrize("provider", ["CopilotKit", "CopilotKitProvider and the hook"])
def test_state_is_predicted_while_the_arguments_stream(
    states: States, upstream: str, mobox: str, provider: str
) -> None:
    for server in (mobox, upstream):
        assert PARTIAL in (seen := states(provider, server))
        assert seen[-1] == LAST


def test_the_provider_alone_ignores_predictions(states: States, upstream: str) -> None:
    """CopilotKit's own gap: the server here is not Mobox.

    If this fails, CopilotKit has closed it: delete `usePredictedState.ts` from
    docs/clients/copilotkit.md, and the reason from docs/copilotkit.md.
    """
    assert states("CopilotKitProvider", upstream) == [LAST]
