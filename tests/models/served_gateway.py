"""A gateway on a port of this machine, with grants for agents that a test makes up."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from mobox.capture.catalog import Agent, Limits
from mobox.capture.model_access import Caller
from mobox.models.access import GatewayAccess, Grant
from mobox.models.config import ModelsConfig
from mobox.models.gateway import CallReport, Gateway
from mobox.models.ledger import Ledger
from mobox.models.listener import Listener
from mobox.models.providers import PROVIDERS

CANARY = "sk-canary-of-a-provider-7f3a"
KEYS = {
    "ANTHROPIC_API_KEY": f"{CANARY}-a",
    "OPENAI_API_KEY": f"{CANARY}-o",
    "GEMINI_API_KEY": f"{CANARY}-g",
}
CALLER = Caller(run_id="r_1", attempt=1, owner="ann", agent="tester")


def pointing_to(url: str) -> dict[str, str]:
    """The server's environment with which all providers are at this address."""
    return {
        **KEYS,
        "ANTHROPIC_BASE_URL": url,
        "OPENAI_BASE_URL": f"{url}/v1",
        "GOOGLE_GEMINI_BASE_URL": url,
    }


class ServedGateway:
    """The gateway, and what it reported."""

    def __init__(self, gateway: Gateway, address: str, reports: list[CallReport]) -> None:
        self.gateway, self.address, self.reports = gateway, address, reports
        self.access = GatewayAccess(gateway, address)

    def grant(
        self,
        *models: str,
        bound: bool = True,
        caller: Caller = CALLER,
        cassette: Path | None = None,
        **limits: Any,
    ) -> Grant:
        """Access for an agent that names these models, by default all."""
        agent = Agent(
            id=caller.agent,
            name="Tester",
            models=models or tuple(PROVIDERS),
            limits=Limits(**limits),
            cassette=cassette,
        )
        grant = self.access.grant(agent)
        assert isinstance(grant, Grant)
        if bound:
            grant.bind(caller)
        return grant

    def client(self, token: str | None = None) -> httpx.AsyncClient:
        """A client that knows nothing but the address."""
        headers = {"x-api-key": token} if token else {}
        return httpx.AsyncClient(
            base_url=self.address, headers=headers, trust_env=False, timeout=60
        )


def token_of(grant: Grant) -> str:
    return next(value for name, value in grant.env.items() if name.endswith("_API_KEY"))


@asynccontextmanager
async def served_gateway(
    tmp_path: Path,
    environment: Mapping[str, str],
    config: ModelsConfig | None = None,
    **options: Any,
) -> AsyncIterator[ServedGateway]:
    reports: list[CallReport] = []
    gateway = Gateway(
        config or ModelsConfig(PROVIDERS, environment),
        Ledger(tmp_path / "usage"),
        on_call=reports.append,
        **options,
    )
    listener = Listener(gateway)
    try:
        yield ServedGateway(gateway, await listener.open(), reports)
    finally:
        await listener.close()
        await gateway.close()
