"""Checks of the providers of models: their keys and, if wanted, whether these are accepted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mobox.cli.doctor.context import Context
from mobox.cli.doctor.findings import Finding
from mobox.cli.doctor.machine import shown_path
from mobox.errors import InvalidScript, InvalidSetting
from mobox.registry import needs_extra
from mobox.settings import without_password

if TYPE_CHECKING:
    from mobox.models.checking import Reply
    from mobox.models.config import ModelsConfig
    from mobox.models.providers import Provider


SUBJECT: Final = "model"


async def check_models(context: Context) -> AsyncIterator[Finding]:
    """The files with settings of models, and each provider."""
    with needs_extra("server", "models"):
        from mobox.models.config import FILE
        from mobox.models.providers import PROVIDERS
    try:
        config = context.models
    except (InvalidScript, InvalidSetting) as error:
        yield Finding("fail", SUBJECT, str(error), "correct the file")
        return
    file = context.settings.models or (context.settings.beside or Path()) / FILE
    if file.is_file():
        own = [name for name in config.providers if name not in PROVIDERS]
        yield Finding("ok", SUBJECT, f"{shown_path(file)}: upstreams {', '.join(own) or 'none'}")
    providers = list(config.providers.values())
    checks = (_check(context, provider) for provider in providers)
    for finding in await asyncio.gather(*checks):
        yield finding


async def _check(context: Context, provider: Provider) -> Finding:
    from mobox.models.checking import check_provider

    config, variables = context.models, " or ".join(provider.keys)
    key = _source_of_key(context, provider)
    text = f"{provider.name}: {key or 'no key'}{_shown_address(config, provider)}"
    if key is None and config.is_simulated(provider):
        use = f"set {variables} to use the provider"
        return Finding("ok", SUBJECT, f"{provider.name}: no key: simulated model ({use})")
    if config.is_missing(provider):
        use = f"set {variables} to use it"
        return Finding("ok", SUBJECT, f"{provider.name}: no key: agents do without it ({use})")
    if key is None and provider.keys:
        advice = f"set {variables} in the environment or in .env"
        return Finding("warn", SUBJECT, f"{text}: calls will fail", advice)
    if not context.is_online:
        return Finding("ok", SUBJECT, text)
    return _online(text, await check_provider(config, provider), variables)


def _online(text: str, reply: Reply, variables: str) -> Finding:
    match reply.outcome:
        case "ok":
            count = "" if reply.models is None else f", {reply.models} models"
            return Finding("ok", SUBJECT, f"{text}: reachable ({reply.status}{count})")
        case "not_accepted":
            why = f"{text}: the key is not accepted ({reply.status})"
            return Finding("fail", SUBJECT, why, f"set another key in {variables}")
        case "unexpected":
            why = f"{text}: responded with {reply.status}"
            return Finding("warn", SUBJECT, why, "check the address, or try again later")
        case _:
            advice = "check the network, the proxy variables and the address"
            return Finding("fail", SUBJECT, f"{text}: {reply.problem}", advice)


def _source_of_key(context: Context, provider: Provider) -> str | None:
    """The variable of the key, and where it is set; never the key."""
    from mobox.models.config import DOTENV
    from mobox.models.dotenv import read_dotenv

    beside = context.settings.beside
    file = {} if beside is None else read_dotenv(beside / DOTENV)
    for name in provider.keys:
        if context.environment.get(name, "").strip():
            return f"{name} from the environment"
        if name not in context.environment and file.get(name, "").strip():
            return f"{name} from {DOTENV}"
    return None


def _shown_address(config: ModelsConfig, provider: Provider) -> str:
    """The address, unless it is the usual one of a known provider."""
    from mobox.models.providers import PROVIDERS

    known, address = PROVIDERS.get(provider.name), config.url_of(provider)
    is_usual = known is not None and address == known.url
    return "" if is_usual else f" at {without_password(address)}"
