"""Checks every request; counts every response and adds security headers to it.

Rule 1: `Host` must be one of the server's names, against DNS rebinding. An IP address cannot be
        rebound, so with authentication any address is accepted. With keys a rebound page has no
        key, so any name is accepted unless some are listed.
Rule 2: cross-origin pages can neither change anything nor make the API work (whose duration would
        leak what is stored): `Origin` must be the server's own or listed, and a browser that sends
        none must state a same-origin `Sec-Fetch-Site`, or be on a listed page (`<img>`). Pages can
        be linked to. A listed origin may read every response, refusals included: cors.py.
        An address of a file with a signature may be requested by pages of any origin.
Rule 3: a body is JSON (or Socket.IO text; an upload may have any type), not compressed, and within
        the size limit of its route. One that exceeds it while it is read gets 413 here, and the app
        sees a disconnect: never a partial body as if it were complete.
Rule 4: an app may set any of the headers itself; missing ones are added.
Rule 5: a client that is a process of an agent is refused before anything else: agent_clients.py.
"""

from __future__ import annotations

import ipaddress
import logging
import re
from collections.abc import Callable, Collection, Mapping
from typing import Final, TypeAlias
from urllib.parse import parse_qsl

from msgspec import Struct
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mobox.errors import BodyTooLarge
from mobox.server import cors
from mobox.server.agent_clients import AgentClients, Verdict
from mobox.server.errors import error_response, explain
from mobox.server.metrics import Counter
from mobox.settings import HOST, listed_host, listed_origin, parse_origin, written_origin

logger = logging.getLogger(__name__)

WITHIN: Final = "mobox.within"
"""Set in the ASGI scope of requests that came through an app around Mobox."""

_HOST: Final = re.compile(rf"({HOST})(?::[0-9]{{1,5}})?")
_METHODS: Final = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
"""Methods that are counted by name; clients may send any others."""
_CHANGES: Final = {"POST", "PUT", "PATCH", "DELETE"}
_ANY: Final = re.compile(".*", re.DOTALL)
_SCHEMES: Final = {"ws": "http", "wss": "https"}
_SOCKETS: Final = "/socket.io/"
_API: Final = ("/api/", _SOCKETS)
_FILES: Final = "/api/files/"
_SIGNATURE: Final = "signature"
_FORM: Final = 64 * 1024
"""Bytes of an upload besides the file: the boundaries and headers of a form."""
_AT_HOME: Final = {"", "none", "same-origin"}  # "" is a client that does not send the header

_HEADERS: Final = {
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-resource-policy": b"same-origin",
}
_PAGE_HEADERS: Final = {
    b"content-security-policy": b"default-src 'self'; script-src 'self'; style-src 'self'; "
    b"img-src 'self' data:; connect-src 'self'; object-src 'none'; base-uri 'none'; "
    b"frame-ancestors 'none'; form-action 'self'",
}
_API_HEADERS: Final = {b"cache-control": b"no-store"}
_MOST_REPORTED: Final = 100
"""Refused origins that are logged: anybody can invent more."""


class BodyRule(Struct, frozen=True):
    """The limit of a route's bodies, and the setting it comes from."""

    method: str
    path: re.Pattern[str]
    setting: str
    most: int
    is_upload: bool = False
    """Whether the body is a file: of any type, and with a form around it."""

    def applies(self, scope: Scope) -> bool:
        is_method: bool = scope["method"] == self.method
        return is_method and self.path.fullmatch(_path(scope)) is not None

    @property
    def bytes(self) -> int:
        return self.most + _FORM * self.is_upload


class Allowed(Struct, frozen=True, kw_only=True):
    """What a server accepts: names without ports, and origins as browsers write them."""

    hosts: Collection[str] | None
    """`None` accepts any name."""
    origins: Collection[str]
    headers: Collection[str] = ()
    """Further headers that pages of these origins may send; `*` allows any."""
    credentials: bool = False
    """Whether pages of these origins may send cookies."""
    max_body: int
    rules: Collection[BodyRule] = ()
    """Routes with other limits."""
    takes_addresses: bool = False
    """Whether any IP address is accepted as a host."""
    is_hooked: bool = False
    """Whether these settings come from an app around the server."""


