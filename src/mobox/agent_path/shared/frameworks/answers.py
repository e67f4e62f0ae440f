"""What the modules for bare clients share: emitting a provider's stream, and the answer that it is.

Rule 1: every event is written as a line before the next is awaited, for the provider's parser.
Rule 2: a stream that ends before its message does is a failure: its calls are never returned.
Rule 3: an exception is written too, with the code of what the provider did, and raised. If the
        request is made again, the parser retracts what the broken answer said.
"""

from __future__ import annotations

import inspect
import sys
from collections import Counter
from contextlib import suppress
from typing import Any, NamedTuple

from .. import emitter
from ..conversation import said
from ..conversation.notes import Notes
from ..failures import StreamCut
from ..objects import Objects
from ..output import plain, write_line
from ..uncaught import report

__all__ = ["Answer", "Call", "Reader", "emit_stream"]

JSON = Any


class Call(NamedTuple):
    """A tool that the model wants to be called."""

    id: str
    name: str
    input: dict[str, Any]


class Answer:
    """A model's answer to one request, and the results of its calls."""

    def __init__(
        self, said: list[dict[str, Any]], calls: list[Call], text: str, stop_reason: str | None
    ) -> None:
        self.calls = calls
        """The calls to make; none if the answer is final, or broke off at a limit."""
        self.text = text
        self.stop_reason = stop_reason
        """As the provider calls it."""
        self._said = said
        self._results: dict[str, dict[str, Any]] = {}

    def result(self, call: Call, output: JSON = None, *, is_error: bool = False) -> None:
        """Emit the result of a call, and keep it for `messages`."""
        value = plain(output)
        self._emit_result(call, value, is_error)
        self._keep(call, value, "error" if is_error else "ok")

    def messages(self) -> list[dict[str, Any]]:
        """The answer and its results, to append to the messages of the next request.

        A call without a result is reported as interrupted, as no provider accepts one without.
        """
        for call in self._owed():
            if call.id not in self._results:
                self._keep(call, None, said.INTERRUPTED)
        return [*self._said, *self._joined([self._results[call.id] for call in self._owed()])]

    def _owed(self) -> list[Call]:
        """The calls that the answer has."""
        return self.calls

    def _emit_result(self, call: Call, output: JSON, is_error: bool) -> None:
        emitter.emit_tool_result(call.id, output, is_error=is_error or None)

    def _keep(self, call: Call, output: JSON, status: str) -> None:
        made = said.Call(call.id, call.name, call.input, output, status, False, {}, {}, [])
        notes: Notes = Counter()
        self._results[call.id] = self._native(made, notes)
        for note in notes:
            sys.stderr.write(f"mobox: not sent to the model: {note}\n")

    def _native(self, call: said.Call, notes: Notes) -> dict[str, Any]:
        """The result in the provider's form."""
        raise NotImplementedError

    def _joined(self, results: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The messages that have these results."""
        return results


class Reader:
    """Reads the events of one answer, as JSON values."""

    def take(self, event: dict[str, Any]) -> dict[str, Any] | None:
        """Read an event; the line to write for it, `None` for none."""
        raise NotImplementedError

    def answer(self) -> Answer | None:
        """The whole answer; `None` if it has not ended."""
        raise NotImplementedError


def emit_stream(stream: Any, reader: Reader) -> Any:
    """Emit a stream and return its `Answer`; for an async stream, a coroutine that does."""
    if hasattr(stream, "__aiter__") or inspect.isawaitable(stream):
        return _emit_async(stream, reader)
    return _emit(stream, reader)


def _emit(stream: Any, reader: Reader) -> Answer:
    objects = Objects()
    try:
        for event in stream:
            _write(objects.describe(event), reader)
        return _whole(reader)
    except Exception as error:
        report(error)
        raise
    finally:
        with suppress(Exception):
            stream.close()


async def _emit_async(stream: Any, reader: Reader) -> Answer:
    objects = Objects()
    try:
        stream = await stream if inspect.isawaitable(stream) else stream
        async for event in stream:
            _write(objects.describe(event), reader)
        return _whole(reader)
    except Exception as error:
        report(error)
        raise
    finally:
        with suppress(Exception):
            await (stream.aclose() if hasattr(stream, "aclose") else stream.close())


def _write(event: JSON, reader: Reader) -> None:
    line = reader.take(event) if isinstance(event, dict) else None
    if line is not None:
        write_line(line)


def _whole(reader: Reader) -> Answer:
    answer = reader.answer()
    if answer is None:
        raise StreamCut("The provider's stream ended before its message did.")
    return answer
