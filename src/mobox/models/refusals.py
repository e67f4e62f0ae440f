"""The gateway's own errors, as the provider would write them: an SDK raises its usual exceptions.

A refusal that another try would not change has `x-should-retry: false`, which the SDKs of Anthropic
and OpenAI follow; Google's does not try again by itself.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import msgspec
from starlette.types import Send

from mobox.models.providers import Shape


class Kind(NamedTuple):
    """A reason, with the status and the word of each provider."""

    status: int
    anthropic: str
    openai: str
    gemini: str
    retry: bool = False


INVALID: Final = Kind(400, "invalid_request_error", "invalid_request_error", "INVALID_ARGUMENT")
NO_TOKEN: Final = Kind(401, "authentication_error", "invalid_api_key", "UNAUTHENTICATED")
FORBIDDEN: Final = Kind(403, "permission_error", "permission_denied", "PERMISSION_DENIED")
NOT_SERVED: Final = Kind(404, "not_found_error", "not_found", "NOT_FOUND")
TOO_LARGE: Final = Kind(413, "request_too_large", "request_too_large", "INVALID_ARGUMENT")
UNAVAILABLE: Final = Kind(503, "api_error", "server_error", "UNAVAILABLE")
UNREACHABLE: Final = Kind(502, "network_error", "network_error", "NETWORK_ERROR", retry=True)
"""No provider's name: none of them has responded. The run's error gets the code `network` by it."""

BUDGET: Final = Kind(402, "billing_error", "insufficient_quota", "FAILED_PRECONDITION")
_BUDGET_STATUS: Final = {"openai": 429, "gemini": 400}
"""The statuses of the providers' own errors about credit, where it is not 402."""


class Refused(Exception):
    """The request is not passed on."""

    def __init__(self, kind: Kind, message: str) -> None:
        super().__init__(message)
        self.kind, self.message = kind, message


class CutOff(Exception):
    """The provider broke off in the middle of a response."""


class Refusal(NamedTuple):
    """A response of the gateway itself."""

    status: int
    body: bytes
    retry: bool

    async def send(self, send: Send) -> None:
        """Send it as the whole response."""
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(self.body)).encode()),
            (b"x-should-retry", b"true" if self.retry else b"false"),
        ]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self.body})


def refusal(shape: Shape, kind: Kind, message: str) -> Refusal:
    """The response for a reason, in the provider's shape."""
    status = _BUDGET_STATUS.get(shape, kind.status) if kind is BUDGET else kind.status
    text = f"Mobox: {message}"
    return Refusal(status, msgspec.json.encode(_body(shape, kind, status, text)), kind.retry)


def _body(shape: Shape, kind: Kind, status: int, message: str) -> dict[str, Any]:
    if shape == "anthropic":
        return {"type": "error", "error": {"type": kind.anthropic, "message": message}}
    if shape == "gemini":
        return {"error": {"code": status, "message": message, "status": kind.gemini}}
    word = kind.openai
    return {"error": {"message": message, "type": word, "param": None, "code": word}}
