"""What an exception says: the code of a failure, its message, and when to try again.

========================= ==================================================================
code                      meaning
========================= ==================================================================
rate_limited              too many requests; `retry_after` if the provider named a time
overloaded                the provider is overloaded or failed
auth                      no key, or one that is not accepted
context_length            the conversation is too long for the model
content_filter            the provider refused the content
budget                    no credit or quota is left
network                   the provider could not be reached, or the connection broke
timeout                   it took too long
memory_limit              the agent may not use more memory
disk_limit                the agent may not use more of the disk
========================= ==================================================================

Rule 1: no SDK is imported: exceptions are known by the names of their classes, by their status and
        by the provider's own words in them.
Rule 2: an exception that failure_codes.py does not describe has no code: `None`.
Rule 3: an SDK may wrap an exception: the first in the chain of causes that is known counts.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from .failure_codes import RETRYABLE, failure_code, retry_delay
from .redaction import without_secrets

__all__ = ["MOST_MESSAGE", "Failure", "StreamCut", "code_of", "failure_of"]

MOST_MESSAGE = 2000
"""Characters of a message that are kept: a proxy's may be a whole page."""

_MOST_CAUSES = 8
_REFUSED = range(400, 500)
_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class StreamCut(ConnectionError):
    """A provider's stream ended before its message did."""


class Failure(NamedTuple):
    """What failed."""

    code: str
    message: str
    """The provider's own, without secrets."""
    retry_after: float | None = None
    """Seconds after which the provider wants to be asked again."""

    @property
    def retryable(self) -> bool:
        return self.code in RETRYABLE


def failure_of(error: BaseException) -> Failure | None:
    """What the exception says about a provider; `None` if it is another failure."""
    for cause in _chain(error):
        code = None
        with suppress(Exception):  # an exception's attributes may raise anything
            code = code_of(cause)
        if code is not None:
            message = without_secrets(_message(cause))[:MOST_MESSAGE]
            return Failure(code, message, _retry_after(cause))
    return None


def _chain(error: BaseException) -> Iterator[BaseException]:
    current: BaseException | None = error
    for _ in range(_MOST_CAUSES):
        if current is None:
            return
        yield current
        current = current.__cause__


def code_of(error: BaseException) -> str | None:
    """The code of one exception, without its causes."""
    if isinstance(error, OSError) and error.errno in _DISK:
        return "disk_limit"
    status = _status(error)
    return failure_code(
        _words(error),
        str(error),
        status,
        classes=(each.__name__ for each in type(error).__mro__),
        is_refusal=status in _REFUSED or _is_named(error, "OpenAIError", "TypeError", "ValueError"),
    )


def _is_named(error: BaseException, *names: str) -> bool:
    return any(each.__name__ in names for each in type(error).__mro__)


def _status(error: BaseException) -> int | None:
    """The HTTP status; only of an SDK's exception, as a tool's own request may fail too."""
    for name in ("status_code", "code"):
        value = getattr(error, name, None)
        if isinstance(value, int) and 400 <= value < 600:
            return value
    return None


def _bodies(error: BaseException) -> Iterator[Mapping[str, Any]]:
    """The provider's answer, and the error in it."""
    for name in ("body", "details"):
        body = getattr(error, name, None)
        if isinstance(body, Mapping):
            inner = body.get("error")
            yield from [inner] if isinstance(inner, Mapping) else []
            yield body


def _words(error: BaseException) -> Iterator[str]:
    """The provider's own names of the failure; `error` is every error's."""
    for body in _bodies(error):
        for name in ("code", "type", "status"):
            if isinstance(body.get(name), str):
                yield body[name]
    for name in ("code", "type", "status"):
        value = getattr(error, name, None)
        if isinstance(value, str):
            yield value


def _message(error: BaseException) -> str:
    messages = [body.get("message") for body in _bodies(error)]
    messages += [getattr(error, "message", None), str(error), type(error).__name__]
    return next(each for each in messages if isinstance(each, str) and each)


def _retry_after(error: BaseException) -> float | None:
    headers: Any = getattr(getattr(error, "response", None), "headers", None)
    for name, factor in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        with suppress(Exception):  # no headers, or a date
            return round(max(0.0, float(headers[name]) * factor), 3)
    for body in _bodies(error):
        if (delay := retry_delay(body.get("details"))) is not None:
            return delay
    return None
