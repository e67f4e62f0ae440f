"""An error as a response: JSON for programs, one sentence for the clients that show the body.

`useChat` shows the body of a failed request as `error.message`, whatever it is. So its two routes
answer with a sentence, and with the code in a header.

Rule 1: a client that accepts JSON and does not prefer plain text gets JSON on those routes too.
Rule 2: every error has its code in `x-mobox-error`, and its run, if any, in `x-mobox-run`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

_SHOWN: Final = re.compile(r"/api/chat(/.+/stream)?")
"""The paths whose client shows the body of an error to a person."""
_JSON: Final = "application/json"
_TEXT: Final = "text/plain"


class ErrorResponse(Response):
    """An error; its form depends on the request that it answers."""

    def __init__(
        self, status: int, error: Mapping[str, Any], sentence: str, headers: Mapping[str, str]
    ) -> None:
        body = msgspec.json.encode({"error": error})
        super().__init__(body, status, dict(headers), media_type=_JSON)
        self._sentence = sentence
        self.headers["x-mobox-error"] = error["code"]
        if "runId" in error:
            self.headers["x-mobox-run"] = error["runId"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if is_shown(scope) and not prefers_json(Headers(scope=scope).get("accept", "")):
            self.body = self._sentence.encode(errors="replace")
            self.headers["content-type"] = f"{_TEXT}; charset=utf-8"
            self.headers["content-length"] = str(len(self.body))
        await super().__call__(scope, receive, send)


def is_shown(scope: Scope) -> bool:
    """Whether the client of this route shows the body of an error."""
    path: str = scope["path"]
    return _SHOWN.fullmatch(path.removeprefix(scope.get("root_path", ""))) is not None


def prefers_json(accept: str) -> bool:
    """Whether an `Accept` header names JSON, and plain text neither before it nor above it."""
    weights = dict(reversed([_weight(part) for part in accept.lower().split(",")]))
    names = [*reversed(weights)]  # in the order of the header
    json, text = weights.get(_JSON, 0.0), weights.get(_TEXT, 0.0)
    if not json or json < text:
        return False
    return json > text or names.index(_JSON) < names.index(_TEXT)


def _weight(part: str) -> tuple[str, float]:
    name, *parameters = (piece.strip() for piece in part.split(";"))
    texts = [text[2:] for text in parameters if text.startswith("q=")]
    try:
        return name, float(texts[0]) if texts else 1.0
    except ValueError:
        return name, 0.0


def as_sentence(message: str) -> str:
    """A message as a sentence: with a capital, and a full stop."""
    text = message.strip()
    end = "" if text.endswith((".", "!", "?", "…")) else "."
    return text[:1].upper() + text[1:] + end
