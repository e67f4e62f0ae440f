"""The settings of models: keys from the environment and `.env`, all else from models.yaml.

Rule 1: a key is named by its variable and read when it is used; no file of ours has it.
Rule 2: `.env` adds to the environment and never replaces a variable of it. What comes from it is
        for the gateway alone: no agent gets it.
Rule 3: a provider with a key is used; one without is simulated, if it can be.
"""

from __future__ import annotations

import os
import re
from collections import ChainMap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Final, Literal
from urllib.parse import urlsplit

from msgspec import Meta, Struct, field
from msgspec.structs import replace

from mobox.capture.catalog import NAME, Page
from mobox.errors import InvalidAgent, InvalidSetting
from mobox.models.dotenv import read_dotenv
from mobox.models.prices import PRICES, Price
from mobox.models.providers import BEARER, OPENAI_RULES, PROVIDERS, Provider, named
from mobox.settings import Settings

FILE: Final = "models.yaml"
DOTENV: Final = ".env"

_UPSTREAM: Final = re.compile(r"[a-z][a-z0-9-]{0,62}")
_HEADER: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_ALLOWED: Final = re.compile(r"(GET|POST|PUT|PATCH|DELETE|HEAD) /[\w.~:@{}*/-]*")


class Budget(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What may be used; `None` is without a limit."""

    tokens: Annotated[int, Meta(gt=0)] | None = None
    cost_usd: Annotated[float, Meta(gt=0)] | None = None
    calls: Annotated[int, Meta(gt=0)] | None = None


class Budgets(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of a day (UTC)."""

    agent: Budget = Budget()
    """Of each agent."""
    owner: Budget = Budget()
    """Of each owner."""


class _Upstream(Struct, kw_only=True, forbid_unknown_fields=True):
    url: str | None = None
    key: str | None = None
    send_key: str | None = None
    format: Literal["openai", "http"] | None = None
    paths: list[str] | None = None


class _File(Struct, kw_only=True, forbid_unknown_fields=True):
    """The fields of models.yaml."""

    models: dict[str, _Upstream] = field(default_factory=dict)
    budgets: Budgets = Budgets()
    prices: dict[str, Price] = field(default_factory=dict)


class ModelsConfig:
    """The providers there are, their keys, budgets and prices."""

    def __init__(
        self,
        providers: Mapping[str, Provider] = PROVIDERS,
        environment: Mapping[str, str] = os.environ,
        budgets: Budgets = Budgets(),  # noqa: B008
        prices: Mapping[str, Price] = PRICES,
    ) -> None:
        self.providers = dict(providers)
        self.budgets = budgets
        self.prices = prices
        self._environment = environment

    def key_of(self, provider: Provider) -> str | None:
        """The key to send, if there is one."""
        values = (self._environment.get(name, "").strip() for name in provider.keys)
        return next((value for value in values if value), None)

    def url_of(self, provider: Provider) -> str:
        """The address to send to, without a slash at its end."""
        own = self._environment.get(provider.url_variable) if provider.url_variable else None
        return (own or provider.url).rstrip("/")

    def is_simulated(self, provider: Provider) -> bool:
        """Whether it has no key, and the simulator responds instead."""
        return provider.can_simulate and bool(provider.keys) and self.key_of(provider) is None


def load_config(settings: Settings, environment: Mapping[str, str] = os.environ) -> ModelsConfig:
    """The configuration of a server; raises `InvalidSetting`, and `InvalidAgent` with a line."""
    beside = settings.beside
    if beside is not None:
        environment = ChainMap(dict(environment), read_dotenv(beside / DOTENV))
    file = settings.models
    if file is None and beside is not None and (beside / FILE).is_file():
        file = beside / FILE
    if file is None:
        return ModelsConfig(PROVIDERS, environment)
    if not file.is_file():
        raise InvalidSetting("models", str(file), "no such file")
    return read_config(file, environment)


def read_config(file: Path, environment: Mapping[str, str]) -> ModelsConfig:
    """The configuration in a file; raises `InvalidSetting` with the line and the field."""
    page = Page(file, _File)
    try:
        config = page.read()
        upstreams = dict(_providers(page, config))
    except InvalidAgent as problem:
        where = f"{problem.file}:{problem.line}"
        raise InvalidSetting("models", where, f"{problem.field}: {problem.problem}") from None
    prices = {**PRICES, **config.prices}
    return ModelsConfig({**PROVIDERS, **upstreams}, environment, config.budgets, prices)


def _providers(page: Page[_File], config: _File) -> Iterator[tuple[str, Provider]]:
    for name, upstream in config.models.items():
        at = f"models.{name}"
        provider = PROVIDERS.get(name)
        if provider is None:
            provider = _named(page, at, name, upstream)
        elif upstream.format is not None or upstream.paths is not None:
            raise page.wrong(at, f"{name} has its own format and paths: set url and key only")
        yield name, _with_key(page, at, provider, upstream)


def _named(page: Page[_File], at: str, name: str, upstream: _Upstream) -> Provider:
    if not _UPSTREAM.fullmatch(name):
        raise page.wrong(at, f"cannot be called {name!r} (expected {_UPSTREAM.pattern})")
    if upstream.url is None:
        raise page.wrong(at, "expected its address, such as `url: http://127.0.0.1:11434/v1`")
    if upstream.format != "http":
        if upstream.paths is not None:
            raise page.wrong(f"{at}.paths", "only with `format: http`")
        return named(name, upstream.url, "openai", OPENAI_RULES)
    if not upstream.paths:
        expected = "expected the requests that agents may send, such as `[POST /search]`"
        raise page.wrong(f"{at}.format", f"{expected}, in `paths`")
    for place, line in enumerate(upstream.paths):
        if not _ALLOWED.fullmatch(line):
            problem = f"expected a method and a path such as POST /search, got {line!r}"
            raise page.wrong(f"{at}.paths[{place}]", problem)
    return named(name, upstream.url, "http", tuple(upstream.paths))


def _with_key(page: Page[_File], at: str, provider: Provider, upstream: _Upstream) -> Provider:
    if upstream.url is not None:
        _check_url(page, f"{at}.url", upstream.url)
        provider = replace(provider, url=upstream.url, url_variable="")
    if upstream.key is not None:
        if not NAME.fullmatch(upstream.key):
            raise page.wrong(f"{at}.key", "expected the name of a variable, not a key")
        provider = replace(provider, keys=(upstream.key,))
    if upstream.send_key is not None:
        if not _HEADER.fullmatch(upstream.send_key):
            raise page.wrong(f"{at}.send_key", f"expected {BEARER} or the name of a header")
        provider = replace(provider, send_key=upstream.send_key.lower())
    return provider


def _check_url(page: Page[_File], at: str, url: str) -> None:
    try:
        parts = urlsplit(url)
        is_url = parts.scheme in ("http", "https") and bool(parts.hostname)
        has_more = "@" in parts.netloc or parts.query or parts.fragment
    except ValueError:
        is_url, has_more = False, ""
    if not is_url:
        raise page.wrong(at, "expected an address that starts with http:// or https://")
    if has_more:
        raise page.wrong(at, "expected an address without a name, a password, ? and #")
