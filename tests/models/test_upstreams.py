"""Upstreams of the settings, function agents, and the variables that agents get."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

import mobox
from mobox.capture.catalog import Agent, Catalog
from mobox.errors import InvalidAgent, NoModelAccess
from mobox.models.access import Grant
from mobox.models.clients import Connection as Reachable
from mobox.models.clients import connection
from mobox.models.config import read_config
from mobox.models.providers import PROVIDERS
from models.scripted_upstream import Connection, anthropic_message, scripted_upstream
from models.served_gateway import CANARY, KEYS, pointing_to, served_gateway, token_of


async def reply(connection: Connection) -> None:
    await connection.document({"found": []})


async def test_named_upstreams_get_their_key_where_they_want_it(tmp_path: Path) -> None:
    async with scripted_upstream(reply) as upstream:
        file = tmp_path / "models.yaml"
        file.write_text(
            "models:\n"
            f"  my-search: {{url: '{upstream.url}/api', key: SEARCH, send_key: x-search-key,"
            " format: http, paths: [POST /search]}\n"
            f"  local: {{url: '{upstream.url}/v1'}}\n"
            f"  other: {{url: '{upstream.url}/v1', key: MISSING}}\n"
        )
        config = read_config(file, {"SEARCH": "canary"})
        async with (
            served_gateway(tmp_path, {}, config) as served,
            httpx.AsyncClient(trust_env=False) as client,
        ):
            env = served.grant("my-search", "local", "other").env
            assert env["MY_SEARCH_BASE_URL"] == f"{served.address}/my-search"

            async def status(name: str, path: str) -> int:
                url, token = env[f"{name}_BASE_URL"], env[f"{name}_API_KEY"]
                headers = {"authorization": f"Bearer {token}", "x-search-key": "of the agent"}
                return (await client.post(url + path, json={}, headers=headers)).status_code

            assert await status("MY_SEARCH", "/search") == 200
            assert await status("MY_SEARCH", "/admin") == 404
            assert await status("LOCAL", "/chat/completions") == 200
            assert await status("OTHER", "/chat/completions") == 503
        first, second = upstream.requests
        assert (first.target, first.header("x-search-key")) == ("/api/search", "canary")
        assert [name for name, _ in first.headers].count("x-search-key") == 1
        assert (second.target, second.header("authorization")) == ("/v1/chat/completions", None)


async def test_the_variables_of_an_agent(tmp_path: Path) -> None:
    async with served_gateway(tmp_path, KEYS) as served:
        grant = served.grant()
        token, at = token_of(grant), served.address
        assert grant.env == {
            "NO_PROXY": "127.0.0.1",
            "no_proxy": "127.0.0.1",
            "ANTHROPIC_BASE_URL": f"{at}/anthropic",
            "ANTHROPIC_API_BASE": f"{at}/anthropic",
            "ANTHROPIC_API_KEY": token,
            "OPENAI_BASE_URL": f"{at}/openai/v1",
            "OPENAI_API_BASE": f"{at}/openai/v1",
            "OPENAI_API_KEY": token,
            "GOOGLE_GEMINI_BASE_URL": f"{at}/gemini",
            "GEMINI_API_BASE": f"{at}/gemini/v1beta",
            "GEMINI_API_KEY": token,
            "GOOGLE_API_KEY": token,
        }
        own = Agent(
            id="a",
            name="A",
            models=("anthropic", "openai"),
            env={"OPENAI_API_KEY": "own", "NO_PROXY": "a.example"},
        )
        part = served.access.grant(own)
        assert isinstance(part, Grant)
        assert part.env["NO_PROXY"] == "a.example,127.0.0.1"
        assert "OPENAI_API_KEY" not in part.env
        assert "OPENAI_BASE_URL" not in part.env
        grant.close()
        part.close()
        assert len(served.gateway.tokens) == 0


@pytest.mark.parametrize(
    ("environment", "env", "models", "source"),
    [
        ({}, {}, (), None),
        ({}, {}, ("anthropic",), "simulated"),
        (KEYS, {}, ("anthropic",), "provider"),
        ({"OPENAI_API_KEY": "k"}, {}, ("openai", "gemini"), "simulated"),
        ({}, {"ANTHROPIC_API_KEY": "own"}, ("anthropic",), "provider"),
    ],
)
async def test_where_an_agents_models_are(
    tmp_path: Path,
    environment: dict[str, str],
    env: dict[str, str | None],
    models: tuple[str, ...],
    source: str | None,
) -> None:
    async with served_gateway(tmp_path, environment) as served:
        assert served.access.source(Agent(id="a", name="A", models=models, env=env)) == source


async def test_a_function_uses_a_model_in_its_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def respond(connection: Connection) -> None:
        await connection.document(anthropic_message("Hello"))

    async def ask(given: Reachable) -> str:
        url = f"{given.base_url}/v1/messages"
        async with httpx.AsyncClient(trust_env=False) as client:
            response = await client.post(url, json={}, headers={"x-api-key": given.api_key})
        return str(response.json()["content"][0]["text"])

    tokens = []

    @mobox.agent("writer", models=["anthropic"])
    async def writer() -> str:
        given = connection("anthropic")
        tokens.append(given)
        with pytest.raises(NoModelAccess):
            connection("openai")
        return await ask(given)

    @mobox.agent("threaded", models=["anthropic"])
    def threaded() -> str:
        given = connection("anthropic")
        url, headers = f"{given.base_url}/v1/messages", {"x-api-key": given.api_key}
        response = httpx.post(url, json={}, headers=headers, trust_env=False)
        return str(response.json()["content"][0]["text"])

    async with scripted_upstream(respond) as upstream:
        for name, value in pointing_to(upstream.url).items():
            monkeypatch.setenv(name, value)
        async with mobox.Mobox(agents=[writer, threaded], data=tmp_path / "data") as box:
            for name in ("writer", "threaded"):
                run = await box.begin("ann", "Hello", agent=name)
                events = [entry.event async for entry in box.log("ann", run.id)]
                text = [getattr(event, "delta", None) for event in events]
                assert "Hello" in text, events
            url = f"{tokens[0].base_url}/v1/messages"
            async with httpx.AsyncClient(trust_env=False) as client:
                late = await client.post(url, headers={"x-api-key": tokens[0].api_key})
            assert late.status_code == 401, "the token ends with its run"
    with pytest.raises(NoModelAccess):
        connection("anthropic")


def test_a_function_names_models_that_exist() -> None:
    @mobox.agent("writer", models=["unheard-of"])
    def writer() -> None: ...

    with pytest.raises(InvalidAgent, match="models: unknown model 'unheard-of'"):
        Catalog([writer], PROVIDERS)
    with pytest.raises(InvalidAgent, match="limits"):
        mobox.agent("writer", limits={"tokens": 0})(lambda: None)


@pytest.mark.parametrize("has_key", [True, False])
async def test_service_is_given_to_agents_only_with_its_key(tmp_path: Path, has_key: bool) -> None:
    async with scripted_upstream(reply) as upstream:
        environment = {"TAVILY_BASE_URL": upstream.url, "TAVILY_API_KEY": CANARY * has_key}
        async with served_gateway(tmp_path, KEYS | environment) as served:
            grant = served.grant("anthropic", "tavily")
            assert grant.env["ANTHROPIC_BASE_URL"]
            assert grant.env.get("TAVILY_BASE_URL") == (
                f"{served.address}/tavily" if has_key else None
            )
            async with served.client(token_of(grant)) as client:
                found = await client.post("/tavily/search", json={"query": "tea"})
            assert found.status_code == (200 if has_key else 403)
            assert [each.header("authorization") for each in upstream.requests] == (
                [f"Bearer {CANARY}"] if has_key else []
            )
