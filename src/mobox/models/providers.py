"""The providers of models: where each is, how it takes a key, and which requests pass to it.

Rule 1: a request passes only if its method and path are listed. What reads stored objects by their
        ids (responses, files, batches) is not: one key serves all owners.
Rule 2: an agent that has a key or an address of its own for a provider uses those, and never the
        gateway.
Rule 3: a service that is not a model (`http`) is given to agents only if the server has its key. So
        an agent can name one that it also works without.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

from msgspec import Struct

Shape = Literal["anthropic", "openai", "gemini", "http"]
"""Whose errors and usage a provider's responses have."""

BEARER: Final = "bearer"
"""For `send_key`: the header is `Authorization: Bearer KEY`."""


class Rule(NamedTuple):
    """Requests that may pass."""

    method: str
    path: re.Pattern[str]


class Provider(Struct, frozen=True, kw_only=True):
    """A provider of models, or another HTTP service that needs a key."""

    name: str
    shape: Shape
    url: str
    """What stands in front of the listed paths."""
    url_variable: str = ""
    """The variable of the server's environment that replaces `url`."""
    mount: str
    """The path in front of the listed ones at the gateway."""
    keys: tuple[str, ...] = ()
    """The variables that may have the key; the first one that is set counts."""
    send_key: str = BEARER
    """The header for the key, or `bearer`."""
    rules: tuple[Rule, ...]
    own: tuple[str, ...] = ()
    """The variables of an agent's `env` with which it needs no gateway."""
    url_variables: Mapping[str, str]
    """What an agent gets: the variables for the address, and what they have behind the mount."""
    token_variables: tuple[str, ...]
    """What an agent gets: the variables for the token, as the SDK's key."""
    can_simulate: bool = False
    prefix: str = ""
    """The path in front of the listed ones in the provider's own API, for the simulator."""

    def allows(self, method: str, path: str) -> bool:
        """Whether this request passes; `path` is what comes after the mount."""
        return any(rule.method == method and rule.path.fullmatch(path) for rule in self.rules)

    def is_own(self, env: Mapping[str, str | None], ours: Mapping[str, str] = os.environ) -> bool:
        """Whether an agent with this `env` has a key or an address of its own."""
        given = {name: ours.get(name) if value is None else value for name, value in env.items()}
        return any(given.get(name) for name in self.own)


def rules(*lines: str) -> tuple[Rule, ...]:
    """Rules written as `POST /v1/messages`; `{}` is one segment, `*` the rest of the path."""
    return tuple(_rule(line) for line in lines)


def _rule(line: str) -> Rule:
    method, _, path = line.partition(" ")
    pattern = re.escape(path).replace(r"\{\}", "[^/]+").replace(r"\*", ".*")
    return Rule(method, re.compile(pattern))


_GEMINI_CALLS: Final = (
    "generateContent", "streamGenerateContent", "countTokens", "embedContent", "batchEmbedContents",
)  # fmt: skip

OPENAI_RULES: Final = (
    "POST /chat/completions",
    "POST /completions",
    "POST /responses",
    "POST /responses/input_tokens",
    "POST /embeddings",
    "POST /moderations",
    "GET /models",
    "GET /models/{}",
    "GET /models/{}/{}",  # OpenRouter's and vLLM's names have a slash
)

PROVIDERS: Final = {
    "anthropic": Provider(
        name="anthropic",
        shape="anthropic",
        url="https://api.anthropic.com",
        url_variable="ANTHROPIC_BASE_URL",
        mount="/anthropic",
        keys=("ANTHROPIC_API_KEY",),
        send_key="x-api-key",
        rules=rules(
            "POST /v1/messages",
            "POST /v1/messages/count_tokens",
            "GET /v1/models",
            "GET /v1/models/{}",
        ),
        own=(
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "ANTHROPIC_BASE_URL",
            "CLAUDE_CODE_OAUTH_TOKEN",
        ),
        url_variables={"ANTHROPIC_BASE_URL": "", "ANTHROPIC_API_BASE": ""},
        token_variables=("ANTHROPIC_API_KEY",),
        can_simulate=True,
    ),
    "openai": Provider(
        name="openai",
        shape="openai",
        url="https://api.openai.com/v1",
        url_variable="OPENAI_BASE_URL",
        mount="/openai/v1",
        keys=("OPENAI_API_KEY",),
        rules=rules(*OPENAI_RULES),
        own=("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE"),
        url_variables={"OPENAI_BASE_URL": "", "OPENAI_API_BASE": ""},
        token_variables=("OPENAI_API_KEY",),
        can_simulate=True,
        prefix="/v1",
    ),
    "gemini": Provider(
        name="gemini",
        shape="gemini",
        url="https://generativelanguage.googleapis.com",
        url_variable="GOOGLE_GEMINI_BASE_URL",
        mount="/gemini",
        keys=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        send_key="x-goog-api-key",
        rules=rules(
            *(
                f"POST /{version}/models/{{}}:{call}"
                for version in ("v1", "v1beta", "v1alpha")
                for call in _GEMINI_CALLS
            ),
            "POST /v1beta/interactions",
            "POST /v1alpha/interactions",
            "GET /v1beta/models",
            "GET /v1beta/models/{}",
        ),
        own=(
            "GEMINI_API_KEY",
            "GOOGLE_API_KEY",
            "GOOGLE_GEMINI_BASE_URL",
            "GOOGLE_GENAI_USE_VERTEXAI",
        ),
        url_variables={"GOOGLE_GEMINI_BASE_URL": "", "GEMINI_API_BASE": "/v1beta"},
        token_variables=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        can_simulate=True,
    ),
    "tavily": Provider(
        name="tavily",
        shape="http",
        url="https://api.tavily.com",
        url_variable="TAVILY_BASE_URL",
        mount="/tavily",
        keys=("TAVILY_API_KEY",),
        rules=rules("POST /search", "POST /extract"),
        own=("TAVILY_API_KEY", "TAVILY_BASE_URL"),
        url_variables={"TAVILY_BASE_URL": ""},
        token_variables=("TAVILY_API_KEY",),
    ),
}
"""Those that need no settings; Tavily is a web search."""


def named(name: str, url: str, shape: Shape, allowed: tuple[str, ...]) -> Provider:
    """An upstream of the settings."""
    variable = re.sub(r"\W", "_", name).upper()
    url_variable, token_variable = f"{variable}_BASE_URL", f"{variable}_API_KEY"
    return Provider(
        name=name,
        shape=shape,
        url=url,
        mount=f"/{name}",
        rules=rules(*allowed),
        own=(token_variable, url_variable),
        url_variables={url_variable: ""},
        token_variables=(token_variable,),
    )
