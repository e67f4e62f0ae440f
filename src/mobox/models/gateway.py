"""The gateway: an ASGI app that agents use as their provider, with a token instead of a key.

Rule 1: a request is checked before anything of it is passed on: its target, its token, whether the
        agent may use this provider, whether the provider's list has the path, and the budgets.
Rule 2: the response comes from the provider if the server has its key, from the simulator if not,
        from the cassette if the agent names one; the same checks hold for all three.
Rule 3: keys and tokens are in no log line, no error and no response.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable
from typing import Any, Final

from msgspec import Struct
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mobox.capture.model_access import Caller, ModelSource
from mobox.models.budgets import Accounts
from mobox.models.cassettes import CassetteFolder, Player
from mobox.models.config import ModelsConfig
from mobox.models.ledger import Ledger
from mobox.models.providers import Provider, Shape
from mobox.models.refusals import NOT_SERVED, UNAVAILABLE, CutOff, Refused, refusal
from mobox.models.requests import (
    Target,
    allowed_pass,
    plain_path,
    provider_of,
    query_without_key,
    request_headers,
)
from mobox.models.tokens import Pass, Tokens
from mobox.models.usage import Usage, UsageReader

log = logging.getLogger("mobox.models")

HELLO: Final = re.compile(rb"(/anthropic)?/api/hello")
"""Where the Claude CLI checks, without a token, that its provider can be reached."""
_FREE: Final = re.compile(r".*(count_tokens|countTokens|input_tokens|moderations)")
"""Requests that use no tokens."""


class CallReport(Struct, frozen=True, kw_only=True):
    """A call that has ended, for metrics."""

    provider: str
    agent: str
    source: ModelSource
    outcome: str
    """The status, `cut` if the provider broke off, `left` if the agent did."""
    seconds: float
    usage: Usage


class Gateway:
    """Passes the calls of this process's agents on. `close` ends its connections."""

    def __init__(
        self,
        config: ModelsConfig,
        ledger: Ledger,
        *,
        on_call: Callable[[CallReport], None] | None = None,
        recording: CassetteFolder | None = None,
    ) -> None:
        self.config = config
        self.tokens = Tokens()
        self._accounts = Accounts(config, ledger)
        self._on_call = on_call
        self._recording = recording
        self._upstreams: Any = None
        self._simulator: ASGIApp | None = None

    def source(self, provider: Provider, given: Pass) -> ModelSource:
        """Where the responses of a provider come from."""
        return self.config.source(provider.name, given.agent)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert scope["type"] == "http"
        shape: Shape = "openai"
        try:
            path = plain_path(scope)
            if HELLO.fullmatch(path):
                await _say_hello(scope, send)
                return
            provider, rest = provider_of(path, self.config.providers)
            shape = provider.shape
            given = allowed_pass(scope, self.tokens, provider)
            target = Target(provider, rest, query_without_key(scope["query_string"]))
        except Refused as refused:
            log.warning("model call refused with %d: %s", refused.kind.status, refused.message)
            await refusal(shape, refused.kind, refused.message).send(send)
            return
        assert given.caller is not None
        call = _Call(target, given, given.caller, self.source(provider, given), send)
        await self._carry_out(call, scope, receive)

    async def _carry_out(self, call: _Call, scope: Scope, receive: Receive) -> None:
        """Respond to a call, and count it."""
        try:
            _check_path(call.target, scope["method"])
            self._accounts.begin(call.given, call.caller)
            await self._respond(call, scope, receive)
        except Refused as refused:
            call.failure = refused.message
            if not call.status:
                await refusal(call.target.provider.shape, refused.kind, refused.message).send(
                    call.send
                )
        except CutOff as cut:
            call.failure = f"the provider broke off ({cut})"
            call.is_cut = True
            raise
        finally:
            self._finish(call, scope)

    async def _respond(self, call: _Call, scope: Scope, receive: Receive) -> None:
        if self._recording is None or call.source == "recorded":
            await self._ask(call, scope, receive, call.send)
            return
        recorded = self._recording.begin(call.caller, call.target, scope)
        try:
            await self._ask(call, scope, recorded.receiving(receive), recorded.sending(call.send))
        except CutOff:
            recorded.cut()
            raise

    async def _ask(self, call: _Call, scope: Scope, receive: Receive, send: Send) -> None:
        if call.source == "provider":
            await self._ask_provider(call.target, scope, receive, send)
        elif call.source == "recorded":
            await _player(call.given).respond(call.target, scope["method"], receive, send)
        else:
            await self._ask_simulator(call, scope, receive, send)

    async def _ask_provider(
        self, target: Target, scope: Scope, receive: Receive, send: Send
    ) -> None:
        key = self.config.key_of(target.provider)
        if key is None and target.provider.keys:
            names = " or ".join(target.provider.keys)
            raise Refused(UNAVAILABLE, f"the server has no key for this model: set {names}")
        if self._upstreams is None:
            from mobox.models.upstream import Upstreams  # it imports an HTTP client

            self._upstreams = Upstreams()
        address = self.config.url_of(target.provider)
        target = target._replace(address=address, key=key)
        await self._upstreams.pass_on(target, scope, receive, send)

    async def _ask_simulator(self, call: _Call, scope: Scope, receive: Receive, send: Send) -> None:
        target, has_left = call.target, False

        async def received() -> Message:
            nonlocal has_left
            message = await receive()
            has_left = message["type"] == "http.disconnect"
            return message

        path = target.provider.prefix + target.path
        inner = {
            **scope,
            "path": path,
            "raw_path": path.encode(),
            "root_path": "",
            "query_string": target.query,
            "headers": [*request_headers(scope["headers"]), (b"host", b"127.0.0.1")],
            "mobox.provider": target.provider.name,
        }
        await self._simulated()(inner, received, send)
        if not call.is_complete and not has_left:
            raise CutOff("by its script")

    def _simulated(self) -> ASGIApp:
        if self._simulator is None:
            from mobox.models.simulator import simulator

            self._simulator = simulator(self.config.script)
        return self._simulator

    def _finish(self, call: _Call, scope: Scope) -> None:
        usage = call.used(scope)
        self._accounts.end(call.given, call.caller, call.model, usage)
        report = call.report(usage)
        if self._on_call is not None:
            self._on_call(report)
        if call.failure or call.status >= 400:
            log.warning(
                "run %s (agent %s): model call to %s failed with %s%s",
                call.caller.run_id,
                call.caller.agent,
                report.provider,
                report.outcome,
                f": {call.failure}" if call.failure else "",
            )

    async def close(self) -> None:
        """End the connections to providers, and close the file of usage."""
        if self._upstreams is not None:
            await self._upstreams.close()
        self._accounts.close()