class Guard:
    """ASGI middleware; `responses` counts by method and status."""

    def __init__(
        self,
        app: ASGIApp,
        allowed: Allowed,
        responses: Counter | None = None,
        clients: AgentClients | None = None,
    ) -> None:
        hosts = allowed.hosts
        self._app = app
        self._hosts = None if hosts is None else {listed_host(host) for host in hosts}
        self._responses = responses
        self._clients = clients
        self._reported: set[str] = set()
        self.policy = cors.CorsPolicy(
            origins=frozenset(map(listed_origin, allowed.origins)),
            headers=frozenset(name.lower() for name in allowed.headers),
            credentials=allowed.credentials,
        )
        self.allowed = allowed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_http = scope["type"] == "http"
        if not is_http and scope["type"] != "websocket":
            await self._app(scope, receive, send)
            return
        refusal = await self._client_refusal(scope) or self._refusal(
            scope, _CHECKS if is_http else (_host, _origin)
        )
        if not is_http:
            if refusal:
                await send({"type": "websocket.close", "code": 1008, "reason": "not allowed"})
            else:
                await self._app(scope, receive, send)
            return
        exchange = _Exchange(self, scope, receive, send, self._responses)
        if refusal:
            await refusal(scope, exchange.receive, exchange.send)
            return
        try:
            await self._app(scope, exchange.receive, exchange.send)
        except Exception:
            if not exchange.is_refused:
                raise

    def _refusal(self, scope: Scope, checks: tuple[Check, ...]) -> Response | None:
        headers = Headers(scope=scope)
        return next((no for check in checks if (no := check(self, scope, headers))), None)

    async def _client_refusal(self, scope: Scope) -> Response | None:
        if self._clients is None:
            return None
        refusal = _REFUSED_CLIENTS.get(await self._clients.verdict(scope))
        return error_response(*refusal) if refusal is not None else None

    def rule_for(self, scope: Scope) -> BodyRule:
        """The limit of a request's body."""
        usual = BodyRule(scope["method"], _ANY, "max-body", self.allowed.max_body)
        return next((rule for rule in self.allowed.rules if rule.applies(scope)), usual)

    def answers_to(self, host: str) -> bool:
        name = host.strip("[]")
        if self._hosts is None or name in self._hosts:
            return True
        return self.allowed.takes_addresses and _is_address(name)

    def listed_page(self, scope: Scope, headers: Headers) -> str | None:
        """The origin of the page that sends the request, if it is listed."""
        if not self.policy.origins:
            return None
        origins = cors.page_origins(headers, scope.get("method", "GET"))
        return cors.listed(self.policy, origins)

    def report(self, origin: str, how: str) -> None:
        """Log once that pages of this origin are refused: their own console does not say why."""
        parsed = parse_origin(origin)
        if parsed is None or len(self._reported) >= _MOST_REPORTED:
            return
        name = written_origin(parsed)
        if name not in self._reported:
            self._reported.add(name)
            logger.warning("refused a request of a page of %s; to allow its origin: %s", name, how)


_NOT_FOR_AGENTS: Final = (403, "agent_client", "agents cannot use the server's API")
_REFUSED_CLIENTS: Final[Mapping[Verdict, tuple[int, str, str]]] = {
    "agent": _NOT_FOR_AGENTS,
    "gone": _NOT_FOR_AGENTS,
    "unknown": (503, "client_unknown", "could not find out in time whether an agent sent this"),
}

Check: TypeAlias = Callable[[Guard, Scope, Headers], Response | None]


def _host(guard: Guard, scope: Scope, headers: Headers) -> Response | None:
    values = headers.getlist("host")
    match = _HOST.fullmatch(values[0].lower()) if len(values) == 1 else None
    if match is None:
        sentence = "The request does not say which server it is for."
        message = "expected exactly one valid Host header"
        return error_response(400, "invalid_host", message, sentence)
    if guard.answers_to(match[1]):
        return None
    how = _option(guard, scope, "allowed_hosts", match[1])
    message = f"Host {match[1]} is not allowed. To allow it: {how}"
    sentence = f"This server does not answer under the name {match[1]} (to allow it: {how})."
    return error_response(421, "unknown_host", message, sentence)


def _is_address(name: str) -> bool:
    try:
        return bool(ipaddress.ip_address(name))
    except ValueError:
        return False


def _option(guard: Guard, scope: Scope, field: str, value: str) -> str:
    """The option that allows the value, as it is written in this kind of server."""
    if scope.get(WITHIN):
        return f"mobox.mount(…, {field}=('{value}',))"
    if guard.allowed.is_hooked:
        return f"Settings(…, {field}=('{value}',))"
    return f"--{field.replace('_', '-')} {value}"


def _preflight(guard: Guard, scope: Scope, headers: Headers) -> Response | None:
    """The response to a preflight, which no route handles."""
    if not cors.is_preflight(headers, scope["method"]):
        return None
    if guard.listed_page(scope, headers) is None:
        return _cross_origin(guard, scope, headers)
    response = Response()
    response.raw_headers += cors.preflight_headers(guard.policy, headers)
    return response


def _origin(guard: Guard, scope: Scope, headers: Headers) -> Response | None:
    if scope["type"] == "http" and not _matters(scope):
        return None
    return _cross_origin(guard, scope, headers)


