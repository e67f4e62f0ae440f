"""What fits the OpenAPI document, and what nearly does, is answered as it says, never by 5xx."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
)

from mobox import __version__
from mobox.server.openapi import document
from mobox.server.routes import ROUTES
from mobox.storage import SqliteStorage
from server.live_server import LIMIT, live_server
from server.server_with_keys import ask_something, bearer, give_key, say_something

EXAMPLES = 10
AGENT = 'print(\'{"type": "text", "data": {"content": "Hi"}}\\n{"type": "done", "data": {}}\')\n'
CHECKS = [not_a_server_error, content_type_conformance]
JSON_CHECKS = [*CHECKS, response_schema_conformance]

DOCUMENT = schemathesis.openapi.from_dict(document(ROUTES, __version__))
OPERATIONS = {
    found.ok().label: found.ok() for found in DOCUMENT.get_all_operations() if isinstance(found, Ok)
}
ASKED = [
    (label, mode)
    for label, operation in OPERATIONS.items()
    for mode in GenerationMode
    if mode is GenerationMode.POSITIVE or operation.definition.raw["security"]
]
"""What has neither a parameter nor a key cannot be asked for wrongly."""


class Target(NamedTuple):
    """A server, and what is on it."""

    url: str
    secret: str
    known: dict[str, list[str]]
    """Ids that are there, by the name of the parameter."""


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    folder = tmp_path_factory.mktemp("schemathesis")
    agent = folder / "agents" / "brief"
    agent.mkdir(parents=True)
    (agent / "agent.yaml").write_text("name: Brief\nframework: emitted\n")
    (agent / "run_agent.py").write_text(AGENT)
    flags = ("--auth", "keys", "--max-runs-per-minute", "1000000", "--max-streams", "1000")
    with live_server(
        folder / "data", "--agents", agent.parent, *flags, patience=20 * LIMIT
    ) as server:
        yield asyncio.run(_furnished(server.url, folder / "data"))


async def _furnished(url: str, data: Path) -> Target:
    storage = await SqliteStorage.open(data / "mobox.db")
    try:
        _, secret = await give_key(storage, "ann")
        runs = [await say_something(storage, "ann", "c1", "Hi")]
        runs += [await ask_something(storage, "ann", "c2", "How many?")]
        chats = ["c1", "c2"]
        file = await storage.files.add("ann", _pieces(b"Hello"), "text/plain")
        known = {"chat_id": chats, "thread_id": chats, "run_id": runs[:1], "agent": ["brief"]}
        known["file_id"] = [file.id]
        return Target(url, secret, known)
    finally:
        await storage.close()


async def _pieces(data: bytes) -> AsyncIterator[bytes]:
    yield data


def test_all_routes_are_requested() -> None:
    assert len(OPERATIONS) == len(ROUTES)


@pytest.mark.parametrize(("label", "mode"), ASKED)
def test_no_request_breaks_the_server(label: str, mode: GenerationMode, target: Target) -> None:
    operation = OPERATIONS[label]

    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode), draw=st.data())
    def ask(case: schemathesis.Case[Any], draw: st.DataObject) -> None:
        for name, ids in target.known.items():
            if name in case.path_parameters and draw.draw(st.booleans()):
                case.path_parameters[name] = draw.draw(st.sampled_from(ids))
        headers: Any = bearer(target.secret)
        response = case.call(target.url, session=session, headers=headers, timeout=LIMIT)
        # A stream is a string to the document, and a list of events to the checker.
        is_json = response.headers.get("content-type") == ["application/json"]
        case.validate_response(response, checks=JSON_CHECKS if is_json else CHECKS)

    with requests.Session() as session:
        session.trust_env = False
        ask()
