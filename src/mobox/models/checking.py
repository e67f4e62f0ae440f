"""Checks whether a provider can be reached and accepts the server's key, by its list of models."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any, Final, Literal, NamedTuple

import msgspec

from mobox.models.config import ModelsConfig
from mobox.models.providers import Provider
from mobox.models.refusals import CutOff, Refused
from mobox.models.requests import Target
from mobox.models.upstream import Upstreams

LISTS: Final = ("/v1/models", "/models", "/v1beta/models")
"""Where providers list their models; the rules of each allow one of these."""
_HEADERS: Final = {"anthropic": [(b"anthropic-version", b"2023-06-01")]}
_NOT_ACCEPTED: Final = (401, 403)
_INVALID_KEY: Final = b"API_KEY_INVALID"
"""In Google's response to a wrong key, whose status is 400."""
_LONGEST: Final = 4 << 20
_SECONDS: Final = 15


class Reply(NamedTuple):
    """How a provider responded to a request for its models."""

    outcome: Literal["ok", "not_accepted", "unexpected", "unreachable"]
    status: int = 0
    models: int | None = None
    """How many it lists."""
    problem: str = ""


async def check_provider(config: ModelsConfig, provider: Provider) -> Reply:
    """Request the list of models, in the way in which agents' requests are passed on."""
    path = next((each for each in LISTS if provider.allows("GET", each)), "")
    key, address = config.key_of(provider), config.url_of(provider)
    # Without a list, all that can be found out is whether anything responds: no key is needed.
    target = Target(provider, path, b"", address, key if path else None)
    upstreams, response = Upstreams(), _Response()
    scope = {"type": "http", "method": "GET", "headers": _HEADERS.get(provider.shape, [])}
    try:
        async with asyncio.timeout(_SECONDS):
            await upstreams.pass_on(target, scope, response.receive, response.send)
    except TimeoutError:
        return Reply("unreachable", problem=f"no response within {_SECONDS} s")
    except Refused as refused:
        return Reply("unreachable", problem=refused.message)
    except CutOff as cut:
        return Reply("unreachable", problem=f"the connection broke off ({cut})")
    finally:
        await upstreams.close()
    return response.reply(has_list=bool(path))


class _Response:
    """The client's side of a request without a body."""

    def __init__(self) -> None:
        self._status = 0
        self._body = b""

    async def receive(self) -> Any:
        """Wait for ever: the client stays."""
        await asyncio.Event().wait()

    async def send(self, message: Any) -> None:
        self._status = message.get("status", self._status)
        if len(self._body) < _LONGEST:
            self._body += message.get("body", b"")

    def reply(self, *, has_list: bool) -> Reply:
        if not has_list:
            outcome: Literal["ok", "unexpected"] = "ok" if self._status < 500 else "unexpected"
            return Reply(outcome, self._status)
        if self._status in _NOT_ACCEPTED or _INVALID_KEY in self._body:
            return Reply("not_accepted", self._status)
        if self._status != 200:
            return Reply("unexpected", self._status)
        return Reply("ok", self._status, self._count())

    def _count(self) -> int | None:
        with suppress(msgspec.DecodeError):
            document = msgspec.json.decode(self._body)
            for name in ("data", "models"):
                if isinstance(document, dict) and isinstance(document.get(name), list):
                    return len(document[name])
        return None
