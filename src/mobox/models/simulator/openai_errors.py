"""The errors of OpenAI's APIs."""

from __future__ import annotations

from typing import Final

from mobox.models.simulator.answer import Document, Reply, retry_after
from mobox.models.simulator.script import Fail

OVERLOADED: Final = 503
"""OpenAI's status where Anthropic's is 529."""
KINDS: Final = {
    400: ("invalid_request_error", None),
    401: ("invalid_request_error", "invalid_api_key"),
    403: ("invalid_request_error", "unsupported_country_region_territory"),
    404: ("invalid_request_error", "model_not_found"),
    429: ("requests", "rate_limit_exceeded"),
}
WORDS: Final = {
    401: "Incorrect API key provided.",
    429: "Rate limit reached for requests.",
    OVERLOADED: "The engine is currently overloaded, please try again later",
}


def status_of(fail: Fail) -> int:
    """The status that OpenAI has for an error."""
    return OVERLOADED if fail.status == 529 else fail.status


def error_of(fail: Fail) -> Document:
    """The error as every API of OpenAI has it."""
    status = status_of(fail)
    kind, code = KINDS.get(status, ("server_error", None))
    message = fail.message or WORDS.get(status, "The server had an error.")
    return {"message": message, "type": kind, "param": None, "code": fail.kind or code}


class Errors:
    """Error responses, and the id of the request that the SDK's errors show."""

    def headers(self, given_id: str) -> dict[str, str]:
        """The headers of every response."""
        return {"x-request-id": f"req_{given_id}", "openai-version": "2020-10-01"}

    def failure(self, fail: Fail, _given_id: str) -> Reply:
        """An error response."""
        return Reply(status_of(fail), retry_after(fail), {"error": error_of(fail)})