def _cross_origin(guard: Guard, scope: Scope, headers: Headers) -> Response | None:
    """The refusal of a request from a page of another origin that is not listed."""
    values = headers.getlist("origin")
    is_home = headers.get("sec-fetch-site", "") in _AT_HOME
    if (_is_own(scope, headers) if values else is_home) or guard.listed_page(scope, headers):
        return None
    how = _option(guard, scope, "allowed_origins", values[0] if len(values) == 1 else "…")
    if len(values) == 1:
        guard.report(values[0], how)
    origin = f"Origin {', '.join(values)}" if values else "A cross-site request"
    return error_response(
        403,
        "cross_origin",
        f"{origin} is not allowed. To allow it: {how}",
        f"Pages of other origins may not use this server (to allow one: {how}).",
    )


def _is_own(scope: Scope, headers: Headers) -> bool:
    scheme = _SCHEMES.get(scope["scheme"], scope["scheme"])
    own = parse_origin(f"{scheme}://{headers['host']}")
    origins = headers.getlist("origin")
    return own is not None and all(parse_origin(origin) == own for origin in origins)


def _matters(scope: Scope) -> bool:
    """Whether the request changes or reads data; `OPTIONS` (CORS preflight) does neither."""
    if scope["method"] in _CHANGES:
        return True
    return scope["method"] != "OPTIONS" and _is_api(scope) and not _is_signed(scope)


def _is_signed(scope: Scope) -> bool:
    """Whether it reads a file with a signature, by which alone it is authenticated then."""
    query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    return _path(scope).startswith(_FILES) and any(name == _SIGNATURE for name, _ in query)


def _is_api(scope: Scope) -> bool:
    return _path(scope).startswith(_API)


def _path(scope: Scope) -> str:
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))


def _encoding(guard: Guard, scope: Scope, headers: Headers) -> Response | None:
    if all(text.strip().lower() == "identity" for text in headers.getlist("content-encoding")):
        return None
    return error_response(415, "unsupported_encoding", "expected a body without content-encoding")


def _type(guard: Guard, scope: Scope, headers: Headers) -> Response | None:
    has_body = "transfer-encoding" in headers or headers.get("content-length", "0") != "0"
    if scope["method"] not in _CHANGES or not has_body or guard.rule_for(scope).is_upload:
        return None
    types = [text.partition(";")[0].strip().lower() for text in headers.getlist("content-type")]
    wanted = "text/plain" if _path(scope).startswith(_SOCKETS) else "application/json"
    if types == [wanted]:
        return None
    return error_response(
        415,
        "unsupported_media_type",
        f"expected content-type {wanted}, got {', '.join(types) or 'none'}",
    )


def _length(guard: Guard, scope: Scope, headers: Headers) -> Response | None:
    length, rule = headers.get("content-length", "0"), guard.rule_for(scope)
    if length.isdecimal() and int(length) <= rule.bytes:
        return None
    return _too_large(rule)


_CHECKS: Final = (_host, _preflight, _origin, _encoding, _type, _length)


class _Exchange:
    """A request whose body is counted, and its response."""

    __slots__ = ("_is_answered", "_is_api", "_left", "_page", "_policy", "_receive", "_responses",
                 "_rule", "_scope", "_send", "is_refused")  # fmt: skip

    def __init__(
        self, guard: Guard, scope: Scope, receive: Receive, send: Send, responses: Counter | None
    ) -> None:
        self._scope = scope
        self._receive = receive
        self._send = send
        self._rule = guard.rule_for(scope)
        self._left = self._rule.bytes
        self._policy = guard.policy
        self._page = guard.listed_page(scope, Headers(scope=scope))
        self._responses = responses
        self._is_api = _is_api(scope)  # now, as a mount in the app changes its scope
        self._is_answered = False
        self.is_refused = False

    async def receive(self) -> Message:
        if not self.is_refused:
            message = await self._receive()
            self._left -= len(message.get("body", b""))
            if self._left >= 0:
                return message
            await self._refuse()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if self.is_refused:
            return
        if message["type"] == "http.response.start":
            self._is_answered = True
            if self._responses is not None:
                method = self._scope["method"] if self._scope["method"] in _METHODS else "other"
                self._responses.add(method=method, status=str(message["status"]))
            message = {**message, "headers": self._completed(list(message.get("headers", ())))}
        await self._send(message)

    async def _refuse(self) -> None:
        if not self._is_answered:
            await _too_large(self._rule)(self._scope, self._receive, self.send)
        self.is_refused = True

    def _completed(self, headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        present = dict(headers)
        wanted = dict(_HEADERS)
        if present.get(b"content-type", b"").startswith(b"text/html"):
            wanted |= _PAGE_HEADERS
        if self._is_api:
            wanted |= _API_HEADERS
        if self._page is not None:
            wanted |= dict(cors.response_headers(self._policy, self._page))
        if self._policy.origins:
            headers = cors.varying(headers)
        return headers + [(name, value) for name, value in wanted.items() if name not in present]


def _too_large(rule: BodyRule) -> Response:
    return explain(BodyTooLarge(rule.most, rule.setting), "body").response()
