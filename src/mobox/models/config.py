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
from typing import TYPE_CHECKING, Annotated, Final, Literal
from urllib.parse import urlsplit

from msgspec import Meta, Struct, field
from msgspec.structs import replace

from mobox.capture.catalog import NAME, Agent
from mobox.capture.model_access import ModelSource
from mobox.capture.yaml_file import YamlFile
from mobox.errors import InvalidSetting, MoboxError
from mobox.models.dotenv import read_dotenv
from mobox.models.prices import PRICES, Price
from mobox.models.providers import BEARER, OPENAI_RULES, PROVIDERS, Provider, named
from mobox.models.windows import WINDOWS
from mobox.settings import Settings

if TYPE_CHECKING:
    from mobox.models.simulator import Script

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


class _Simulator(Struct, kw_only=True, forbid_unknown_fields=True):
    script: str


class _File(Struct, kw_only=True, forbid_unknown_fields=True):
    """The fields of models.yaml."""

    models: dict[str, _Upstream] = field(default_factory=dict)
    simulator: _Simulator | None = None
    budgets: Budgets = Budgets()
    prices: dict[str, Price] = field(default_factory=dict)
    windows: dict[str, Annotated[int, Meta(gt=0)]] = field(default_factory=dict)


class ModelsConfig:
    """The providers there are, their keys, budgets and prices."""

    def __init__(
        self,
        providers: Mapping[str, Provider] = PROVIDERS,
        environment: Mapping[str, str] = os.environ,
        budgets: Budgets = Budgets(),  # noqa: B008
        prices: Mapping[str, Price] = PRICES,
        script: Script | None = None,
        windows: Mapping[str, int] = WINDOWS,
    ) -> None:
        self.providers = dict(providers)
        self.budgets = budgets
        self.prices = prices
        self.windows = windows
        """How many tokens fit into a model's context, by the beginning of its name."""
        self.script = script
        """What simulated providers answer; without it, the default model does."""
        self._environment = environment

    def key_of(self, provider: Provider) -> str | None:
        """The key to send, if there is one."""
        values = (self._environment.get(name, "").strip() for name in provider.keys)
        return next((value for value in values if value), None)

    def url_of(self, provider: Provider) -> str:
        """The address to send to, without a slash at its end."""
        own = self._environment.get(provider.url_variable) if provider.url_variable else None
        return (own or provider.url).rstrip("/")

    def source(self, name: str, agent: Agent) -> ModelSource:
        """Where an agent's responses of the provider `name` come from."""
        if agent.cassette is not None:
            return "recorded"
        provider = self.providers[name]
        is_simulated = self.is_simulated(provider) and not provider.is_own(agent.env)
        return "simulated" if is_simulated else "provider"

    def is_missing(self, provider: Provider) -> bool:
        """Whether it is a service other than a model, and its key is not there."""
        return provider.shape == "http" and bool(provider.keys) and self.key_of(provider) is None

    def is_simulated(self, provider: Provider) -> bool:
        """Whether it has no key, and the simulator responds instead."""
        return provider.can_simulate and bool(provider.keys) and self.key_of(provider) is None


def load_config(settings: Settings, environment: Mapping[str, str] = os.environ) -> ModelsConfig:
    """The configuration of a server; raises `InvalidSetting` or `InvalidScript`."""
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
    """The configuration in a file; an error names the line and the field."""
    page = YamlFile(file, _File, _invalid)
    config = page.read()
    return ModelsConfig(
        {**PROVIDERS, **dict(_providers(page, config))},
        environment,
        config.budgets,
        {**PRICES, **config.prices},
        _script(file.parent, config.simulator),
        {**WINDOWS, **config.windows},
    )


def _script(folder: Path, given: _Simulator | None) -> Script | None:
    if given is None:
        return None
    from mobox.models.simulator import load_script  # else not needed before the first call

    return load_script(folder / given.script)


def _invalid(file: Path, line: int, field: str, problem: str) -> MoboxError:
    at = f"{field}: " if field else ""
    return InvalidSetting("models", f"{file}:{line}", f"{at}{problem}")


def _providers(page: YamlFile[_File], config: _File) -> Iterator[tuple[str, Provider]]:
    for name, upstream in config.models.items():
        at = f"models.{name}"
        provider = PROVIDERS.get(name)
        if provider is None or provider.shape == "http" == upstream.format:
            provider = _named(page, at, name, upstream)
        elif upstream.format is not None or upstream.paths is not None:
            raise page.wrong(at, f"{name} has its own format and paths: set url and key only")
        yield name, _with_key(page, at, provider, upstream)


def _named(page: YamlFile[_File], at: str, name: str, upstream: _Upstream) -> Provider:
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


def _with_key(page: YamlFile[_File], at: str, provider: Provider, upstream: _Upstream) -> Provider:
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


def _check_url(page: YamlFile[_File], at: str, url: str) -> None:
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
