"""The gateway of a process that executes agents: opened, measured and closed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from mobox.capture.model_access import ModelAccess
from mobox.models.access import GatewayAccess
from mobox.models.cassettes import CassetteFolder
from mobox.models.config import ModelsConfig
from mobox.models.gateway import CallReport, Gateway
from mobox.models.ledger import Ledger
from mobox.models.listener import Listener
from mobox.server.metrics import Registry
from mobox.settings import MODELS, Settings


@asynccontextmanager
async def served_models(
    settings: Settings, config: ModelsConfig, on_call: Callable[[CallReport], None]
) -> AsyncIterator[ModelAccess]:
    """Serve the gateway while agents are executed here; else only tell what it would be."""
    folder = settings.data / MODELS
    recording = CassetteFolder(folder) if settings.record_models else None
    gateway = Gateway(config, Ledger(folder), on_call=on_call, recording=recording)
    if not settings.executes:
        yield GatewayAccess(gateway, None)
        return
    listener = Listener(gateway)
    try:
        yield GatewayAccess(gateway, await listener.open(), listener)
    finally:
        await listener.close()
        await gateway.close()


def call_metrics(metrics: Registry) -> Callable[[CallReport], None]:
    """Counts the calls of models."""
    labels = ("provider", "source")
    calls = metrics.counter(
        "mobox_model_calls_total", "Calls of models, by how they ended.", (*labels, "outcome")
    )
    seconds = metrics.counter(
        "mobox_model_seconds_total", "Seconds that calls of models took.", labels
    )
    tokens = metrics.counter(
        "mobox_model_tokens_total", "Tokens of models that were used.", (*labels, "kind")
    )

    def count(report: CallReport) -> None:
        provider, source = report.provider, report.source
        calls.add(provider=provider, source=source, outcome=report.outcome)
        seconds.add(report.seconds, provider=provider, source=source)
        for kind, number in report.usage._asdict().items():
            tokens.add(number, provider=provider, source=source, kind=kind)

    return count
