"""The gateway where `mobox` is deployed: in a worker, and behind a proxy to the providers."""

from __future__ import annotations

import asyncio
import json
import ssl
import subprocess
import sys
import textwrap
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from models.scripted_upstream import Connection, Reply, anthropic_message, scripted_upstream
from models.served_gateway import CANARY
from server.live_server import LIMIT, Reader, http_client, live_server
from server.live_worker import live_worker

AGENT = """
    import os, urllib.request
    from shared.emitter import emit_done, emit_text, read_turn

    for asked in read_turn().prompt.split(","):
        name, path = asked.split()
        url, key = os.environ[name + "_BASE_URL"], os.environ[name + "_API_KEY"]
        headers = {"x-api-key": key, "content-type": "application/json"}
        request = urllib.request.Request(url + path, b"{}", headers)
        emit_text(urllib.request.urlopen(request).read().decode())
    emit_done()
"""
MESSAGES = "ANTHROPIC /v1/messages"


def agents_in(folder: Path, more: str = "") -> Path:
    agent = folder / "agents" / "asker"
    agent.mkdir(parents=True)
    entry = json.dumps([sys.executable, str(agent / "run_agent.py")])
    (agent / "agent.yaml").write_text(f"models: [anthropic]\nentry: {entry}\n{more}")
    (agent / "run_agent.py").write_text(textwrap.dedent(AGENT))
    return agent.parent


def says(text: str) -> Reply:
    async def reply(connection: Connection) -> None:
        await connection.document(anthropic_message(text))

    return reply


@pytest.mark.time_limit(3 * LIMIT)
async def test_agents_of_a_worker_use_its_keys(tmp_path: Path) -> None:
    data, agents = tmp_path / "data", agents_in(tmp_path)
    reader = Reader("c")
    async with scripted_upstream(says("of the worker")) as upstream:
        env = {"ANTHROPIC_API_KEY": CANARY, "ANTHROPIC_BASE_URL": upstream.url}
        shared = ("--agents", agents)
        with (
            live_server(data, *shared, "--execute", "workers") as server,
            live_worker(
                data, *shared, "--record-models", "--health-port", "0", patience=3 * LIMIT, **env
            ) as worker,
        ):
            async with http_client(server) as client:
                await reader.say(client, MESSAGES)
                assert "of the worker" in reader.text, worker.log
                events = (await client.get(f"/api/runs/{reader.run_id}/events")).text
                (agent,) = (await client.get("/api/agents")).json()["agents"]
                metrics = (await client.get(f"{worker.health}/metrics")).text
                cassette = data / "models" / f"{reader.run_id}.jsonl"
                assert CANARY not in cassette.read_text() + events + worker.log
                await client.delete("/api/chats/c")
                assert not cassette.exists(), "the server deletes what the worker has recorded"
    assert [seen.header("x-api-key") for seen in upstream.requests] == [CANARY]
    assert '"simulated"' not in events
    assert agent["model"] is None, "the server has no key, and does not know the worker's"
    assert 'mobox_model_calls_total{provider="anthropic",source="provider",outcome="200"} 1' in (
        metrics
    )


def certificate(folder: Path, name: str) -> Path:
    made, key = folder / "certificate.pem", folder / "key.pem"
    command: list[str | Path] = ["openssl", "req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt",
               "ec_paramgen_curve:prime256v1", "-subj", f"/CN={name}",
               "-addext", f"subjectAltName=DNS:{name}", "-keyout", key, "-out", made]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True, timeout=LIMIT)
    return made


async def tunnel(connection: Connection, url: str) -> None:
    """What a proxy does for CONNECT: pass all bytes on, both ways."""
    await connection.send(b"HTTP/1.1 200 OK\r\n\r\n")
    reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(url).port)

    async def copy(source: asyncio.StreamReader, to: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await source.read(1 << 16):
                to.write(data)
                await to.drain()
            to.write_eof()

    try:
        await asyncio.gather(copy(connection.reader, writer), copy(reader, connection.writer))
    finally:
        writer.close()


@pytest.mark.time_limit(3 * LIMIT)
@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_providers_are_reached_through_the_servers_proxy(tmp_path: Path, scheme: str) -> None:
    agents = agents_in(tmp_path, "env: [HTTP_PROXY, HTTPS_PROXY]\n")
    agent = agents / "asker" / "agent.yaml"
    agent.write_text(agent.read_text().replace("[anthropic]", "[anthropic, local]"))
    reader, tls = Reader("c"), None
    if scheme == "https":
        made = certificate(tmp_path, "provider.example")
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(made, tmp_path / "key.pem")

    async def proxied(connection: Connection) -> None:
        if connection.request.method == "CONNECT":
            await tunnel(connection, provider.url)
        else:
            await says("through the proxy")(connection)

    async with (
        scripted_upstream(says("through the proxy"), tls) as provider,
        scripted_upstream(says("without it")) as local,
        scripted_upstream(proxied) as proxy,
    ):
        models = tmp_path / "models.yaml"
        models.write_text(f"models: {{local: {{url: '{local.url}'}}}}\n")
        env = {
            "ANTHROPIC_API_KEY": CANARY,
            "ANTHROPIC_BASE_URL": f"{scheme}://provider.example",
            "HTTP_PROXY": proxy.url,
            "HTTPS_PROXY": proxy.url,
            "NO_PROXY": "127.0.0.1",
            "SSL_CERT_FILE": str(tmp_path / "certificate.pem") if tls else "",
        }
        flags = ("--agents", agents, "--models", models)
        with live_server(tmp_path / "data", *flags, patience=3 * LIMIT, **env) as server:
            async with http_client(server) as client:
                await reader.say(client, f"{MESSAGES},LOCAL /chat/completions")
                assert "through the proxy" in reader.text, server.warnings
                assert "without it" in reader.text
    (asked,) = proxy.requests
    if tls is None:
        assert asked.target == "http://provider.example/v1/messages"
        assert asked.header("x-api-key") == CANARY
    else:
        assert (asked.method, asked.target) == ("CONNECT", "provider.example:443")
        assert CANARY not in str(asked)
        assert provider.requests[0].header("x-api-key") == CANARY
    assert [seen.target for seen in local.requests] == ["/chat/completions"]


@pytest.mark.time_limit(3 * LIMIT)
async def test_a_proxy_that_refuses_is_an_unreachable_provider(tmp_path: Path) -> None:
    async def refuse(connection: Connection) -> None:
        await connection.document({}, 403)

    agents, reader = agents_in(tmp_path), Reader("c")
    async with scripted_upstream(refuse) as proxy:
        env = {"ANTHROPIC_API_KEY": CANARY, "HTTPS_PROXY": proxy.url}
        with live_server(
            tmp_path / "data", "--agents", agents, patience=3 * LIMIT, **env
        ) as server:
            async with http_client(server) as client:
                await reader.say(client, MESSAGES)
                log = server.warnings
    assert "failed with 502: the provider 'anthropic' cannot be reached (ProxyError)" in log
    assert [seen.target for seen in proxy.requests] == ["api.anthropic.com:443"]
