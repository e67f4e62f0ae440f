"""What the proxy answers itself: a status, and a sentence for the developer of the agent."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from mobox.events.printable import on_one_line

BAD_REQUEST: Final = HTTPStatus.BAD_REQUEST
NO_TOKEN: Final = HTTPStatus.PROXY_AUTHENTICATION_REQUIRED
FORBIDDEN: Final = HTTPStatus.FORBIDDEN
TOO_SLOW: Final = HTTPStatus.REQUEST_TIMEOUT
TOO_LARGE: Final = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
TOO_MANY: Final = HTTPStatus.SERVICE_UNAVAILABLE
UNREACHABLE: Final = HTTPStatus.BAD_GATEWAY
NO_ANSWER: Final = HTTPStatus.GATEWAY_TIMEOUT


class Refused(Exception):
    """The request is not passed on."""

    def __init__(self, status: HTTPStatus, message: str, log: str | None = None) -> None:
        super().__init__(message)
        self.status, self.message = status, message
        self.log = log or message
        """The same for the operator, with what an agent must not learn."""

    def response(self) -> bytes:
        """The whole response.

        Its reason phrase has the sentence too: of the answer to a CONNECT, most clients show
        nothing else ("Tunnel connection failed: 403 …").
        """
        reason = on_one_line(self.message).encode("ascii", "replace")
        body = f"{self.message}\n".encode()
        head = [
            b"HTTP/1.1 %d %s" % (self.status, reason),
            b"Content-Type: text/plain; charset=utf-8",
            b"Content-Length: %d" % len(body),
            b"Connection: close",
        ]
        if self.status == NO_TOKEN:
            head.append(b'Proxy-Authenticate: Basic realm="mobox"')
        return b"\r\n".join([*head, b"", body])