class _Call:
    """One call; sees its response pass by."""

    def __init__(
        self, target: Target, given: Pass, caller: Caller, source: ModelSource, send: Send
    ) -> None:
        self.target, self.given, self.caller, self.source = target, given, caller, source
        self.status = 0
        self.failure = ""
        self.is_cut = False
        self.is_complete = False
        self._send = send
        self._reader: UsageReader | None = None
        self._began = time.monotonic()

    async def send(self, message: Message) -> None:
        """Pass a part of the response on; only then read it."""
        await self._send(message)
        if self._reader is None:
            self._start(message)
        else:
            self._reader.feed(message.get("body", b""))
            self.is_complete = not message.get("more_body", False)

    def _start(self, message: Message) -> None:
        self.status = message["status"]
        headers = dict(message["headers"])
        kind, encoding = (
            headers.get(name, b"").decode("latin-1").lower()
            for name in (b"content-type", b"content-encoding")
        )
        is_gemini = self.target.provider.shape == "gemini"
        self._reader = UsageReader(kind, encoding, has_version=is_gemini)

    @property
    def model(self) -> str:
        """The model that has responded."""
        return self._reader.model if self._reader is not None else ""

    def used(self, scope: Scope) -> Usage:
        """What it has used; nothing, if it failed or asked for something free."""
        provider, path = self.target.provider, self.target.path
        is_free = scope["method"] != "POST" or provider.shape == "http" or _FREE.fullmatch(path)
        if is_free or self._reader is None or self.status >= 400:
            return Usage()
        self._reader.finish()
        length = dict(scope["headers"]).get(b"content-length", b"0")
        return self._reader.result(int(length) if length.isdigit() else 0)

    def report(self, usage: Usage) -> CallReport:
        """What is known of it at its end."""
        outcome = "cut" if self.is_cut else str(self.status) if self.is_complete else "left"
        return CallReport(
            provider=self.target.provider.name,
            agent=self.caller.agent,
            source=self.source,
            outcome=outcome,
            seconds=time.monotonic() - self._began,
            usage=usage,
        )


def _player(given: Pass) -> Player:
    """The player of an execution, which begins with the cassette's first call."""
    assert given.agent.cassette is not None
    player: Player = given.player or Player(given.agent.cassette)
    given.player = player
    return player


def _check_path(target: Target, method: str) -> None:
    if not target.provider.allows(method, target.path):
        raise Refused(NOT_SERVED, "the gateway does not pass this method and path on")


async def _say_hello(scope: Scope, send: Send) -> None:
    status = 200 if scope["method"] in ("GET", "HEAD") else 405
    headers = [(b"content-length", b"0")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b""})
